/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "doctor_file.h"

bool is_fake(const struct machine *m)
{
	return *m->root;
}

int machine_error(struct machine *m, int error, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	vsnprintf(m->why, sizeof m->why, why, args);
	va_end(args);
	return error;
}

int file_path(const struct machine *m, char whole[FILE_PATH], const char *path)
{
	int n = snprintf(whole, FILE_PATH, "%s%s", m->root, path);

	return n < FILE_PATH ? 0 : -ENAMETOOLONG;
}

bool file_there(const struct machine *m, const char *path)
{
	char whole[FILE_PATH];

	return !file_path(m, whole, path) && !access(whole, F_OK);
}

int file_read(const struct machine *m, const char *path, char *text, size_t size)
{
	char whole[FILE_PATH];
	int error = file_path(m, whole, path);
	int fd = error ? -1 : open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t held = 0;
	ssize_t n = 0;

	if (fd < 0)
		return error ? error : -errno;
	while (held < size && (n = read(fd, text + held, size - held)) > 0)
		held += (size_t)n;
	error = n < 0 ? -errno : held == size ? -EFBIG : 0;
	text[held < size ? held : size - 1] = '\0';
	close(fd);
	return error;
}

static int write_text(const char *path, int flags, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644), error = 0;

	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, strlen(text));
	if (n < 0)
		error = -errno;
	else if ((size_t)n < strlen(text))
		error = -EIO;
	close(fd);
	return error;
}

int file_write(const struct machine *m, const char *path, const char *text)
{
	char whole[FILE_PATH], new[FILE_PATH + 24];
	int error = file_path(m, whole, path);

	if (error || !is_fake(m))
		return error ? error : write_text(whole, 0, text);
	snprintf(new, sizeof new, "%s/.saker-doctor.new", m->root);
	error = write_text(new, O_CREAT | O_TRUNC, text);
	return !error && rename(new, whole) ? -errno : error;
}
