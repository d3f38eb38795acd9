/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints everything that a program can see of itself and its cell, a line "key: value" each, in a
 * fixed order. Values that depend on the host are printed unchanged; the test makes them
 * comparable. Static: it needs no file but itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

extern char **environ;

static char text[65536];

static const char *slurp(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1, size = 0;

	/* Synthetic files of /proc are read a page at a time. */
	while (n > 0) {
		n = read(fd, text + size, sizeof(text) - 1 - (size_t)size);
		size += n > 0 ? n : 0;
	}
	if (n < 0) {
		snprintf(text, sizeof(text), "%s\n", strerrorname_np(errno));
	} else {
		text[size] = '\0';
	}
	close(fd);
	return text;
}

/* Each line of a file, with a key in front. */
static void say_lines(const char *key, const char *path)
{
	char *save = NULL;

	slurp(path);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		printf("%s: %s\n", key, line);
	}
}

static void say_status(void)
{
	/* The fields that every kernel since 5.4 has; changing sizes and counts are left out. */
	static const char *const keys[] = {
		"Umask",  "Tgid",   "Pid",        "PPid",    "TracerPid", "Uid",     "Gid",
		"Groups", "NStgid", "NSpid",      "NSpgid",  "NSsid",     "Threads", "SigPnd",
		"ShdPnd", "SigBlk", "SigIgn",     "SigCgt",  "CapInh",    "CapPrm",  "CapEff",
		"CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
	};
	char *save = NULL;

	slurp("/proc/self/status");
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		for (size_t i = 0; i < LENGTH(keys); i++) {
			size_t n = strlen(keys[i]);
			if (strncmp(line, keys[i], n) == 0 && line[n] == ':') {
				printf("status %s\n", line);
			}
		}
	}
}

static void say_self_files(void)
{
	static const char *const names[] = { "uid_map",     "gid_map",       "setgroups",
					     "personality", "oom_score_adj", "coredump_filter",
					     "loginuid",    "sessionid",     "timerslack_ns" };
	char path[64];

	for (size_t i = 0; i < LENGTH(names); i++) {
		snprintf(path, sizeof(path), "/proc/self/%s", names[i]);
		char *value = (char *)(unsigned long)slurp(path);
		value[strcspn(value, "\n")] = '\0';
		printf("self %s: %s\n", names[i], value);
	}
}

static void say_namespaces(void)
{
	static const char *const names[] = { "cgroup",
					     "ipc",
					     "mnt",
					     "net",
					     "pid",
					     "time",
					     "user",
					     "uts",
					     "pid_for_children",
					     "time_for_children" };
	char path[64], link[64];

	for (size_t i = 0; i < LENGTH(names); i++) {
		snprintf(path, sizeof(path), "/proc/self/ns/%s", names[i]);
		ssize_t n = readlink(path, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		printf("ns %s: %s\n", names[i], n < 0 ? strerrorname_np(errno) : link);
	}
}

static void say_limits(void)
{
	static const char *const names[] = { "cpu",      "fsize", "data",   "stack",
					     "core",     "rss",   "nproc",  "nofile",
					     "memlock",  "as",    "locks",  "sigpending",
					     "msgqueue", "nice",  "rtprio", "rttime" };
	struct rlimit limit;

	for (unsigned i = 0; i < LENGTH(names); i++) {
		getrlimit((__rlimit_resource_t)i, &limit);
		printf("rlimit %s: %lld %lld\n", names[i], (long long)limit.rlim_cur,
		       (long long)limit.rlim_max);
	}
}

static void say_prctl(void)
{
	static const struct {
		const char *name;
		int option;
		unsigned long argument;
	} asked[] = {
		{ "no_new_privs", PR_GET_NO_NEW_PRIVS, 0 },
		{ "dumpable", PR_GET_DUMPABLE, 0 },
		{ "keepcaps", PR_GET_KEEPCAPS, 0 },
		{ "securebits", PR_GET_SECUREBITS, 0 },
		{ "seccomp", PR_GET_SECCOMP, 0 },
		{ "timing", PR_GET_TIMING, 0 },
		{ "timerslack", PR_GET_TIMERSLACK, 0 },
		{ "thp_disable", PR_GET_THP_DISABLE, 0 },
		{ "ambient sys_admin", PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET },
		{ "bounding sys_admin", PR_CAPBSET_READ, 21 },
	};

	for (size_t i = 0; i < LENGTH(asked); i++) {
		int r = prctl(asked[i].option, asked[i].argument,
			      asked[i].option == PR_CAP_AMBIENT ? 21 : 0, 0, 0);
		if (r < 0) {
			printf("prctl %s: %s\n", asked[i].name, strerrorname_np(errno));
		} else {
			printf("prctl %s: %#x\n", asked[i].name, (unsigned)r);
		}
	}
	int pdeathsig = -1, subreaper = -1;
	prctl(PR_GET_PDEATHSIG, &pdeathsig, 0, 0, 0);
	prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
	printf("prctl pdeathsig: %d\nprctl subreaper: %d\n", pdeathsig, subreaper);
}

static void say_signals(void)
{
	for (int i = 1; i < 65; i++) {
		struct sigaction action;
		if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL) {
			printf("signal %d: not default\n", i);
		}
	}
}

static void say_descriptors(void)
{
	for (int fd = 0; fd < 65536; fd++) {
		struct stat info;
		if (fstat(fd, &info) == 0) {
			printf("fd %d: type %o flags %#x descriptor %d\n", fd,
			       info.st_mode & S_IFMT, fcntl(fd, F_GETFL) & ~O_LARGEFILE,
			       fcntl(fd, F_GETFD));
		}
	}
}

static void say_environment(int argc, char **argv)
{
	char path[256];

	for (int i = 0; i < argc; i++) {
		printf("argv %d: %s\n", i, argv[i]);
	}
	for (char **word = environ; *word; word++) {
		printf("env: %s\n", *word);
	}
	printf("cwd: %s\n", getcwd(path, sizeof(path)) ? path : strerrorname_np(errno));
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = '\0';
	printf("exe: %s\n", path);
	printf("auxv: uid %lu euid %lu gid %lu egid %lu secure %lu execfn %s\n", getauxval(AT_UID),
	       getauxval(AT_EUID), getauxval(AT_GID), getauxval(AT_EGID), getauxval(AT_SECURE),
	       (const char *)getauxval(AT_EXECFN));
}

static void say_identity(void)
{
	uid_t r, e, s;
	gid_t groups[64];
	struct utsname names;
	cpu_set_t cpus;

	getresuid(&r, &e, &s);
	printf("uid: %u %u %u\n", r, e, s);
	getresgid(&r, &e, &s);
	printf("gid: %u %u %u\n", r, e, s);
	printf("groups: %d\n", getgroups(64, groups));
	printf("pid %d ppid %d pgid %d sid %d\n", getpid(), getppid(), getpgid(0), getsid(0));
	uname(&names);
	printf("uname sysname: %s\nuname nodename: %s\nuname release: %s\nuname version: %s\n"
	       "uname machine: %s\nuname domainname: %s\n",
	       names.sysname, names.nodename, names.release, names.version, names.machine,
	       names.domainname);
	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	printf("affinity: %d\n", CPU_COUNT(&cpus));
	printf("policy: %d nice: %d\n", sched_getscheduler(0), getpriority(PRIO_PROCESS, 0));
	int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
	printf("tty: %s\n", terminal < 0 ? strerrorname_np(errno) : "open");
	long ring = syscall(SYS_keyctl, 0, -3, 0);
	printf("session keyring: %s\n", ring < 0 ? strerrorname_np(errno) : "reachable");
}

static void say_clocks(void)
{
	struct timespec up, since;
	struct sysinfo info = { 0 };

	clock_gettime(CLOCK_BOOTTIME, &up);
	clock_gettime(CLOCK_MONOTONIC, &since);
	printf("boottime: %lld\nmonotonic: %lld\n", (long long)up.tv_sec, (long long)since.tv_sec);
	int r = sysinfo(&info);
	printf("sysinfo: %d uptime %ld ram %lu free %lu procs %u loads %lu swap %lu\n", r,
	       info.uptime, info.totalram * info.mem_unit, info.freeram * info.mem_unit, info.procs,
	       info.loads[0], info.totalswap);
}

static void say_network(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 1; i < 64; i++) {
		struct ifreq request = { .ifr_ifindex = i };
		if (ioctl(fd, SIOCGIFNAME, &request) == 0) {
			ioctl(fd, SIOCGIFFLAGS, &request);
			printf("interface %s: %s%s\n", request.ifr_name,
			       request.ifr_flags & IFF_UP ? "up" : "down",
			       request.ifr_flags & IFF_LOOPBACK ? " loopback" : "");
		}
	}
	close(fd);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static void say_tree(const char *path, int depth);

static void say_file(const char *path, int depth)
{
	struct stat info;
	char link[256];

	if (lstat(path, &info) < 0) {
		printf("file %s: %s\n", path, strerrorname_np(errno));
		return;
	}
	printf("file %s: %o %u:%u", path, info.st_mode, info.st_uid, info.st_gid);
	if (S_ISLNK(info.st_mode)) {
		ssize_t n = readlink(path, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = '\0';
		printf(" -> %s", link);
	}
	if (S_ISCHR(info.st_mode)) {
		printf(" device %x", (unsigned)info.st_rdev);
	}
	putchar('\n');
	if (S_ISREG(info.st_mode) && strncmp(path, "/sandbox", 8) != 0) {
		char key[4200];
		snprintf(key, sizeof(key), "content %s", path);
		say_lines(key, path);
	}
	if (S_ISDIR(info.st_mode) && depth > 0) {
		say_tree(path, depth - 1);
	}
}

static void say_tree(const char *path, int depth)
{
	struct dirent **entries;
	int count = scandir(path, &entries, not_dots, by_name);

	if (count < 0) {
		printf("dir %s: %s\n", path, strerrorname_np(errno));
		return;
	}
	for (int i = 0; i < count; i++) {
		char child[4096];
		snprintf(child, sizeof(child), "%s/%s", path[1] ? path : "", entries[i]->d_name);
		say_file(child, depth);
		free(entries[i]);
	}
	free(entries);
}

/* Synthetic places in full; the rest by name. */
static void say_files(void)
{
	static const char *const whole[] = { "/etc", "/dev", "/sys", "/mnt", "/sandbox", "/tmp" };
	static const char *const measured[] = { "/", "/sandbox", "/tmp", "/dev/shm" };

	say_tree("/", 0);
	for (size_t i = 0; i < LENGTH(whole); i++) {
		say_tree(whole[i], 8);
	}
	struct dirent **entries;
	int count = scandir("/proc", &entries, not_dots, by_name);
	for (int i = 0; i < count; i++) {
		printf("proc: %s\n", entries[i]->d_name);
		free(entries[i]);
	}
	for (size_t i = 0; i < LENGTH(measured); i++) {
		struct statvfs fs = { 0 };
		statvfs(measured[i], &fs);
		printf("space %s: %llu bytes %llu inodes\n", measured[i],
		       (unsigned long long)fs.f_blocks * fs.f_frsize,
		       (unsigned long long)fs.f_files);
	}
}

int main(int argc, char **argv)
{
	say_environment(argc, argv);
	say_descriptors();
	say_identity();
	say_status();
	say_self_files();
	say_namespaces();
	say_limits();
	say_prctl();
	say_signals();
	say_clocks();
	say_network();
	say_lines("cgroup", "/proc/self/cgroup");
	say_lines("mount", "/proc/self/mountinfo");
	/* On a host they are very many. */
	if (argc < 2 || strcmp(argv[1], "no-files") != 0) {
		say_files();
	}
	return 0;
}
