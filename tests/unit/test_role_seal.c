/* SPDX-License-Identifier: Apache-2.0 */
/* The privileges that roles give up: as the kernel reports them, and by calls that then fail. */
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel/filter/filter.h"
#include "kernel/landlock.h"
#include "role/seal.h"

#define SEAL_FAILED 99

struct child {
	pid_t pid;
	int go;   /* written to: the child goes on */
	int said; /* read from: the child is sealed */
	char directory[32];
};

/*
 * A child that seals itself as the role, reports it, waits, does `act` and exits with its result.
 */
static struct child start(enum role_name role, int (*act)(void))
{
	struct child child = { .directory = "/tmp/brig-seal-XXXXXX" };
	int go[2], said[2];

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(said, O_CLOEXEC), 0);
	assert_non_null(mkdtemp(child.directory));
	assert_int_equal(chown(child.directory, seal_id(role), seal_id(role)), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		int dir = open(child.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct seal_options options = { .role = role,
						.directory = role == ROLE_LEDGER ? dir : -1,
						.open_files = 64,
						.supervisor = getppid(),
						.broker = -1 };
		struct seal_report report;
		struct brig_error error = { 0 };
		char byte = 's';

		if (chdir(child.directory) < 0 || seal_apply(&options, &report, &error) < 0) {
			fprintf(stderr, "%s\n", error.message);
			_exit(SEAL_FAILED);
		}
		if (write(said[1], &byte, 1) != 1 || read(go[0], &byte, 1) != 1) {
			_exit(SEAL_FAILED);
		}
		_exit(act());
	}
	close(go[0]);
	close(said[1]);
	child.go = go[1];
	child.said = said[0];
	char byte;
	assert_int_equal(read(child.said, &byte, 1), 1);
	return child;
}

static int finish(struct child *child)
{
	int status;

	assert_int_equal(write(child->go, "g", 1), 1);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	close(child->go);
	close(child->said);
	char path[64];
	snprintf(path, sizeof(path), "%s/file", child->directory);
	unlink(path);
	assert_int_equal(rmdir(child->directory), 0);
	return status;
}

static int nothing(void)
{
	return 0;
}

/* The rest of a line of /proc/PID/status. */
static void status_of(pid_t pid, const char *key, char value[128])
{
	char path[64], line[512];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	value[0] = '\0';
	while (fgets(line, sizeof(line), file)) {
		size_t size = strlen(key);
		if (strncmp(line, key, size) == 0 && line[size] == ':') {
			snprintf(value, 128, "%.127s", line + size + 2);
			value[strcspn(value, "\n")] = '\0';
		}
	}
	fclose(file);
}

static void assert_status(pid_t pid, const char *key, const char *expected)
{
	char value[128];

	status_of(pid, key, value);
	assert_string_equal(value, expected);
}

static void assert_ids(pid_t pid, enum role_name role)
{
	char expected[128];
	uid_t id = seal_id(role);

	snprintf(expected, sizeof(expected), "%u\t%u\t%u\t%u", id, id, id, id);
	assert_status(pid, "Uid", expected);
	if (geteuid() == 0) {
		assert_status(pid, "Gid", expected);
		assert_status(pid, "Groups", " ");
	}
}

static bool shares_network(pid_t pid)
{
	char path[64];
	struct stat mine, theirs;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	assert_int_equal(stat("/proc/self/ns/net", &mine), 0);
	/* Only root can read it of a process that is not dumpable. */
	return stat(path, &theirs) == 0 && mine.st_ino == theirs.st_ino;
}

static void assert_limit(pid_t pid, const char *name, unsigned expected)
{
	char path[64], line[256];
	unsigned soft, hard, found = 0;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		size_t size = strlen(name);
		if (strncmp(line, name, size) == 0) {
			assert_int_equal(sscanf(line + size, "%u %u", &soft, &hard), 2);
			assert_int_equal(soft, expected);
			assert_int_equal(hard, expected);
			found++;
		}
	}
	fclose(file);
	assert_int_equal(found, 1);
}

static void assert_sealed(enum role_name role)
{
	struct child child = start(role, nothing);

	assert_status(child.pid, "NoNewPrivs", "1");
	assert_status(child.pid, "Seccomp", "2");
	assert_status(child.pid, "CapPrm", "0000000000000000");
	assert_status(child.pid, "CapEff", "0000000000000000");
	assert_status(child.pid, "CapInh", "0000000000000000");
	assert_status(child.pid, "CapAmb", "0000000000000000");
	if (geteuid() == 0) {
		assert_status(child.pid, "CapBnd", "0000000000000000");
	}
	assert_ids(child.pid, role);
	assert_false(shares_network(child.pid));
	assert_limit(child.pid, "Max core file size", 1);
	assert_limit(child.pid, "Max processes", 0);
	assert_int_equal(finish(&child), 0);
}

static void front_is_sealed(void **state)
{
	(void)state;
	assert_sealed(ROLE_FRONT);
}

static void ledger_is_sealed(void **state)
{
	(void)state;
	assert_sealed(ROLE_LEDGER);
}

static int fork_works(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid ? 0 : 1;
}

/* The list at the top of seal.c about the warden is complete. */
static void warden_keeps_what_cells_need(void **state)
{
	char mine[128];

	(void)state;
	struct child child = start(ROLE_WARDEN, fork_works);
	assert_status(child.pid, "NoNewPrivs", "1");
	status_of(getpid(), "Seccomp", mine);
	assert_status(child.pid, "Seccomp", mine);
	status_of(getpid(), "CapEff", mine);
	assert_status(child.pid, "CapEff", mine);
	assert_int_equal(finish(&child), 0);
}

/* --- calls that kill ---------------------------------------------------------------------- */

static int do_fork(void)
{
	return (int)syscall(SYS_fork) < 0;
}

static int do_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) < 0;
}

static int do_exec(void)
{
	char *argv[] = { NULL };
	return execve("/bin/true", argv, argv);
}

static int do_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0;
}

static int do_ptrace(void)
{
	return syscall(SYS_ptrace, 0, 0, 0, 0) < 0;
}

static int do_executable(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

static int do_protect(void)
{
	static char page[8192] __attribute__((aligned(4096)));
	return mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) < 0;
}

static int do_prctl(void)
{
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0;
}

static int do_unknown(void)
{
	return syscall(1000) < 0;
}

static int do_kill(void)
{
	return kill(getppid(), 0) < 0;
}

/* Processes with the same id could be killed this way: with root's id, every process of root. */
static int do_kill_thread(void)
{
	return syscall(SYS_tgkill, getppid(), getppid(), 0) < 0;
}

static int do_upgrade_socket(void)
{
	return setsockopt(0, IPPROTO_TCP, TCP_ULP, "tls", 3) < 0;
}

static int do_attach_filter(void)
{
	return setsockopt(0, SOL_SOCKET, SO_ATTACH_FILTER, "", 0) < 0;
}

static int do_abort(void)
{
	abort();
}

static void assert_killed(enum role_name role, int (*act)(void))
{
	struct child child = start(role, act);
	int status = finish(&child);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static void forbidden_calls_kill(void **state)
{
	int (*const acts[])(void) = {
		do_fork,  do_socket,  do_exec, do_ptrace,      do_executable,     do_protect,
		do_prctl, do_unknown, do_kill, do_kill_thread, do_upgrade_socket, do_attach_filter,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		assert_killed(ROLE_FRONT, acts[i]);
		assert_killed(ROLE_LEDGER, acts[i]);
	}
	assert_killed(ROLE_FRONT, do_open);
}

/* It may signal itself: a failed assertion must be visible as one. */
static void abort_is_seen(void **state)
{
	(void)state;
	for (int role = ROLE_FRONT; role <= ROLE_LEDGER; role++) {
		if (role != ROLE_WARDEN) {
			struct child child = start((enum role_name)role, do_abort);
			int status = finish(&child);
			assert_true(WIFSIGNALED(status));
			assert_int_equal(WTERMSIG(status), SIGABRT);
		}
	}
}

static int do_ledger_files(void)
{
	int fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) < 0) {
		return 1;
	}
	close(fd);
	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0) {
		return 2;
	}
	return errno == EACCES ? 0 : 3;
}

static void ledger_has_its_directory(void **state)
{
	(void)state;
	if (landlock_abi() <= 0) {
		print_message("this kernel has no Landlock\n");
		skip();
	}
	struct child child = start(ROLE_LEDGER, do_ledger_files);
	assert_int_equal(finish(&child), 0);
}

static int do_allowed(void)
{
	int fd = (int)syscall(SYS_memfd_create, "m", 2u);
	void *memory = malloc(1 << 20);

	if (fd < 0 || !memory || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0) {
		return 1;
	}
	memset(memory, 1, 1 << 20);
	free(memory);
	return close(fd);
}

static void allowed_calls_work(void **state)
{
	(void)state;
	struct child child = start(ROLE_FRONT, do_allowed);
	assert_int_equal(finish(&child), 0);
}

/* A name that is not a system call would be a line without effect. */
static void every_line_has_a_reason(void **state)
{
	(void)state;
	for (int role = 0; role < ROLE_COUNT; role++) {
		for (int kind = 0; kind < SEAL_KINDS; kind++) {
			if (seal_wanted(role, kind)) {
				assert_non_null(seal_reason(role, kind));
			}
		}
	}
	assert_non_null(seal_call_reason(ROLE_FRONT, "accept4"));
	assert_null(seal_call_reason(ROLE_LEDGER, "accept4"));
	assert_null(seal_call_reason(ROLE_FRONT, "openat"));
	assert_null(seal_call_reason(ROLE_FRONT, "socket"));
	assert_true(syscall_number("accept4") >= 0);
}

/* A sanitizer makes calls of its own at a process's end, which no role may make. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

int main(void)
{
	const struct CMUnitTest always[] = {
		cmocka_unit_test(warden_keeps_what_cells_need),
		cmocka_unit_test(forbidden_calls_kill),
		cmocka_unit_test(every_line_has_a_reason),
	};
	const struct CMUnitTest plain[] = {
		cmocka_unit_test(front_is_sealed),
		cmocka_unit_test(ledger_is_sealed),
		cmocka_unit_test(ledger_has_its_directory),
		cmocka_unit_test(allowed_calls_work),
		cmocka_unit_test(abort_is_seen),
	};
	int failed = cmocka_run_group_tests(always, NULL, NULL);

	return failed + (SANITIZED ? 0 : cmocka_run_group_tests(plain, NULL, NULL));
}
