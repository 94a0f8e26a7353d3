/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "doctor_ethset.h"

/* --- names ---------------------------------------------------------------------------- */

#define COALESCE(flag, word, field, label) \
	{ \
		"-C", word, flag, ETHTOOL_GCOALESCE, ETHTOOL_SCOALESCE, \
			offsetof(struct ethtool_coalesce, field), "c", label \
	}
#define RING(word, field, label) \
	{ \
		"-G", word, false, ETHTOOL_GRINGPARAM, ETHTOOL_SRINGPARAM, \
			offsetof(struct ethtool_ringparam, field), "g", label \
	}
#define CHANNEL(word, field, label) \
	{ \
		"-L", word, false, ETHTOOL_GCHANNELS, ETHTOOL_SCHANNELS, \
			offsetof(struct ethtool_channels, field), "l", label \
	}

static const struct eth_word words[] = {
	COALESCE(true, "adaptive-rx", use_adaptive_rx_coalesce, "Adaptive RX"),
	COALESCE(true, "adaptive-tx", use_adaptive_tx_coalesce, "Adaptive TX"),
	COALESCE(false, "rx-usecs", rx_coalesce_usecs, "rx-usecs"),
	COALESCE(false, "rx-frames", rx_max_coalesced_frames, "rx-frames"),
	COALESCE(false, "rx-usecs-irq", rx_coalesce_usecs_irq, "rx-usecs-irq"),
	COALESCE(false, "rx-frames-irq", rx_max_coalesced_frames_irq, "rx-frames-irq"),
	COALESCE(false, "tx-usecs", tx_coalesce_usecs, "tx-usecs"),
	COALESCE(false, "tx-frames", tx_max_coalesced_frames, "tx-frames"),
	COALESCE(false, "tx-usecs-irq", tx_coalesce_usecs_irq, "tx-usecs-irq"),
	COALESCE(false, "tx-frames-irq", tx_max_coalesced_frames_irq, "tx-frames-irq"),
	RING("rx", rx_pending, "RX"),
	RING("rx-mini", rx_mini_pending, "RX Mini"),
	RING("rx-jumbo", rx_jumbo_pending, "RX Jumbo"),
	RING("tx", tx_pending, "TX"),
	CHANNEL("rx", rx_count, "RX"),
	CHANNEL("tx", tx_count, "TX"),
	CHANNEL("other", other_count, "Other"),
	CHANNEL("combined", combined_count, "Combined"),
	{ "--set-eee", "eee", true, ETHTOOL_GEEE, ETHTOOL_SEEE,
	  offsetof(struct ethtool_eee, eee_enabled), "eee", "EEE status" },
};

static const struct eth_short shorts[] = {
	{ "rx", "rx-checksum", false, "rx-checksumming" },
	{ "tx", "tx-checksum-", true, "tx-checksumming" },
	{ "sg", "tx-scatter-gather", true, "scatter-gather" },
	{ "tso", "tx-tcp", true, "tcp-segmentation-offload" },
	{ "gso", "tx-generic-segmentation", false, "generic-segmentation-offload" },
	{ "gro", "rx-gro", false, "generic-receive-offload" },
	{ "lro", "rx-lro", false, "large-receive-offload" },
	{ "rxvlan", "rx-vlan-hw-parse", false, "rx-vlan-offload" },
	{ "txvlan", "tx-vlan-hw-insert", false, "tx-vlan-offload" },
	{ "ntuple", "rx-ntuple-filter", false, "ntuple-filters" },
	{ "rxhash", "rx-hashing", false, "receive-hashing" },
};

bool eth_name(struct eth_name *n, const char *name)
{
	int used = 0;

	return sscanf(name, "ethtool %15s %15s %47s%n", n->verb, n->iface, n->word, &used) == 3 &&
	       !name[used] && !strchr(n->iface, '/');
}

const struct eth_word *eth_word(const struct eth_name *n)
{
	for (size_t i = 0; i < array_size(words); i++)
		if (!strcmp(words[i].verb, n->verb) && !strcmp(words[i].word, n->word))
			return &words[i];
	return NULL;
}

const struct eth_short *eth_short(const char *word)
{
	for (size_t i = 0; i < array_size(shorts); i++)
		if (!strcmp(shorts[i].word, word))
			return &shorts[i];
	return NULL;
}

static int number_of(const struct eth_word *w, const char *value, uint32_t *number)
{
	char *end;

	if (w->flag) {
		*number = !strcmp(value, "on");
		return *number || !strcmp(value, "off") ? 0 : -EINVAL;
	}
	errno = 0;
	unsigned long v = strtoul(value, &end, 10);
	*number = (uint32_t)v;
	return *value < '0' || *value > '9' || *end || errno || v > UINT32_MAX ? -EINVAL : 0;
}

/* --- the kernel ----------------------------------------------------------------------- */

static int ask(const char *iface, void *request)
{
	struct ifreq r = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	memcpy(r.ifr_name, iface, sizeof r.ifr_name);
	r.ifr_data = request;
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &r))
		error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

union request {
	uint32_t cmd;
	struct ethtool_coalesce coalesce;
	struct ethtool_ringparam rings;
	struct ethtool_channels channels;
	struct ethtool_eee eee;
};

static int read_word(const struct eth_name *n, const struct eth_word *w, char value[VALUE_SIZE])
{
	union request r = { .cmd = w->get };
	int error = ask(n->iface, &r);
	uint32_t number;

	memcpy(&number, (char *)&r + w->at, sizeof number);
	if (!error && w->flag)
		strcpy(value, number ? "on" : "off");
	else if (!error)
		snprintf(value, VALUE_SIZE, "%u", number);
	return error;
}

/* All else that the driver told stays as it is. */
static int write_word(const struct eth_name *n, const struct eth_word *w, const char *value)
{
	union request r = { .cmd = w->get };
	uint32_t number;
	int error = number_of(w, value, &number);

	if (!error)
		error = ask(n->iface, &r);
	if (error)
		return error;
	r.cmd = w->set;
	memcpy((char *)&r + w->at, &number, sizeof number);
	return ask(n->iface, &r);
}

/* --- features ------------------------------------------------------------------------- */

enum { FEATURES = 256, BLOCKS = FEATURES / 32 }; /* Linux 6.12 has 64 */

struct features {
	unsigned count;
	char name[FEATURES][ETH_GSTRING_LEN];
	uint32_t available[BLOCKS], active[BLOCKS], fixed[BLOCKS];
};

static bool bit(const uint32_t *set, unsigned i)
{
	return set[i / 32] >> i % 32 & 1;
}

/* The kernel's structs end in arrays: each with room behind it. */
#define WITH_ROOM(type, bytes) \
	union { \
		struct type head; \
		uint8_t room[sizeof(struct type) + (bytes)]; \
	}

static int read_names(struct features *f, const char *iface)
{
	WITH_ROOM(ethtool_sset_info, sizeof(uint32_t)) set = { .room = { 0 } };
	static WITH_ROOM(ethtool_gstrings, FEATURES * ETH_GSTRING_LEN) strings;
	int error;

	set.head.cmd = ETHTOOL_GSSET_INFO;
	set.head.sset_mask = 1ull << ETH_SS_FEATURES;
	error = ask(iface, &set);
	if (error)
		return error;
	f->count = set.head.sset_mask ? set.head.data[0] : 0;
	if (f->count > FEATURES)
		return -EOVERFLOW;
	strings.head.cmd = ETHTOOL_GSTRINGS;
	strings.head.string_set = ETH_SS_FEATURES;
	strings.head.len = f->count;
	error = ask(iface, &strings);
	for (unsigned i = 0; i < f->count && !error; i++)
		snprintf(f->name[i], ETH_GSTRING_LEN, "%.*s", ETH_GSTRING_LEN - 1,
			 (const char *)strings.head.data + i * ETH_GSTRING_LEN);
	return error;
}

static int read_features(struct features *f, const char *iface)
{
	WITH_ROOM(ethtool_gfeatures, BLOCKS * sizeof(struct ethtool_get_features_block))
	g = { .room = { 0 } };
	int error;

	g.head.cmd = ETHTOOL_GFEATURES;
	g.head.size = BLOCKS;
	*f = (struct features){ 0 };
	error = read_names(f, iface);
	if (!error)
		error = ask(iface, &g);
	for (unsigned i = 0; i < BLOCKS && !error; i++) {
		const struct ethtool_get_features_block *block = &g.head.features[i];

		f->available[i] = block->available;
		f->active[i] = block->active;
		f->fixed[i] = block->never_changed | ~block->available;
	}
	return error;
}

/* By the kernel's name, or the short one; -1: there is none. */
static int feature_of(const struct features *f, const char *word)
{
	const struct eth_short *s = eth_short(word);

	if (s && !s->several)
		word = s->kernel;
	for (unsigned i = 0; i < f->count; i++)
		if (!strcmp(f->name[i], word))
			return (int)i;
	return -1;
}

static int no_feature(struct machine *m, const char *word)
{
	return machine_error(m, -EOPNOTSUPP, "this kernel has no feature %s", word);
}

static int read_feature(struct machine *m, const struct eth_name *n, char value[VALUE_SIZE])
{
	static struct features f;
	int error = read_features(&f, n->iface), i = error ? -1 : feature_of(&f, n->word);

	if (!error && i < 0)
		return no_feature(m, n->word);
	if (!error)
		strcpy(value, bit(f.active, (unsigned)i) ? "on" : "off");
	return error;
}

static int write_feature(struct machine *m, const struct eth_name *n, const char *value)
{
	static struct features f;
	WITH_ROOM(ethtool_sfeatures, BLOCKS * sizeof(struct ethtool_set_features_block))
	s = { .room = { 0 } };
	int error = read_features(&f, n->iface), i = error ? -1 : feature_of(&f, n->word);

	if (!error && i < 0)
		return no_feature(m, n->word);
	if (!error && bit(f.fixed, (unsigned)i))
		return machine_error(m, -EOPNOTSUPP, "the driver has it fixed");
	if (error)
		return error;
	s.head.cmd = ETHTOOL_SFEATURES;
	s.head.size = (f.count + 31) / 32; /* the kernel wants its own number */
	s.head.features[i / 32].valid = 1u << i % 32;
	if (!strcmp(value, "on"))
		s.head.features[i / 32].requested = 1u << i % 32;
	return ask(n->iface, &s);
}

/* Those of a group that have to change; the first of the others when none has. */
static unsigned expand_group(const struct features *f, const struct eth_short *group,
			     const struct eth_name *n, const char *value, struct wish to[WISHES])
{
	bool on = !strcmp(value, "on");
	unsigned count = 0;

	for (int pass = 0; pass < 2 && !count; pass++)
		for (unsigned i = 0; i < f->count && count < (pass ? 1 : WISHES); i++) {
			bool change = bit(f->active, i) != on && !bit(f->fixed, i);

			if (strncmp(f->name[i], group->kernel, strlen(group->kernel)) ||
			    (!pass && !change))
				continue;
			snprintf(to[count].name, sizeof to[0].name, "ethtool -K %s %s", n->iface,
				 f->name[i]);
			snprintf(to[count++].value, sizeof to[0].value, "%s", value);
		}
	return count;
}

unsigned ethset_expand(struct machine *m, const struct wish *wish, struct wish to[WISHES])
{
	static struct features f;
	const struct eth_short *group;
	struct eth_name n;
	unsigned count = 0;

	if (!is_fake(m) && eth_name(&n, wish->name) && !strcmp(n.verb, "-K") &&
	    (group = eth_short(n.word)) && group->several && !read_features(&f, n.iface))
		count = expand_group(&f, group, &n, wish->value, to);
	if (!count)
		to[count++] = *wish;
	return count;
}

/* --- either --------------------------------------------------------------------------- */

/* -EINVAL: we know no such word. */
static int find(struct machine *m, const char *name, struct eth_name *n, const struct eth_word **w)
{
	*w = NULL;
	if (!eth_name(n, name))
		return machine_error(m, -EINVAL, "not a setting of ethtool's");
	if (strcmp(n->verb, "-K") && !(*w = eth_word(n)))
		return machine_error(m, -EINVAL, "not a word of ethtool's that is known here");
	return 0;
}

int ethset_read(struct machine *m, const char *name, char value[VALUE_SIZE])
{
	const struct eth_word *w;
	struct eth_name n;
	int error = find(m, name, &n, &w);

	if (error)
		return error;
	if (is_fake(m))
		return ethtext_read(m, &n, value);
	return w ? read_word(&n, w, value) : read_feature(m, &n, value);
}

int ethset_write(struct machine *m, const char *name, const char *value)
{
	const struct eth_word *w;
	struct eth_name n;
	int error = find(m, name, &n, &w);

	if (error)
		return error;
	if (is_fake(m))
		return ethtext_write(m, &n, value);
	return w ? write_word(&n, w, value) : write_feature(m, &n, value);
}
