/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "nic.h"
#include "wire.h"

/* Entries rx-0, rx-1 ... without a gap: the real_num_rx_queues of the device. */
unsigned nic_rx_queues(const char *ifname)
{
	char path[64];
	unsigned n = 0;

	do
		snprintf(path, sizeof path, "/sys/class/net/%s/queues/rx-%u", ifname, n);
	while (access(path, F_OK) == 0 && ++n);
	return n ? n : 1; /* no sysfs here: every device has one */
}

static int ask(int fd, struct nic *nic, const char *ifname)
{
	struct ifreq r = { 0 };

	strncpy(r.ifr_name, ifname, IF_NAMESIZE - 1);
	if (ioctl(fd, SIOCGIFHWADDR, &r) < 0)
		return -errno;
	memcpy(nic->mac, r.ifr_hwaddr.sa_data, 6);
	if (ioctl(fd, SIOCGIFMTU, &r) < 0)
		return -errno;
	nic->mtu = (unsigned)r.ifr_mtu;
	if (ioctl(fd, SIOCGIFFLAGS, &r) < 0)
		return -errno;
	nic->up = r.ifr_flags & IFF_UP;
	if (ioctl(fd, SIOCGIFADDR, &r) == 0) {
		struct sockaddr_in in;
		memcpy(&in, &r.ifr_addr, sizeof in);
		memcpy(nic->ip4, &in.sin_addr, 4);
		nic->has_ip4 = true;
	}
	return 0;
}

int nic_ask(struct nic *nic, const char *ifname)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error;

	*nic = (struct nic){ .ifindex = if_nametoindex(ifname) };
	error = fd < 0 ? -errno : ask(fd, nic, ifname);
	if (fd >= 0)
		close(fd);
	if (error)
		fprintf(stderr, "saker: %s: cannot read the interface: %s\n", ifname,
			strerror(-error));
	nic->rx_queues = nic_rx_queues(ifname);
	return error;
}

static const char *driver_of(const char *ifname, char name[64])
{
	char path[64], target[256];
	const char *last;
	ssize_t n;

	snprintf(path, sizeof path, "/sys/class/net/%s/device/driver", ifname);
	n = readlink(path, target, sizeof target - 1);
	if (n < 0)
		return "unknown";
	target[n] = 0;
	last = strrchr(target, '/');
	snprintf(name, 64, "%.63s", last ? last + 1 : target);
	return name;
}

const char *nic_dead_tx(const char *ifname, char text[NIC_TEXT])
{
	char name[64];
	const char *driver = driver_of(ifname, name);
	struct utsname kernel = { 0 };

	uname(&kernel);
	snprintf(text, NIC_TEXT,
		 "driver %s, kernel %s%s: the kernel's own frames leave by the same card; "
		 "ip link set dev %s down, then up, starts it again",
		 driver, kernel.release,
		 strcmp(driver, "macb") ? "" :
					  " (a known fault of macb on the Raspberry Pi 5, "
					  "raspberrypi/linux issue 7339, mended in rpi-6.18.y of "
					  "May 2026)",
		 ifname);
	return text;
}

size_t nic_probe(const struct nic *nic, uint8_t frame[NIC_PROBE_LEN])
{
	struct wire_eth eth = { 0 };
	struct wire_arp arp = { .hw_len = 6, .proto_len = 4 };

	memset(frame, 0, NIC_PROBE_LEN);
	memcpy(eth.src, nic->mac, 6);
	if (nic->has_ip4) {
		memset(eth.dst, 0xff, 6);
		put_be16(&eth.type_be, WIRE_TYPE_ARP);
		put_be16(&arp.hw_type_be, WIRE_ARP_ETHERNET);
		put_be16(&arp.proto_be, WIRE_TYPE_IP4);
		put_be16(&arp.op_be, WIRE_ARP_REQUEST);
		memcpy(arp.sender_mac, nic->mac, 6);
		memcpy(arp.target_ip, nic->ip4, 4);
		memcpy(frame + sizeof eth, &arp, sizeof arp);
	} else {
		memcpy(eth.dst, nic->mac, 6);
		put_be16(&eth.type_be, WIRE_TYPE_LOCAL);
	}
	memcpy(frame, &eth, sizeof eth);
	return NIC_PROBE_LEN;
}
