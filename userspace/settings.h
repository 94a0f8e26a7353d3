/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * settings.h - what we change of the machine, and give back
 *
 * Place    The starter: taken when the pins are ours, before anything is attached;
 *          restored when nothing is attached any more.
 * Model    Three settings:
 *            net.ipv4.tcp_syncookies = 2  with --steer=path, of the network namespace:
 *                                         every listener in it answers with cookies
 *            receive VLAN offload = off   of the interface: it hides the tag from XDP
 *            GRO = off                    of the interface, on rung packet: it makes one
 *                                         long frame of several
 *          What each was before is kept in the BPF file system, beside the pins, so
 *          that it outlives us as the setting does, and neither outlives a reboot:
 *            /sys/fs/bpf/saker/setting-NAME@NETNS-INODE/was -> VALUE   a symbolic link
 *          (with --pin-dir: beside that directory, for those who have theirs there too)
 *          Who needs a setting holds a lock (flock) on its directory, which goes with
 *          the process however that ends. The last one to leave restores. Whoever
 *          starts after a kill -9 finds the old value there and takes it over; in port
 *          mode it puts it back at once. A setting that somebody else has changed
 *          meanwhile stays as it is then.
 * Owner    struct settings is the caller's, from take to restore. A child after fork
 *          calls settings_leave, or its copy of the locks outlives ours.
 * Threads  One. Two responders at a time are kept apart by a lock on the root of
 *          the pins.
 * Errors   0 or -errno, reported here, once, on stderr, with a cure. What is changed
 *          is said once, by name.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "base.h"
#include "conf.h"

enum { SETTINGS_COUNT = 3 };

struct settings {
	const struct conf *conf;
	enum abi_rung rung;       /* that needs them: packet, or any of XDP */
	unsigned ifindex;         /* of the device that they are of */
	char root[CONF_PATH];     /* where their directories are */
	int lock[SETTINGS_COUNT]; /* of a setting that is changed; -1: it is not */
};

/* After an error nothing is changed, and *s needs no restore. */
int settings_take(struct settings *s, const struct conf *conf, enum abi_rung rung);
void settings_restore(struct settings *s);

/* Give back what a responder left that is gone; of conf: ifname, pin_dir. */
void settings_abandoned(const struct conf *conf);

/* From the binary before: what it took is ours now. */
void settings_inherit(struct settings *s, const struct conf *conf, enum abi_rung rung,
		      const int lock[SETTINGS_COUNT]);

/* For a child: let go without restoring. */
void settings_leave(struct settings *s);

#endif
