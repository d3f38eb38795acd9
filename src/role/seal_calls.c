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
#include "kernel/filter/filter_seal.h"
#include "role/seal.h"

#define FRONT  (1u << ROLE_FRONT)
#define LEDGER (1u << ROLE_LEDGER)
#define BROKER (1u << ROLE_BROKER)
#define BOTH   (FRONT | LEDGER)
#define ALL    (BOTH | BROKER)

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

static const struct sealed_call calls[] = {
	{ "read", ALL, "sockets, signalfd, files", NULL, 0 },
	{ "write", ALL, "sockets, the log, files", NULL, 0 },
	{ "readv", BOTH, "sockets", NULL, 0 },
	{ "writev", ALL, "sockets; the C library's abort message", NULL, 0 },
	{ "pread64", BOTH, "memory files; pages of the database", NULL, 0 },
	{ "pwrite64", BOTH, "memory files; pages of the database", NULL, 0 },
	{ "close", ALL, "descriptors", NULL, 0 },
	{ "fcntl", FRONT, "flags, copies and seals of descriptors", &of_descriptors, 0 },
	{ "fcntl", BROKER, "the same", &of_descriptors, 0 },
	{ "fcntl", LEDGER, "the same, and SQLite's locks", NULL, 0 },
	{ "fstat", ALL, "the kind of a descriptor", NULL, 0 },
	{ "newfstatat", FRONT, "the same, as the C library spells it; it reads no file",
	  &of_the_descriptor, 0 },
	{ "lseek", BOTH, "memory files; the database", NULL, 0 },
	{ "ftruncate", BOTH, "memory files; the database", NULL, 0 },
	{ "ioctl", BOTH, "number of bytes that wait; is it a terminal", &harmless_ioctl, 0 },

	{ "sendmsg", ALL, "messages with descriptors", NULL, 0 },
	{ "recvmsg", ALL, "messages with descriptors", NULL, 0 },
	{ "sendto", ALL, "messages, answers", NULL, 0 },
	{ "recvfrom", ALL, "messages, requests", NULL, 0 },
	{ "getsockopt", BOTH, "credentials of the other end; errors", NULL, 0 },
	{ "accept4", FRONT, "connections", NULL, 0 },
	{ "setsockopt", FRONT, "TCP_NODELAY and the like", &plain_option, 0 },
	{ "getsockname", FRONT, "address of a listening socket", NULL, 0 },
	{ "getpeername", FRONT, "address of a client", NULL, 0 },
	{ "shutdown", FRONT, "ends of connections", NULL, 0 },

	{ "epoll_create1", BOTH, "the loop", NULL, 0 },
	{ "epoll_ctl", BOTH, "the loop", NULL, 0 },
	{ "epoll_wait", BOTH, "the loop", NULL, 0 },
	{ "epoll_pwait", BOTH, "the loop, by newer C libraries", NULL, 0 },
	{ "poll", ALL, "waiting for one descriptor", NULL, 0 },
	{ "ppoll", ALL, "the same, by newer C libraries", NULL, 0 },
	{ "memfd_create", BOTH, "long messages are memory files", NULL, 0 },

	{ "brk", ALL, "memory", NULL, 0 },
	{ "mmap", ALL, "memory that is not executable", &seal_not_executable, 0 },
	{ "mprotect", ALL, "memory that is not executable", &seal_not_executable, 0 },
	{ "munmap", ALL, "memory", NULL, 0 },
	{ "mremap", BOTH, "memory", NULL, 0 },
	{ "madvise", BOTH, "memory", NULL, 0 },
	{ "prctl", BOTH, "the C library names its memory", &seal_names_memory, 0 },
	{ "futex", ALL, "locks of the C library", NULL, 0 },
	{ "sched_yield", BOTH, "locks of the C library", NULL, 0 },
	{ "sysinfo", BOTH, "qsort looks up the size of the memory", NULL, 0 },

	{ "clock_gettime", ALL, "time, where the vdso does not have it", NULL, 0 },
	{ "gettimeofday", BOTH, "time, where the vdso does not have it", NULL, 0 },
	{ "time", BOTH, "time, where the vdso does not have it", NULL, 0 },
	{ "clock_nanosleep", LEDGER, "SQLite waits for a lock", NULL, 0 },
	{ "clock_nanosleep", BROKER, "the last processes of a group leave", NULL, 0 },
	{ "nanosleep", LEDGER, "SQLite waits for a lock", NULL, 0 },
	{ "nanosleep", BROKER, "the last processes of a group leave", NULL, 0 },
	{ "getrandom", BOTH, "ids, keys", NULL, 0 },

	{ "getpid", ALL, "SQLite's locks; abort()", NULL, 0 },
	{ "gettid", ALL, "abort()", NULL, 0 },
	{ "geteuid", ALL, "SQLite checks it before it changes an owner", NULL, 0 },
	{ "getuid", BOTH, "owner of the files", NULL, 0 },
	{ "tgkill", ALL, "abort()", &seal_of_itself, 0 },
	{ "rt_sigaction", ALL, "abort()", NULL, 0 },
	{ "rt_sigprocmask", ALL, "abort()", NULL, 0 },
	{ "rt_sigreturn", ALL, "returns from a handler", NULL, 0 },
	{ "restart_syscall", ALL, "resumes a wait that was interrupted", NULL, 0 },
	{ "exit", ALL, "the end", NULL, 0 },
	{ "exit_group", ALL, "the end", NULL, 0 },

	/* Files: Landlock decides which ones. */
	{ "openat", LEDGER, "the database and its journal", NULL, 0 },
	{ "open", LEDGER, "the same, as SQLite spells it", NULL, 0 },
	{ "newfstatat", LEDGER, "is the file still the one that was opened", NULL, 0 },
	{ "stat", LEDGER, "the same, as SQLite spells it", NULL, 0 },
	{ "lstat", LEDGER, "SQLite resolves the database's name", NULL, 0 },
	{ "readlink", LEDGER, "SQLite resolves the database's name", NULL, 0 },
	{ "readlinkat", LEDGER, "SQLite resolves the database's name", NULL, 0 },
	{ "getcwd", LEDGER, "SQLite resolves the database's name", NULL, 0 },
	{ "access", LEDGER, "is there a journal to roll back", NULL, 0 },
	{ "faccessat", LEDGER, "the same", NULL, 0 },
	{ "faccessat2", LEDGER, "the same", NULL, 0 },
	{ "unlink", LEDGER, "the journal, when it is done", NULL, 0 },
	{ "unlinkat", LEDGER, "files that are out of date", NULL, 0 },
	{ "renameat2", LEDGER, "files that are published when complete", NULL, 0 },
	{ "renameat", LEDGER, "files that are published when complete", NULL, 0 },
	{ "linkat", LEDGER, "files that are published when complete", NULL, 0 },
	{ "mkdirat", LEDGER, "its directories", NULL, 0 },
	{ "getdents64", LEDGER, "its directories", NULL, 0 },
	{ "fchmod", LEDGER, "the journal has the database's mode", NULL, 0 },
	{ "fchown", LEDGER, "the journal has the database's owner", NULL, 0 },
	{ "fsync", LEDGER, "a reply means that the data is on the disk", NULL, 0 },
	{ "fdatasync", LEDGER, "a reply means that the data is on the disk", NULL, 0 },
	{ "fallocate", LEDGER, "room for the database", NULL, 0 },
	{ "flock", LEDGER, "its lock files", NULL, 0 },
	{ "fstatfs", LEDGER, "can this file system share memory", NULL, 0 },
	{ "statfs", LEDGER, "free space", NULL, 0 },

	/* For the broker. It opens only directories of groups, to empty them. */
	{ "fsopen", BROKER, "a file system for device nodes", NULL, 0 },
	{ "fsconfig", BROKER, "the same", NULL, 0 },
	{ "fsmount", BROKER, "the same", NULL, 0 },
	{ "mknodat", BROKER, "device nodes", NULL, 0 },
	{ "fchmodat", BROKER, "device nodes", NULL, 0 },
	{ "symlinkat", BROKER, "/dev/fd and the like", NULL, 0 },
	{ "mkdirat", BROKER, "/dev/shm", NULL, 0 },
	{ "newfstatat", BROKER, "owner of a file", &of_the_descriptor, 0 },
	{ "unlinkat", BROKER, "the warden's group, at the end", NULL, 0 },
	{ "openat", BROKER, "directories of the warden's group, at the end", &of_directories, 0 },
	{ "getdents64", BROKER, "the same", NULL, 0 },
};

const char *seal_call_reason(enum role_name role, const char *name)
{
	const struct sealed_call *call =
		sealed_call_find(calls, ARRAY_SIZE(calls), 1u << role, name);

	return call ? call->reason : NULL;
}

int seal_calls(enum role_name role, struct brig_error *err)
{
	return filter_seal(calls, ARRAY_SIZE(calls), 1u << role, err);
}
