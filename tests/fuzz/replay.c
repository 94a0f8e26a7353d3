/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * replay.c - run a fuzz target once over files, without libFuzzer
 *
 * Usage: fuzz_X FILE|DIRECTORY ...   Exit 1 when there was no input at all.
 * Each input lies in memory of its exact size, so that ASan sees one byte more.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned replayed;

static void replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(f);
	uint8_t *data = malloc(size ? (size_t)size : 1);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	replayed++;
}

static void replay_path(const char *path)
{
	DIR *dir = opendir(path);

	if (!dir) {
		replay_file(path);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		char inner[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
		replay_path(inner);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		replay_path(argv[i]);
	printf("replayed %u inputs\n", replayed);
	return replayed ? 0 : 1;
}
