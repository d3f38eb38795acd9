/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate: the only way from a cell to the network, one process for each cell that has one.
 *
 * Theory of operation. The cell's network is a loopback and nothing else. While it is built, its
 * init makes every address that could be allowed an address of that loopback (198.18.0.0/15, which
 * stands for names, and the ranges of the rules), listens on every allowed port, and sends the
 * sockets to the gate. So a connection to any other address has no route, one to another port is
 * refused by the cell's own kernel, and every other connection reaches the gate, where its local
 * address tells the destination. The gate answers the cell's DNS queries with made-up addresses,
 * resolves the true ones itself when a connection comes, checks them, and passes bytes on.
 *
 * Some cells share no kernel with the gate. There the agent in the cell listens, and forwards each
 * connection as a stream of records (cell_streams.c), with the address that the program named.
 *
 * Privileges: at its start those of its parent, to read /etc/resolv.conf and /etc/hosts and to
 * change its ids. Then it is sealed (seal.c): no files, no children, no foreign ids, and only
 * sockets of the network. All bytes of the cell and of the hosts outside are read after that.
 *
 * Where the operator wants TLS to a host opened, another program is used (src/gate_tls), which
 * makes a certificate authority for this cell before it is sealed.
 *
 * It ends when the warden closes its socket, or is gone in any way: each turn of the loop checks
 * for that, and nothing here waits for anything else.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gate/tls/tls_opener.h"
#include "kernel/sys.h"

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
	/* Any event is the end: after GATE_BEGIN the warden sends nothing more. */
	gate_listen_done(gate);
	connection_free_all(gate);
	streams_free_all(gate);
	report_total(gate);
	loop_stop(gate->loop);
}

static void on_cell(void *user, uint32_t events)
{
	struct gate *gate = user;

	(void)events;
	if (gate_read_cell(gate) < 0) {
		_exit(GATE_BROKEN_RULES);
	}
	loop_remove(TAKE_PTR(gate->cell));
	if (!gate->forwarded.begun) {
		close(GATE_FD_CELL);
	} else if (streams_begin(gate) < 0) {
		_exit(GATE_FAILED);
	}
}

/* Does the host have a route to IPv6 addresses? An unused socket is enough to find out. */
static bool has_ipv6(void)
{
	struct net_address somewhere = { 6, { 0x20, 0x01, 0x48, 0x60, 0x48, 0x60 } };
	struct sockaddr_storage to;
	socklen_t size = net_address_to(&somewhere, 9, &to);
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&to, size) == 0;
}

/* The parent waits for the authority: it also receives the reason of a failure. */
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
	if (r < 0) {
		return r;
	}
	r = host_files_read(&gate->resolver.files);
	if (r < 0) {
		return r;
	}
	r = loop_new(&gate->loop);
	if (r < 0) {
		return r;
	}
	gate->resolver.loop = gate->loop;
	gate->resolver.has_ipv6 = has_ipv6();
	gate->resolver.charge = charge_for_names;
	gate->resolver.user = gate;
	gate->routes = net_routes_open(); /* the seal allows no such sockets */
	r = gate_seal(gate);
	if (r < 0) {
		return r;
	}
	r = loop_add(gate->loop, GATE_FD_WARDEN, EPOLLIN, on_warden, gate, &gate->warden);
	if (r < 0) {
		return r;
	}
	return loop_add(gate->loop, GATE_FD_CELL, EPOLLIN, on_cell, gate, &gate->cell);
}

int gate_program(const struct tls_opener *opener)
{
	struct gate gate = { .opener = opener, .routes = -1 };

	if (!is_line(GATE_FD_WARDEN) || !is_line(GATE_FD_CELL)) {
		return GATE_WRONG_START;
	}
	prctl(PR_SET_NAME, "brig-gate", 0, 0, 0);
	(void)setsid();
	signal(SIGPIPE, SIG_IGN);
	int r = chdir("/") < 0 ? -errno : prepare(&gate);
	r = r < 0 ? r : loop_run(gate.loop);
	return r == -EPROTO ? GATE_BROKEN_RULES : r < 0 ? GATE_FAILED : GATE_FINE;
}
