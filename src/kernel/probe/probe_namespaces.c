/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the namespaces: making one proves little, so each is used for its purpose. */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/probe/probe_internal.h"
#include "kernel/sys.h"

static int write_self(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* The payload's own namespace inside the set-up's, as step "userns.inner" makes it. */
int probe_nested_userns(const struct probe_attempt *attempt, struct probe_note *note)
{
	const char *map = attempt->first_id ? "1000 1 1\n" : "1000 0 1\n";
	const struct {
		const char *step, *path, *text;
	} files[] = {
		{ "inner setgroups", "/proc/self/setgroups", "deny" },
		{ "inner uid_map", "/proc/self/uid_map", map },
		{ "inner gid_map", "/proc/self/gid_map", map },
	};

	if (attempt->first_id && (setresgid(1, 1, 1) < 0 || setresuid(1, 1, 1) < 0)) {
		return probe_step(note, "take the program's id", -errno);
	}
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) {
		return probe_step(note, "prctl", -errno);
	}
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		return probe_step(note, "second user namespace", -errno);
	}
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int r = probe_step(note, files[i].step, write_self(files[i].path, files[i].text));
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int probe_pid_one(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	return probe_step(note, "being pid 1", getpid() == 1 ? 0 : -ESRCH);
}

int probe_loopback(const struct probe_attempt *attempt, struct probe_note *note)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)attempt;
	if (fd < 0) {
		return errno == EAFNOSUPPORT ? 0 : probe_step(note, "socket", -errno);
	}
	return probe_step(note, "bring the loopback up",
			  ioctl(fd, SIOCSIFFLAGS, &request) < 0 ? -errno : 0);
}

int probe_hostname(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	if (sethostname("brig", 4) < 0) {
		return probe_step(note, "sethostname", -errno);
	}
	return probe_step(note, "setdomainname", setdomainname("(none)", 6) < 0 ? -errno : 0);
}

int probe_time(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	if (unshare(CLONE_NEWTIME) < 0) {
		return probe_step(note, "unshare", -errno);
	}
	/* /proc/self is ours only while we are dumpable (proc(5)), which a change of ids ends. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) {
		return probe_step(note, "prctl", -errno);
	}
	/* A day ahead is the same write as a cell's, without formatting a number. */
	return probe_step(
		note, "write timens_offsets",
		write_self("/proc/self/timens_offsets", "monotonic 86400 0\nboottime 86400 0\n"));
}
