/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up privileges before the gate reads a byte of the cell: ids, capabilities, files, children,
 * and all system calls but those of this list. The network stays, which is the gate's purpose.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "gate/gate.h"
#include "kernel/caps.h"
#include "kernel/filter/filter.h"
#include "kernel/landlock.h"
#include "kernel/sys.h"

/* Two sockets and two pipes each; and its own. */
#define FILES_OF_CONNECTION 6
#define FILES_OF_OPENED     4 /* and two pairs of sockets that carry the content */
#define FILES_MORE          128
#define MEMORY_BYTES        (256u << 20)

static const uint64_t zero[] = { 0 };
static const struct filter_test not_executable = {
	.arg = 2, .mask = PROT_EXEC, .values_count = 1, .values = zero
};
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
static const uint64_t quiet_prctl[] = { PR_SET_VMA };
static const struct filter_test names_memory = {
	.arg = 0, .mask = UINT32_MAX, .values_count = 1, .values = quiet_prctl
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
/* The process id is known when the gate is sealed: a marker that the test is made for then. */
static const struct filter_test of_itself = { .arg = 0, .mask = UINT32_MAX };

static const struct call {
	const char *name, *reason;
	/* any other value kills the process as well; NULL: always allowed */
	const struct filter_test *test;
} calls[] = {
	{ "recvfrom", "first bytes, DNS, messages of the warden", NULL },
	{ "recvmsg", "the cell's sockets", NULL },
	{ "sendto", "DNS answers, request heads, reports", NULL },
	{ "splice", "bytes, in both directions", NULL },
	{ "pipe2", "the pipes that they pass through", NULL },
	{ "fcntl", "the size of a pipe", &sizes_pipe },
	{ "accept4", "connections of the cell", NULL },
	{ "socket", "connections to the outside", &of_the_network },
	{ "connect", "the same", NULL },
	{ "shutdown", "the end of one direction", NULL },
	{ "getsockname", "the destination of a connection", NULL },
	{ "getsockopt", "the result of connect()", NULL },
	{ "setsockopt", "no delay; a reset at the end; buffers", &plain_option },
	{ "close", "descriptors", NULL },
	{ "epoll_create1", "the loop", NULL },
	{ "epoll_ctl", "the loop", NULL },
	{ "epoll_wait", "the loop", NULL },
	{ "epoll_pwait", "the loop, by newer C libraries", NULL },
	{ "epoll_pwait2", "the same", NULL },
	{ "clock_gettime", "time, where the vdso does not have it", NULL },
	{ "getrandom", "ids of DNS queries", NULL },
	{ "brk", "memory", NULL },
	{ "mmap", "memory that is not executable", &not_executable },
	{ "mprotect", "memory that is not executable", &not_executable },
	{ "munmap", "memory", NULL },
	{ "mremap", "memory", NULL },
	{ "madvise", "memory", NULL },
	{ "prctl", "the C library names its memory", &names_memory },
	{ "futex", "locks of the C library", NULL },
	{ "writev", "error messages of the C library", NULL },
	{ "getpid", "abort()", NULL },
	{ "gettid", "abort()", NULL },
	{ "tgkill", "abort()", &of_itself },
	{ "rt_sigaction", "abort()", NULL },
	{ "rt_sigprocmask", "abort()", NULL },
	{ "restart_syscall", "a wait that continues after a stop", NULL },
	{ "exit", "the end", NULL },
	{ "exit_group", "the end", NULL },
};

/* Further calls where TLS is opened. */
static const struct call opener_calls[] = {
	{ "socketpair", "the sockets that carry the content", of_this_process },
	{ "sysinfo", "the C library sorts authorities, and asks how much memory there is", NULL },
	{ "gettimeofday", "dates of certificates, where the vdso does not have the time", NULL },
	{ "time", "the same", NULL },
};

static const struct call *find_in(const struct call *list, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++) {
		if (strcmp(list[i].name, name) == 0) {
			return &list[i];
		}
	}
	return NULL;
}

static const struct call *find(const struct gate *gate, unsigned number)
{
	const char *name = syscall_name(number);
	const struct call *call = find_in(calls, ARRAY_SIZE(calls), name);

	return call || !gate->opener ? call : find_in(opener_calls, ARRAY_SIZE(opener_calls), name);
}

static uint8_t tests_of(const struct call *call)
{
	return call->test == of_this_process ? ARRAY_SIZE(of_this_process) : call->test != NULL;
}

static unsigned make_rules(const struct gate *gate, const struct filter_test *itself,
			   struct filter_rule *rules)
{
	unsigned count = 0;

	for (unsigned number = 0; number < FILTER_CALLS_MAX; number++) {
		const struct call *call = find(gate, number);
		if (call) {
			rules[count++] = (struct filter_rule){ .call = (uint16_t)number,
							       .action = FILTER_ALLOW,
							       .tests = call->test == &of_itself
										? itself
										: call->test,
							       .tests_count = tests_of(call),
							       .reason = call->reason };
		}
		if (!call || call->test) {
			rules[count++] = (struct filter_rule){ .call = (uint16_t)number,
							       .action = FILTER_KILL };
		}
	}
	return count;
}

static int seal_calls(const struct gate *gate)
{
	_cleanup_free_ struct filter_rule *rules = calloc(2 * FILTER_CALLS_MAX, sizeof(*rules));
	_cleanup_(bpf_program_done)
	struct bpf_program program = { 0 };
	uint64_t self = (uint64_t)getpid();
	struct filter_test itself = of_itself;

	if (!rules) {
		return -ENOMEM;
	}
	itself.values = &self;
	itself.values_count = 1;
	struct filter filter = { .rules = rules, .count = make_rules(gate, &itself, rules) };
	int r = filter_compile(&filter, false, &program, NULL);
	if (r < 0) {
		return r;
	}
	struct sock_fprog code = { .len = (unsigned short)program.count, .filter = program.code };
	return sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &code);
}

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
	int r = limit(RLIMIT_NOFILE, gate->limits.connections * each + FILES_MORE);

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
	return r < 0 ? r : seal_calls(gate);
}
