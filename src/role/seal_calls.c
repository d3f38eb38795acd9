/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that a role may make, each with its reason. Any other call kills the process: a
 * role that makes one is compromised.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/filter/filter.h"
#include "kernel/sys.h"
#include "role/seal.h"

#define FRONT  (1u << ROLE_FRONT)
#define LEDGER (1u << ROLE_LEDGER)
#define BROKER (1u << ROLE_BROKER)
#define BOTH   (FRONT | LEDGER)
#define ALL    (BOTH | BROKER)

/* Conditions. Executable memory is the next thing an intruder needs. */
static const uint64_t zero[] = { 0 };
static const struct filter_test not_executable = {
	.arg = 2, .mask = PROT_EXEC, .values_count = 1, .values = zero
};
static const uint64_t quiet_prctl[] = { PR_SET_VMA };
static const struct filter_test names_memory = {
	.arg = 0, .mask = UINT32_MAX, .values_count = 1, .values = quiet_prctl
};
static const uint64_t descriptor_commands[] = {
	F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS,
};
static const struct filter_test of_descriptors = { .arg = 1,
						   .mask = UINT32_MAX,
						   .values_count = ARRAY_SIZE(descriptor_commands),
						   .values = descriptor_commands };
static const uint64_t empty_path[] = { AT_EMPTY_PATH };
static const struct filter_test of_the_descriptor = {
	.arg = 3, .mask = UINT32_MAX, .values_count = 1, .values = empty_path
};
static const uint64_t directory[] = { O_DIRECTORY };
static const struct filter_test of_directories = {
	.arg = 2, .mask = O_DIRECTORY | O_ACCMODE | O_CREAT, .values_count = 1, .values = directory
};
static const uint64_t ioctls[] = { FIONREAD, FIONBIO, TCGETS };
static const struct filter_test harmless_ioctl = {
	.arg = 1, .mask = UINT32_MAX, .values_count = ARRAY_SIZE(ioctls), .values = ioctls
};
/*
 * By number alone: the same numbers on other levels are as harmless. TCP_ULP and filters are not.
 */
static const uint64_t options[] = { TCP_NODELAY, SO_KEEPALIVE, TCP_QUICKACK };
static const struct filter_test plain_option = {
	.arg = 2, .mask = UINT32_MAX, .values_count = ARRAY_SIZE(options), .values = options
};
/*
 * Its own pid is known only when it is sealed: this is a placeholder for the test that is made
 * then.
 */
static const struct filter_test of_itself = { .arg = 0, .mask = UINT32_MAX };

static const struct allowed_call {
	const char *name;
	unsigned roles;
	const char *reason;
	const struct filter_test
		*test; /* if it does not hold, the call kills; NULL: always allowed */
} calls[] = {
	{ "read", ALL, "sockets, signalfd, files", NULL },
	{ "write", ALL, "sockets, the log, files", NULL },
	{ "readv", BOTH, "sockets", NULL },
	{ "writev", ALL, "sockets; the C library's abort message", NULL },
	{ "pread64", BOTH, "memory files; pages of the database", NULL },
	{ "pwrite64", BOTH, "memory files; pages of the database", NULL },
	{ "close", ALL, "descriptors", NULL },
	{ "fcntl", FRONT, "flags, copies and seals of descriptors", &of_descriptors },
	{ "fcntl", BROKER, "the same", &of_descriptors },
	{ "fcntl", LEDGER, "the same, and SQLite's locks", NULL },
	{ "fstat", ALL, "the kind of a descriptor", NULL },
	{ "newfstatat", FRONT, "the same, as the C library spells it; it reads no file",
	  &of_the_descriptor },
	{ "lseek", BOTH, "memory files; the database", NULL },
	{ "ftruncate", BOTH, "memory files; the database", NULL },
	{ "ioctl", BOTH, "number of bytes that wait; is it a terminal", &harmless_ioctl },

	{ "sendmsg", ALL, "messages with descriptors", NULL },
	{ "recvmsg", ALL, "messages with descriptors", NULL },
	{ "sendto", ALL, "messages, answers", NULL },
	{ "recvfrom", ALL, "messages, requests", NULL },
	{ "getsockopt", BOTH, "credentials of the other end; errors", NULL },
	{ "accept4", FRONT, "connections", NULL },
	{ "setsockopt", FRONT, "TCP_NODELAY and the like", &plain_option },
	{ "getsockname", FRONT, "address of a listening socket", NULL },
	{ "getpeername", FRONT, "address of a client", NULL },
	{ "shutdown", FRONT, "ends of connections", NULL },

	{ "epoll_create1", BOTH, "the loop", NULL },
	{ "epoll_ctl", BOTH, "the loop", NULL },
	{ "epoll_wait", BOTH, "the loop", NULL },
	{ "epoll_pwait", BOTH, "the loop, by newer C libraries", NULL },
	{ "poll", ALL, "waiting for one descriptor", NULL },
	{ "ppoll", ALL, "the same, by newer C libraries", NULL },
	{ "memfd_create", BOTH, "long messages are memory files", NULL },

	{ "brk", ALL, "memory", NULL },
	{ "mmap", ALL, "memory that is not executable", &not_executable },
	{ "mprotect", ALL, "memory that is not executable", &not_executable },
	{ "munmap", ALL, "memory", NULL },
	{ "mremap", BOTH, "memory", NULL },
	{ "madvise", BOTH, "memory", NULL },
	{ "prctl", BOTH, "the C library names its memory", &names_memory },
	{ "futex", ALL, "locks of the C library", NULL },
	{ "sched_yield", BOTH, "locks of the C library", NULL },
	{ "sysinfo", BOTH, "qsort looks up the size of the memory", NULL },

	{ "clock_gettime", ALL, "time, where the vdso does not have it", NULL },
	{ "gettimeofday", BOTH, "time, where the vdso does not have it", NULL },
	{ "time", BOTH, "time, where the vdso does not have it", NULL },
	{ "clock_nanosleep", LEDGER, "SQLite waits for a lock", NULL },
	{ "clock_nanosleep", BROKER, "the last processes of a group leave", NULL },
	{ "nanosleep", LEDGER, "SQLite waits for a lock", NULL },
	{ "nanosleep", BROKER, "the last processes of a group leave", NULL },
	{ "getrandom", BOTH, "ids, keys", NULL },

	{ "getpid", ALL, "SQLite's locks; abort()", NULL },
	{ "gettid", ALL, "abort()", NULL },
	{ "geteuid", ALL, "SQLite checks it before it changes an owner", NULL },
	{ "getuid", BOTH, "owner of the files", NULL },
	{ "tgkill", ALL, "abort()", &of_itself },
	{ "rt_sigaction", ALL, "abort()", NULL },
	{ "rt_sigprocmask", ALL, "abort()", NULL },
	{ "rt_sigreturn", ALL, "returns from a handler", NULL },
	{ "restart_syscall", ALL, "resumes a wait that was interrupted", NULL },
	{ "exit", ALL, "the end", NULL },
	{ "exit_group", ALL, "the end", NULL },

	/* Files: Landlock decides which ones. */
	{ "openat", LEDGER, "the database and its journal", NULL },
	{ "open", LEDGER, "the same, as SQLite spells it", NULL },
	{ "newfstatat", LEDGER, "is the file still the one that was opened", NULL },
	{ "stat", LEDGER, "the same, as SQLite spells it", NULL },
	{ "lstat", LEDGER, "SQLite resolves the database's name", NULL },
	{ "readlink", LEDGER, "SQLite resolves the database's name", NULL },
	{ "readlinkat", LEDGER, "SQLite resolves the database's name", NULL },
	{ "getcwd", LEDGER, "SQLite resolves the database's name", NULL },
	{ "access", LEDGER, "is there a journal to roll back", NULL },
	{ "faccessat", LEDGER, "the same", NULL },
	{ "faccessat2", LEDGER, "the same", NULL },
	{ "unlink", LEDGER, "the journal, when it is done", NULL },
	{ "unlinkat", LEDGER, "files that are out of date", NULL },
	{ "renameat2", LEDGER, "files that are published when complete", NULL },
	{ "renameat", LEDGER, "files that are published when complete", NULL },
	{ "linkat", LEDGER, "files that are published when complete", NULL },
	{ "mkdirat", LEDGER, "its directories", NULL },
	{ "getdents64", LEDGER, "its directories", NULL },
	{ "fchmod", LEDGER, "the journal has the database's mode", NULL },
	{ "fchown", LEDGER, "the journal has the database's owner", NULL },
	{ "fsync", LEDGER, "a reply means that the data is on the disk", NULL },
	{ "fdatasync", LEDGER, "a reply means that the data is on the disk", NULL },
	{ "fallocate", LEDGER, "room for the database", NULL },
	{ "flock", LEDGER, "its lock files", NULL },
	{ "fstatfs", LEDGER, "can this file system share memory", NULL },
	{ "statfs", LEDGER, "free space", NULL },

	/* For the broker. It opens only directories of groups, to empty them. */
	{ "fsopen", BROKER, "a file system for device nodes", NULL },
	{ "fsconfig", BROKER, "the same", NULL },
	{ "fsmount", BROKER, "the same", NULL },
	{ "mknodat", BROKER, "device nodes", NULL },
	{ "fchmodat", BROKER, "device nodes", NULL },
	{ "symlinkat", BROKER, "/dev/fd and the like", NULL },
	{ "mkdirat", BROKER, "/dev/shm", NULL },
	{ "newfstatat", BROKER, "owner of a file", &of_the_descriptor },
	{ "unlinkat", BROKER, "the warden's group, at the end", NULL },
	{ "openat", BROKER, "directories of the warden's group, at the end", &of_directories },
	{ "getdents64", BROKER, "the same", NULL },
};

const char *seal_call_reason(enum role_name role, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if ((calls[i].roles & (1u << role)) && strcmp(calls[i].name, name) == 0) {
			return calls[i].reason;
		}
	}
	return NULL;
}

static const struct allowed_call *find(enum role_name role, unsigned number)
{
	const char *name = syscall_name(number);

	for (size_t i = 0; name && i < ARRAY_SIZE(calls); i++) {
		if ((calls[i].roles & (1u << role)) && strcmp(calls[i].name, name) == 0) {
			return &calls[i];
		}
	}
	return NULL;
}

/* Every number has a rule, because a call without one would fail with ENOSYS. */
static unsigned make_rules(enum role_name role, const struct filter_test *itself,
			   struct filter_rule *rules)
{
	unsigned count = 0;

	for (unsigned number = 0; number < FILTER_CALLS_MAX; number++) {
		const struct allowed_call *call = find(role, number);
		if (call) {
			rules[count++] = (struct filter_rule){
				.call = (uint16_t)number,
				.action = FILTER_ALLOW,
				.tests = call->test == &of_itself ? itself : call->test,
				.tests_count = call->test ? 1 : 0,
				.reason = call->reason,
			};
		}
		if (!call || call->test) {
			rules[count++] = (struct filter_rule){ .call = (uint16_t)number,
							       .action = FILTER_KILL };
		}
	}
	return count;
}

int seal_calls(enum role_name role, struct brig_error *err)
{
	_cleanup_free_ struct filter_rule *rules = calloc(2 * FILTER_CALLS_MAX, sizeof(*rules));
	_cleanup_(bpf_program_done)
	struct bpf_program program = { 0 };
	uint64_t self = (uint64_t)getpid();
	struct filter_test itself = of_itself;

	if (!rules) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "system-call filter");
	}
	itself.values = &self;
	itself.values_count = 1;
	struct filter filter = { .rules = rules, .count = make_rules(role, &itself, rules) };
	int r = filter_compile(&filter, false, &program, err);
	if (r < 0) {
		return r;
	}
	struct sock_fprog code = { .len = (unsigned short)program.count, .filter = program.code };
	r = sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &code);
	return r < 0 ? error_errno(err, BRIG_E_HOST, -r, "cannot load the system-call filter") : 0;
}
