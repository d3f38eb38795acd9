/*
 * The program that a fault sweep runs: says SEALED only if every wall stands around it, and names
 * each one that does not. Static, and in need of nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static int holes;

static void expect(int holds, const char *what)
{
	if (!holds) {
		printf("HOLE %s\n", what);
		holes++;
	}
}

static void expect_status(const char *line)
{
	static char text[16384];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	close(fd);
	expect(strstr(text, line) != NULL, line);
}

int main(void)
{
	struct rlimit core;
	struct statvfs root;
	char name[64] = "";

	expect(getuid() == 1000 && getgid() == 1000, "uid 1000");
	expect(getpid() == 2 && getppid() == 1, "pid namespace");
	expect(getsid(0) == getpid(), "own session");
	expect_status("CapInh:\t0000000000000000");
	expect_status("CapPrm:\t0000000000000000");
	expect_status("CapEff:\t0000000000000000");
	expect_status("CapBnd:\t0000000000000000");
	expect_status("CapAmb:\t0000000000000000");
	expect_status("NoNewPrivs:\t1");
	expect_status("Seccomp:\t2");
	expect(access("/etc/shadow", F_OK) < 0 && access("/root", F_OK) < 0 &&
		       access("/home", F_OK) < 0, "own root");
	expect(statvfs("/", &root) == 0 && (root.f_flag & ST_RDONLY), "read-only root");
	expect(open("/new", O_CREAT | O_WRONLY, 0600) < 0, "no write at the root");
	expect(gethostname(name, sizeof(name)) == 0 && strcmp(name, "brig") == 0, "hostname");
	expect(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max <= 1, "no core dumps");
	expect(syscall(SYS_unshare, 0x10000000) < 0, "no user namespaces");
	expect(syscall(SYS_ptrace, 0, 0, 0, 0) < 0, "no ptrace");
	expect(prctl(PR_GET_SECUREBITS) == 0xef, "securebits locked");
	for (int fd = 3; fd < 1024; fd++) {
		expect(fcntl(fd, F_GETFD) < 0, "no descriptors but 0, 1, 2");
	}
	puts(holes ? "HALF-SEALED" : "SEALED");
	return holes != 0;
}
