/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that a fault sweep runs: prints SEALED only if every wall is in place, and names each
 * one that is not. Needs nothing but, where it is linked so, the C library.
 *
 * usage: sealed [local] [landlock] [copy=FILE] [NAME=NS...], with the host's own namespaces
 * ("net=net:[4026531833]"). As a compiler it leaves a copy of itself in FILE, if it is sealed. In
 * local mode there are no walls; the guarantees of that mode are checked instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define UPTIME_MOST_S 60

static int holes;

static void expect(int holds, const char *what)
{
	if (!holds) {
		printf("HOLE %s\n", what);
		holes++;
	}
}

static void expect_status(const char *const *lines, size_t count)
{
	static char text[16384];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
	for (size_t i = 0; i < count; i++) {
		expect(strstr(text, lines[i]) != NULL, lines[i]);
	}
}

/* No state of brig's own process is inherited. */
static void expect_tidy(void)
{
	expect(getsid(0) == getpid(), "own session");
	expect(umask(022) == 022, "umask");
	for (int fd = 3; fd < 256; fd++) {
		expect(fcntl(fd, F_GETFD) < 0, "no descriptors but 0, 1, 2");
	}
}

static void expect_credentials(void)
{
	static const char *const lines[] = {
		"CapInh:\t0000000000000000",
		"CapPrm:\t0000000000000000",
		"CapEff:\t0000000000000000",
		"CapBnd:\t0000000000000000",
		"CapAmb:\t0000000000000000",
		"NoNewPrivs:\t1",
		"Seccomp:\t2",
		"SigBlk:\t0000000000000000",
		"SigIgn:\t0000000000000000",
	};

	expect_status(lines, sizeof(lines) / sizeof(lines[0]));
	expect(getuid() == 1000 && getgid() == 1000, "uid 1000");
	expect(prctl(PR_GET_SECUREBITS) == 0xef, "securebits locked");
}

static unsigned long flags_of(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) == 0 ? fs.f_flag : 0;
}

static void expect_files(void)
{
	char cwd[64] = "";

	expect(access("/etc/shadow", F_OK) < 0 && access("/root", F_OK) < 0 &&
		       access("/home", F_OK) < 0,
	       "own root");
	expect(flags_of("/") & ST_RDONLY, "read-only root");
	expect(open("/new", O_CREAT | O_WRONLY, 0600) < 0, "no write at the root");
	expect(flags_of("/sandbox") & ST_NOSUID, "/sandbox nosuid");
	expect(flags_of("/tmp") & ST_NODEV, "/tmp nodev");
	expect(flags_of("/dev/shm") & ST_NOEXEC, "/dev/shm noexec");
	expect(access("/proc/1", F_OK) < 0, "pid 1 hidden");
	expect(access("/proc/uptime", F_OK) < 0, "no host facts in /proc");
	expect(getcwd(cwd, sizeof(cwd)) && strcmp(cwd, "/sandbox") == 0, "cwd");
	expect_tidy();
}

static void expect_limit(int resource, rlim_t most, const char *what)
{
	struct rlimit limit;

	expect(getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_max <= most,
	       what);
}

static void expect_limits(void)
{
	/* 1, not 0, is the value that also stops a core_pattern with a pipe. */
	expect_limit(RLIMIT_CORE, 1, "no core dumps");
	expect_limit(RLIMIT_NOFILE, 256, "few files");
	expect_limit(RLIMIT_FSIZE, 64 << 20, "small files");
	expect_limit(RLIMIT_CPU, 60, "cpu");
	expect_limit(RLIMIT_MEMLOCK, 65536, "memlock");
	expect_limit(RLIMIT_NPROC, 128, "few processes");
	expect_limit(RLIMIT_NICE, 0, "nice");
	expect_limit(RLIMIT_RTPRIO, 0, "rtprio");
}

static void expect_namespace(const char *word)
{
	char path[64], here[64];
	const char *equals = strchr(word, '=');

	snprintf(path, sizeof(path), "/proc/self/ns/%.*s", (int)(equals - word), word);
	ssize_t n = readlink(path, here, sizeof(here) - 1);
	here[n > 0 ? n : 0] = '\0';
	expect(n > 0 && strcmp(here, equals + 1) != 0, path);
}

static void expect_calls(void)
{
	struct timespec up = { .tv_sec = UPTIME_MOST_S };
	char name[64] = "";

	expect(getpid() < 10 && getppid() == 1, "pid namespace");
	expect(gethostname(name, sizeof(name)) == 0 && strcmp(name, "brig") == 0, "hostname");
	expect(clock_gettime(CLOCK_BOOTTIME, &up) == 0 && up.tv_sec < UPTIME_MOST_S, "uptime");
	expect(syscall(SYS_unshare, 0x10000000) < 0, "no user namespaces");
	expect(syscall(SYS_ptrace, 0, 0, 0, 0) < 0, "no ptrace");
}

/*
 * An ordinary user's namespace cannot drop the caller's groups. The caller's own has a number in
 * the cell; the others show as the overflow id.
 */
static void expect_groups(const char *most)
{
	gid_t groups[64];
	int count = getgroups(64, groups);

	expect(count >= 0 && count <= atoi(most), "number of groups");
	for (int i = 0; i < count; i++) {
		expect(groups[i] == 1000 || groups[i] == 65534, "no group of the host");
	}
}

/* A device may be read and written, not controlled: only Landlock denies this right. */
static void expect_landlock(void)
{
	struct termios terminal;
	int fd = open("/dev/null", O_RDWR);

	expect(fd >= 0 && ioctl(fd, TCGETS, &terminal) < 0 && errno == EACCES, "landlock");
	close(fd);
}

/* A run of trusted local mode: tidy, bounded, and in a directory of its own. */
static void expect_local(void)
{
	static const char *const lines[] = { "SigBlk:\t0000000000000000",
					     "SigIgn:\t0000000000000000" };
	char cwd[512] = "";

	expect_status(lines, sizeof(lines) / sizeof(lines[0]));
	expect_tidy();
	expect(getcwd(cwd, sizeof(cwd)) && strstr(cwd, "/brig-run-"), "cwd");
	expect(access("data", R_OK) == 0, "input");
	expect_limit(RLIMIT_CORE, 1, "no core dumps");
	expect_limit(RLIMIT_NOFILE, 256, "few files");
	expect_limit(RLIMIT_FSIZE, 64 << 20, "small files");
	expect_limit(RLIMIT_CPU, 60, "cpu");
}

static void expect_cell(void)
{
	expect_files();
	expect_credentials();
	expect_limits();
	expect_calls();
}

/* By the name under which it was started. */
static void copy(const char *from, const char *to)
{
	char chunk[16384];
	ssize_t n;
	int in = open(from, O_RDONLY);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);

	while ((n = read(in, chunk, sizeof(chunk))) > 0) {
		expect(write(out, chunk, (size_t)n) == n, "copy");
	}
	expect(n == 0 && in >= 0 && out >= 0, "copy");
}

int main(int argc, char **argv)
{
	const char *target = NULL;

	if (argc > 1 && strcmp(argv[1], "local") == 0) {
		expect_local();
	} else {
		expect_cell();
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "landlock") == 0) {
			expect_landlock();
		} else if (strncmp(argv[i], "copy=", 5) == 0) {
			target = argv[i] + 5;
		} else if (strncmp(argv[i], "groups=", 7) == 0) {
			expect_groups(argv[i] + 7);
		} else if (strchr(argv[i], '=')) {
			expect_namespace(argv[i]);
		}
	}
	if (target && !holes) {
		copy(argv[0], target);
	}
	puts(holes ? "HALF-SEALED" : "SEALED");
	return holes != 0;
}
