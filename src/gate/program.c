/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: the only way out of a cell to the network, one process for each cell that has one.
 *
 * Theory of operation. The cell's network is a loopback and nothing else. While it is built, its
 * init makes every address that could be allowed an address of that loopback (198.18.0.0/15, which
 * stands for names, and the ranges that rules name), listens on every allowed port, and hands the
 * sockets to us. So a connection to anywhere else has no route, one to another port is refused by
 * the cell's own kernel, and one that is left comes to us, who know by the address of its own end
 * what it was made for. We answer the cell's questions for names with made-up addresses, resolve
 * the true ones ourselves when a connection comes, judge them, and pass bytes on.
 *
 * Privileges: at its start the starter's, to read /etc/resolv.conf and /etc/hosts and to change its
 * ids. Then it is sealed (seal.c): no file, no child, no id of anybody else's, sockets of the
 * network and no others. All bytes of the cell and of the hosts outside are read after that.
 *
 * Where the operator wants TLS to a host opened, the program is another one (src/gate_tls), which
 * makes an authority for this cell before it is sealed.
 *
 * It ends when the warden shuts its line down, or is gone in any way: each
 * turn of the loop checks for that, and nothing here waits for anything else.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gate/tls_opener.h"
#include "kernel/sys.h"

enum { STATUS_FINE = 0, STATUS_BROKEN_RULES = 1, STATUS_WRONG_START = 2, STATUS_FAILED = 125 };

static bool is_line(int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

static void on_warden(void *user, uint32_t events)
{
	struct gate *gate = user;

	(void)events;
	/* Whatever it is, it is the end: after the beginning nothing else is due. */
	gate_listen_done(gate);
	connection_free_all(gate);
	report_total(gate);
	loop_stop(gate->loop);
}

static void on_cell(void *user, uint32_t events)
{
	struct gate *gate = user;

	(void)events;
	if (gate_read_cell(gate) < 0) {
		_exit(STATUS_BROKEN_RULES);
	}
	loop_remove(TAKE_PTR(gate->cell));
	close(GATE_FD_CELL);
}

/* Is there a way to IPv6 addresses at all? A socket that is not used tells. */
static bool has_six(void)
{
	struct net_address somewhere = { 6, { 0x20, 0x01, 0x48, 0x60, 0x48, 0x60 } };
	struct sockaddr_storage to;
	socklen_t size = net_address_to(&somewhere, 9, &to);
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&to, size) == 0;
}

/* Whoever started us waits for the authority: it is told what the trouble is, too. */
static int open_prepare(struct gate *gate)
{
	struct gate_authority authority = { .kind = GATE_AUTHORITY };

	if (!gate->opener) {
		return 0;
	}
	int r = gate->opener->prepare(gate, &authority);
	report_authority(&authority);
	return r;
}

static bool charge_for_names(void *user, size_t bytes)
{
	return gate_charge(user, bytes);
}

static int prepare(struct gate *gate)
{
	int r = 0;

	while (!gate->begun) {
		r = gate_read_warden(gate);
		if (r <= 0) {
			return r < 0 ? r : -ECANCELED;
		}
	}
	r = open_prepare(gate);
	if (r == 0) {
		r = host_files_read(&gate->resolver.files);
	}
	if (r == 0) {
		r = loop_new(&gate->loop);
	}
	if (r == 0) {
		gate->resolver.loop = gate->loop;
		gate->resolver.six = has_six();
		gate->resolver.pay = charge_for_names;
		gate->resolver.user = gate;
		gate->routes = net_routes_open(); /* the seal has no such sockets */
		r = gate_seal(gate);
	}
	if (r == 0) {
		r = loop_add(gate->loop, GATE_FD_WARDEN, EPOLLIN, on_warden, gate, &gate->warden);
	}
	if (r == 0) {
		r = loop_add(gate->loop, GATE_FD_CELL, EPOLLIN, on_cell, gate, &gate->cell);
	}
	return r;
}

int gate_program(const struct tls_opener *opener)
{
	struct gate gate = { .opener = opener, .routes = -1 };

	if (!is_line(GATE_FD_WARDEN) || !is_line(GATE_FD_CELL)) {
		return STATUS_WRONG_START;
	}
	prctl(PR_SET_NAME, "brig-gate", 0, 0, 0);
	(void)setsid();
	signal(SIGPIPE, SIG_IGN);
	int r = chdir("/") < 0 ? -errno : prepare(&gate);
	if (r == 0) {
		r = loop_run(gate.loop);
	}
	return r == -EPROTO ? STATUS_BROKEN_RULES : r < 0 ? STATUS_FAILED : STATUS_FINE;
}
