/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up privileges before the gate reads a byte of the cell: ids, capabilities, files, children,
 * and all system calls but those of this list. The network stays, which is the gate's purpose.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gate/gate.h"
#include "kernel/caps.h"
#include "kernel/filter/filter_seal.h"
#include "kernel/landlock.h"
#include "net/cell_stream.h"

/* Two sockets and two pipes each; and its own. */
#define FILES_OF_CONNECTION 6
#define FILES_OF_OPENED     4 /* and two pairs of sockets that carry the content */
#define FILES_OF_STREAM     2 /* a pair, whose other end is a connection's */
#define FILES_MORE          128
#define MEMORY_BYTES        (256u << 20)

static const uint64_t families[] = { AF_INET, AF_INET6 };
static const struct filter_test of_the_network = {
	.arg = 0, .mask = UINT32_MAX, .values_count = ARRAY_SIZE(families), .values = families
};
static const uint64_t unix_family[] = { AF_UNIX };
static const uint64_t plain_stream[] = { SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK };
/* Both tests: a pair of datagram sockets could be connected again, to another process. */
static const struct filter_test of_this_process[] = {
	{ .arg = 0, .mask = UINT32_MAX, .values_count = 1, .values = unix_family },
	{ .arg = 1, .mask = UINT32_MAX, .values_count = 1, .values = plain_stream },
};
static const uint64_t pipe_size[] = { F_SETPIPE_SZ };
static const struct filter_test sizes_pipe = {
	.arg = 1, .mask = UINT32_MAX, .values_count = 1, .values = pipe_size
};
/*
 * By number alone: the same numbers are as harmless on other levels. TCP_ULP and filters are not.
 */
static const uint64_t options[] = { TCP_NODELAY, SO_LINGER, SO_SNDBUF, SO_RCVBUF };
static const struct filter_test plain_option = {
	.arg = 2, .mask = UINT32_MAX, .values_count = ARRAY_SIZE(options), .values = options
};
#define PLAIN  1u
#define OPENER 2u /* a gate that opens TLS */
#define BOTH   (PLAIN | OPENER)
/* In addition, where connections come over the agent's stream. */
#define STREAMED 4u

static const struct sealed_call calls[] = {
	{ "recvfrom", BOTH, "first bytes, DNS, messages of the warden", NULL, 0 },
	{ "recvmsg", BOTH, "the cell's sockets", NULL, 0 },
	{ "sendto", BOTH, "DNS answers, request heads, reports", NULL, 0 },
	{ "splice", BOTH, "bytes, in both directions", NULL, 0 },
	{ "pipe2", BOTH, "the pipes that they pass through", NULL, 0 },
	{ "fcntl", BOTH, "the size of a pipe", &sizes_pipe, 0 },
	{ "accept4", BOTH, "connections of the cell", NULL, 0 },
	{ "socket", BOTH, "connections to the outside", &of_the_network, 0 },
	{ "connect", BOTH, "the same", NULL, 0 },
	{ "shutdown", BOTH, "the end of one direction", NULL, 0 },
	{ "getsockname", BOTH, "the destination of a connection", NULL, 0 },
	{ "getsockopt", BOTH, "the result of connect()", NULL, 0 },
	{ "setsockopt", BOTH, "no delay; a reset at the end; buffers", &plain_option, 0 },
	{ "close", BOTH, "descriptors", NULL, 0 },
	{ "epoll_create1", BOTH, "the loop", NULL, 0 },
	{ "epoll_ctl", BOTH, "the loop", NULL, 0 },
	{ "epoll_wait", BOTH, "the loop", NULL, 0 },
	{ "epoll_pwait", BOTH, "the loop, by newer C libraries", NULL, 0 },
	{ "epoll_pwait2", BOTH, "the same", NULL, 0 },
	{ "clock_gettime", BOTH, "time, where the vdso does not have it", NULL, 0 },
	{ "getrandom", BOTH, "ids of DNS queries", NULL, 0 },
	{ "brk", BOTH, "memory", NULL, 0 },
	{ "mmap", BOTH, "memory that is not executable", &seal_not_executable, 0 },
	{ "mprotect", BOTH, "memory that is not executable", &seal_not_executable, 0 },
	{ "munmap", BOTH, "memory", NULL, 0 },
	{ "mremap", BOTH, "memory", NULL, 0 },
	{ "madvise", BOTH, "memory", NULL, 0 },
	{ "prctl", BOTH, "the C library names its memory", &seal_names_memory, 0 },
	{ "futex", BOTH, "locks of the C library", NULL, 0 },
	{ "writev", BOTH, "error messages of the C library", NULL, 0 },
	{ "getpid", BOTH, "abort()", NULL, 0 },
	{ "gettid", BOTH, "abort()", NULL, 0 },
	{ "tgkill", BOTH, "abort()", &seal_of_itself, 0 },
	{ "rt_sigaction", BOTH, "abort()", NULL, 0 },
	{ "rt_sigprocmask", BOTH, "abort()", NULL, 0 },
	{ "restart_syscall", BOTH, "a wait that continues after a stop", NULL, 0 },
	{ "exit", BOTH, "the end", NULL, 0 },
	{ "exit_group", BOTH, "the end", NULL, 0 },

	/* Further calls where TLS is opened, or connections come over a stream. */
	{ "socketpair", OPENER | STREAMED, "the sockets that carry the content", of_this_process,
	  ARRAY_SIZE(of_this_process) },
	{ "sysinfo", OPENER, "the C library sorts authorities, and asks how much memory there is",
	  NULL, 0 },
	{ "gettimeofday", OPENER, "dates of certificates, where the vdso does not have the time",
	  NULL, 0 },
	{ "time", OPENER, "the same", NULL, 0 },
};

/* Where the host's own hard limit is lower, that stays. */
static int limit(int what, rlim_t value)
{
	struct rlimit now;

	if (getrlimit((__rlimit_resource_t)what, &now) < 0) {
		return -errno;
	}
	value = value < now.rlim_max ? value : now.rlim_max;
	struct rlimit both = { value, value };
	return setrlimit((__rlimit_resource_t)what, &both) < 0 ? -errno : 0;
}

static int seal_limits(const struct gate *gate)
{
	rlim_t each = FILES_OF_CONNECTION + (gate->opener ? FILES_OF_OPENED : 0);
	rlim_t streams = gate->limits.streamed ? CELL_STREAMS_MAX * FILES_OF_STREAM : 0;
	int r = limit(RLIMIT_NOFILE, gate->limits.connections * each + streams + FILES_MORE);

	r = r < 0 ? r : limit(RLIMIT_CORE, 0);
	r = r < 0 ? r : limit(RLIMIT_FSIZE, 0);
	r = r < 0 ? r : limit(RLIMIT_DATA, MEMORY_BYTES);
	return r < 0 ? r : limit(RLIMIT_NPROC, 0);
}

static int seal_ids(const struct gate *gate)
{
	uid_t id = gate->limits.id;

	if (id == 0) {
		return 0;
	}
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0) {
		return -errno;
	}
	return 0;
}

int gate_seal(const struct gate *gate)
{
	int abi = landlock_abi();
	int r = seal_limits(gate);

	r = r < 0 ? r : seal_ids(gate);
	if (r == 0) {
		r = caps_drop_all();
		/* Without CAP_SETPCAP the bounding set stays, and has no effect. */
		r = r == -EPERM ? caps_give_up() : r;
	}
	if (r == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		       prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)) {
		r = -errno;
	}
	if (r == 0 && abi > 0) {
		r = landlock_enforce(abi, NULL, 0);
	}
	unsigned users = (gate->opener ? OPENER : PLAIN) | (gate->limits.streamed ? STREAMED : 0u);
	return r < 0 ? r : filter_seal(calls, ARRAY_SIZE(calls), users, NULL);
}
