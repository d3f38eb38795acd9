/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network namespace. Making one takes longer than all other namespaces together, and does not
 * depend on the work of pid 1 meanwhile; so a helper makes it on another core. The helper shares
 * our memory and descriptors and makes only raw system calls, because errno is ours. This file also
 * has the cell's side of the gate: routes to itself, and listening sockets.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"
#include "net/gate_messages.h"

/* AF_INET is in every kernel with networks; without it there is no interface to bring up. */
static int loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	long socket = sys_raw(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (socket < 0) {
		return (int)socket;
	}
	long r = sys_raw(SYS_ioctl, socket, SIOCSIFFLAGS, (long)&request);
	if (r == 0) {
		r = sys_raw(SYS_ioctl, socket, SIOCGSKNS, 0); /* the namespace itself, by fd */
	}
	sys_raw(SYS_close, socket, 0, 0);
	return (int)r;
}

/*
 * A TCP buffer grows by itself, to many times the size of other sockets' buffers (tcp(7)); here it
 * is limited to their size. A socket that a program has closed is removed soon, so that the gate
 * notices it. Kernels without a setting, and containers that lock it, are skipped.
 */
static const struct {
	const char *path, *value;
	size_t size;
} settings[] = {
	{ "net/ipv4/tcp_rmem", "4096 131072 212992", 18 },
	{ "net/ipv4/tcp_wmem", "4096 16384 212992", 17 },
	{ "net/ipv4/tcp_fin_timeout", "10", 2 },
};

static bool is_skipped(long r)
{
	return r == -ENOENT || r == -EROFS || r == -EACCES;
}

static int write_settings(int proc)
{
	for (size_t i = 0; proc >= 0 && i < ARRAY_SIZE(settings); i++) {
		long fd = sys_raw(SYS_openat, proc, (long)settings[i].path, O_WRONLY | O_CLOEXEC);
		if (is_skipped(fd)) {
			continue;
		}
		long r = fd < 0 ? fd
				: sys_raw(SYS_write, fd, (long)settings[i].value,
					  (long)settings[i].size);
		if (fd >= 0) {
			sys_raw(SYS_close, fd, 0, 0);
		}
		if (r < 0) {
			return (int)r;
		}
	}
	return 0;
}

int net_adopt(void)
{
	_cleanup_close_ int proc = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = write_settings(proc);
	_cleanup_close_ int own = r < 0 ? -1 : loopback_up();

	return r < 0 ? r : own < 0 ? own : 0;
}

static int helper(void *user)
{
	struct net_helper *net = user;
	long r = sys_raw(SYS_unshare, CLONE_NEWNET, 0, 0);

	r = r < 0 ? r : write_settings(net->settings);
	net->fd = r < 0 ? (int)r : loopback_up();
	return 0;
}

int step_net(struct cell *cell, const struct step *step)
{
	struct net_helper *net = &cell->net;

	(void)step;
	net->fd = -EIO;
	/* Opened here: when the helper needs it, the host's /proc may be unmounted already. */
	net->settings = open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (net->settings < 0 && !is_skipped(-errno)) {
		return -errno;
	}
	net->pid = clone(helper, net->stack + sizeof(net->stack), CLONE_VM | CLONE_FILES, net);
	return net->pid < 0 ? -errno : 0;
}

int step_netenter(struct cell *cell, const struct step *step)
{
	struct net_helper *net = &cell->net;

	(void)step;
	while (waitpid(net->pid, NULL, __WALL) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	close_fd(&net->settings);
	if (net->fd < 0) {
		return net->fd;
	}
	_cleanup_close_ int fd = net->fd;
	return setns(fd, CLONE_NEWNET) < 0 ? -errno : 0;
}

/*
 * Files of /proc/self/net that show figures of the whole host in every network: packets by
 * processor, memory and sockets of each protocol, cached routes. As root of the namespace that owns
 * the network, brig-init can remove their permissions; then no process in it can read them.
 */
static const char *const host_wide[] = { "softnet_stat", "sockstat", "sockstat6", "protocols",
					 "ptype",        "rt_cache", "rt_acct",   "stat" };

int step_nethide(struct cell *cell, const struct step *step)
{
	_cleanup_close_ int net = open("/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)cell;
	(void)step;
	for (size_t i = 0; net >= 0 && i < ARRAY_SIZE(host_wide); i++) {
		/* Skipped on a kernel without it, or where it belongs to the host's root. */
		if (fchmodat(net, host_wide[i], 0, 0) < 0 && errno != ENOENT && errno != EPERM) {
			return -errno;
		}
	}
	return net < 0 ? -errno : 0;
}

/* --- the gate ------------------------------------------------------------------------------ */

/* A local route: the kernel delivers packets for these addresses to listeners in the cell. */
static size_t make_route(const struct net_prefix *prefix, char *buffer)
{
	struct nlmsghdr *head = (struct nlmsghdr *)buffer;
	struct rtmsg *route = NLMSG_DATA(head);
	size_t width = prefix->address.family == 4 ? 4 : 16;
	int loopback = 1; /* the first interface of every network namespace */

	*head = (struct nlmsghdr){ .nlmsg_type = RTM_NEWROUTE,
				   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE };
	*route = (struct rtmsg){ .rtm_family = width == 4 ? AF_INET : AF_INET6,
				 .rtm_dst_len = prefix->bits,
				 .rtm_table = RT_TABLE_LOCAL,
				 .rtm_protocol = RTPROT_STATIC,
				 .rtm_scope = RT_SCOPE_HOST,
				 .rtm_type = RTN_LOCAL };
	struct rtattr *to = (struct rtattr *)(buffer + NLMSG_SPACE(sizeof(*route)));
	*to = (struct rtattr){ .rta_type = RTA_DST, .rta_len = (unsigned short)RTA_LENGTH(width) };
	memcpy(RTA_DATA(to), prefix->address.bytes, width);
	struct rtattr *by = (struct rtattr *)((char *)to + RTA_SPACE(width));
	*by = (struct rtattr){ .rta_type = RTA_OIF,
			       .rta_len = (unsigned short)RTA_LENGTH(sizeof(loopback)) };
	memcpy(RTA_DATA(by), &loopback, sizeof(loopback));
	head->nlmsg_len = (uint32_t)((char *)by + RTA_SPACE(sizeof(loopback)) - buffer);
	return head->nlmsg_len;
}

int step_route(struct cell *cell, const struct step *step)
{
	const struct net_prefix *prefix = &step->route.prefix;
	_Alignas(struct nlmsghdr) char buffer[256] = { 0 };
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	(void)cell;
	if (fd < 0 || send(fd, buffer, make_route(prefix, buffer), 0) < 0) {
		return -errno;
	}
	ssize_t n = recv(fd, buffer, sizeof(buffer), 0);
	struct nlmsghdr *head = (struct nlmsghdr *)buffer;
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) || head->nlmsg_type != NLMSG_ERROR) {
		return n < 0 ? -errno : -EIO;
	}
	const struct nlmsgerr *answer = NLMSG_DATA(head);
	/*
	 * Two rules may name the same range; and a kernel without IPv6 cannot reach such addresses
	 * anyway.
	 */
	bool fine = answer->error == -EEXIST ||
		    (prefix->address.family == 6 && answer->error == -EAFNOSUPPORT) ||
		    (prefix->address.family == 6 && answer->error == -EOPNOTSUPP);
	return fine ? 0 : answer->error;
}

/* Listens on both families where the kernel has both. */
static int open_listener(const struct step *step, struct sockaddr_storage *at, socklen_t *size)
{
	struct net_address any = { .family = 6 };
	int off = 0;
	int fd = -1;

	if (!step->listen.address) {
		*size = net_address_to(&any, step->listen.port, at);
		fd = socket(AF_INET6, step->listen.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) {
			close_fd(&fd);
		}
	}
	if (fd < 0) {
		any = (struct net_address){ .family = 4 };
		if (step->listen.address && net_address_parse(step->listen.address, &any) < 0) {
			return -EINVAL;
		}
		*size = net_address_to(&any, step->listen.port, at);
		fd = socket(AF_INET, step->listen.type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	}
	return fd < 0 ? -errno : fd;
}

/*
 * A program that closes a connection while its host is silent looks like one that has shut down
 * only its sending side. Keepalive packets reveal the difference; accepted connections inherit
 * these options.
 */
static int set_keepalive(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 10 }, /* seconds */
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
			       sizeof(options[i].value)) < 0) {
			return -errno;
		}
	}
	return 0;
}

int step_listen(struct cell *cell, const struct step *step)
{
	struct sockaddr_storage at;
	socklen_t size = 0;
	_cleanup_close_ int fd = open_listener(step, &at, &size);

	if (fd < 0) {
		return fd;
	}
	if (bind(fd, (struct sockaddr *)&at, size) < 0 ||
	    (step->listen.type == SOCK_STREAM && listen(fd, SOMAXCONN) < 0)) {
		return -errno;
	}
	int r = step->listen.type == SOCK_STREAM ? set_keepalive(fd) : 0;
	if (r < 0) {
		return r;
	}
	if (cell->listeners_count == ARRAY_SIZE(cell->listeners)) {
		return -E2BIG;
	}
	cell->listeners[cell->listeners_count++] = TAKE_FD(fd);
	return 0;
}

/*
 * From here on no process in the cell has these sockets: only the gate accepts their connections.
 */
int step_gate(struct cell *cell, const struct step *step)
{
	struct gate_word word = { .kind = GATE_LISTENERS, .value = cell->listeners_count };
	struct iovec part = { &word, sizeof(word) };
	ssize_t n = fdpass_send(step->gate.fd, &part, 1, cell->listeners, cell->listeners_count, 0);

	while (cell->listeners_count) {
		close(cell->listeners[--cell->listeners_count]);
	}
	close(step->gate.fd);
	return n < 0 ? (int)n : 0;
}
