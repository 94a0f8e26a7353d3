/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include "rungs.h"
#include "say.h"

int rungs_check(const struct conf *conf, const struct nic *nic)
{
	const char *ifname = conf->ifname;

	if (!nic->up)
		return refuse(conf, -ENETDOWN, "the interface is down: ip link set dev %s up",
			      ifname);
	if (nic->mtu > NIC_MTU_MAX)
		return refuse(conf, -EMSGSIZE,
			      "MTU %u is above %d, a frame would not fit its chunk: "
			      "ip link set dev %s mtu 1500",
			      nic->mtu, NIC_MTU_MAX, ifname);
	if (nic->mtu < NIC_MTU_MIN)
		return refuse(conf, -EMSGSIZE,
			      "MTU %u is below %d, an answer would go in crumbs: "
			      "ip link set dev %s mtu 1500",
			      nic->mtu, NIC_MTU_MIN, ifname);
	if (nic->rx_queues > QUEUES_MAX)
		return refuse(conf, -E2BIG,
			      "%u RX queues, sockets for %d: ethtool -L %s combined %d",
			      nic->rx_queues, QUEUES_MAX, ifname, QUEUES_MAX);
	return 0;
}

/* A queue each at least: a thread without one would only spin. */
static int check_queues(const struct rungs *r)
{
	unsigned threads = conf_io_threads(r->conf), queues = r->nic->rx_queues;

	if (threads <= queues)
		return 0;
	return refuse(r->conf, -EBUSY,
		      "%u I/O threads and %u RX queue%s: ethtool -L %s combined %u, or at most %u "
		      "CPU%s in --io-cpu, or --io=socket",
		      threads, queues, queues == 1 ? "" : "s", r->conf->ifname, threads, queues,
		      queues == 1 ? "" : "s");
}

void rungs_close(struct rungs *r)
{
	while (r->gates) {
		struct gate *gate = &r->gate[--r->gates];

		steer_no_inlet(r->steer, gate_queue(gate));
		gate_close(gate);
	}
}

static int open_gate(struct rungs *r, unsigned queue, bool tx)
{
	struct gate_options o = {
		.kind = r->rung == RUNG_packet ? GATE_packet : GATE_ring,
		.ifname = r->conf->ifname,
		.ifindex = r->nic->ifindex,
		.queue = queue,
		.tx = tx,
		.zero_copy = r->copy == COPY_zero_copy,
	};
	struct gate *gate = &r->gate[r->gates];
	int error = gate_open(gate, &o);

	if (error)
		return error;
	r->gates++;
	return steer_inlet(r->steer, queue, gate_inlet(gate));
}

/* One for each RX queue. */
static int open_gates(struct rungs *r)
{
	unsigned threads = conf_io_threads(r->conf);
	int error = 0;

	for (unsigned t = 0; t < threads; t++)
		for (unsigned q = t; q < r->nic->rx_queues && !error; q += threads)
			error = open_gate(r, q, q == t);
	return error;
}

static int prove_send(struct rungs *r)
{
	unsigned threads = conf_io_threads(r->conf);
	uint8_t frame[NIC_PROBE_LEN];
	size_t len = nic_probe(r->nic, frame);
	int error = 0;

	for (unsigned t = 0, first = 0; t < threads && !error; t++) {
		error = gate_test_send(&r->gate[first], frame, len, TEST_SEND_MS);
		first += gate_share(r->gates, threads, t);
	}
	if (error)
		say(r->conf, "a test frame was not sent within %d ms", TEST_SEND_MS);
	return error;
}

int rungs_again(struct rungs *r)
{
	int error = check_queues(r);

	if (!error)
		error = open_gates(r);
	if (!error)
		error = prove_send(r);
	if (error)
		rungs_close(r);
	return error;
}

struct step {
	enum conf_io io;
	enum abi_rung rung;
	enum abi_copy copy;
};

static const struct step ladder[] = {
	{ CONF_IO_XDP_NATIVE, RUNG_xdp_native, COPY_zero_copy },
	{ CONF_IO_XDP_NATIVE, RUNG_xdp_native, COPY_copy },
	{ CONF_IO_XDP_GENERIC, RUNG_xdp_generic, COPY_copy },
	{ CONF_IO_PACKET, RUNG_packet, COPY_copy },
};

static enum steer_hook hook_of(enum abi_rung rung)
{
	return rung == RUNG_packet ? STEER_TC : STEER_XDP;
}

enum steer_hook rungs_hook(const struct conf *conf)
{
	if (conf->io == CONF_IO_AUTO || conf->io == CONF_IO_SOCKET)
		return ring_possible() ? STEER_XDP : STEER_TC;
	return conf->io == CONF_IO_PACKET ? STEER_TC : STEER_XDP;
}

/* The program on its hook; zero-copy and copy share one attachment. */
static int attach(struct rungs *r)
{
	int error;

	if (steer_attached(r->steer))
		return 0;
	error = steer_change(r->steer, r->nic->mac, hook_of(r->rung));
	return error ?: steer_attach(r->steer, r->rung);
}

static bool wanted(const struct rungs *r, const struct step *s)
{
	if (r->conf->io == CONF_IO_AUTO)
		return hook_of(s->rung) == STEER_TC || ring_possible();
	return r->conf->io == s->io;
}

/* From this step down. */
static int climb_from(struct rungs *r, unsigned first)
{
	int error = -EOPNOTSUPP;

	for (unsigned i = first; i < array_size(ladder) && error; i++) {
		const struct step *s = &ladder[i];
		bool last = i + 1 == array_size(ladder) || ladder[i + 1].rung != s->rung;

		if (!wanted(r, s))
			continue;
		r->rung = s->rung;
		r->copy = s->copy;
		error = attach(r);
		if (!error)
			error = rungs_again(r);
		if (error == -EBUSY || error == -EPERM)
			break; /* another rung would fare no better */
		if (error && last)
			steer_detach(r->steer);
	}
	if (error) {
		r->rung = RUNG_none;
		r->copy = COPY_none;
	}
	return error;
}

int rungs_climb(struct rungs *r)
{
	return check_queues(r) ?: climb_from(r, 0);
}

int rungs_lower(struct rungs *r)
{
	unsigned now = 0;

	while (now < array_size(ladder) &&
	       (ladder[now].rung != r->rung || ladder[now].copy != r->copy))
		now++;
	if (now + 1 >= array_size(ladder) || ladder[now + 1].rung != r->rung)
		steer_detach(r->steer);
	return climb_from(r, now + 1);
}

bool rungs_may_fall_back(const struct conf *conf, bool maps, int error)
{
	/* On a shared port nobody would answer what is ours. */
	if (conf->io != CONF_IO_AUTO || conf->steer == STEER_path)
		return false;
	return maps ? error != -EBUSY && error != -EPERM : error == -EAFNOSUPPORT;
}
