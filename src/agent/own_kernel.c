/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work for an agent that is root: of a virtual machine, or of a container that starts as root. It
 * is done only when brig asks for it, and fails where the agent is an ordinary user.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "base/reseed.h"

#define PAGE_BYTES 4096u
#define NOBODY     65534u

/* --- capabilities ----------------------------------------------------------------------------- */

static int give_up(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { { 0 }, { 0 } };
	unsigned long cap = 0;

	while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0) {
		cap++;
	}
	/* EINVAL: it is the number after the last one. */
	if (errno != EINVAL || cap == 0 || syscall(SYS_capget, &head, sets) < 0) {
		return -errno;
	}
	uint32_t kept = sets[0].permitted & CAP_TO_MASK(CAP_NET_ADMIN);
	sets[0] = (struct __user_cap_data_struct){ .effective = kept, .permitted = kept };
	sets[1] = (struct __user_cap_data_struct){ 0 };
	return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}

int own_places(char *const *paths)
{
	for (; *paths; paths++) {
		if (chown(*paths, NOBODY, NOBODY) < 0 && errno != ENOENT) {
			return -errno;
		}
	}
	return give_up();
}

/* --- the clock and random numbers ------------------------------------------------------------- */

int own_clock(struct agent *agent, const unsigned char *data, size_t size)
{
	uint64_t now = frame_get_u64(data);
	const struct timespec time = { .tv_sec = (time_t)(now / 1000000000u),
				       .tv_nsec = (long)(now % 1000000000u) };

	(void)agent;
	(void)size;
	return clock_settime(CLOCK_REALTIME, &time) < 0 ? -errno : 0;
}

int own_entropy(struct agent *agent, const unsigned char *data, size_t size)
{
	(void)agent;
	return reseed_kernel(data, size);
}

/* --- the writable places ---------------------------------------------------------------------- */

static int make_place(const char *path, mode_t mode, const struct frame_work *work)
{
	if (mkdir(path, 0700) < 0 || chown(path, work->user, work->group) < 0 ||
	    chmod(path, mode) < 0) {
		return -errno;
	}
	return 0;
}

static int bind_place(const char *from, const char *to, bool exec)
{
	unsigned long flags = MS_NOSUID | MS_NODEV | (exec ? 0 : MS_NOEXEC);

	if (mount(from, to, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | flags, NULL) < 0) {
		return -errno;
	}
	return 0;
}

/* One tmpfs, so that one limit covers all of them; /sandbox is the last, and covers the whole. */
int own_work(struct agent *agent, const unsigned char *data, size_t size)
{
	static const struct {
		const char *path, *place;
		mode_t mode;
		bool exec; /* if brig allows it */
	} places[] = { { "/sandbox/tmp", "/tmp", 01777, true },
		       { "/sandbox/shm", "/dev/shm", 01777, false },
		       { "/sandbox/sandbox", "/sandbox", 0700, true } };
	struct frame_work work;
	char options[96];
	int r = 0;

	(void)agent;
	(void)size;
	frame_get_work(data, &work);
	/* The root, the three places and /sandbox/out are inodes too. */
	snprintf(options, sizeof(options), "mode=0755,size=%" PRIu64 ",nr_inodes=%" PRIu64,
		 (work.bounds.bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES,
		 work.bounds.inodes + ARRAY_SIZE(places) + 2);
	if (mount("brig", "/sandbox", "tmpfs", MS_NOSUID | MS_NODEV, options) < 0) {
		return -errno;
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		r = make_place(places[i].path, places[i].mode, &work);
	}
	r = r < 0 ? r : make_place("/sandbox/sandbox/out", 0700, &work);
	if (r == 0 && mkdir("/dev/shm", 0755) < 0 && errno != EEXIST) {
		r = -errno;
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		r = bind_place(places[i].path, places[i].place, places[i].exec && work.exec == 1);
	}
	return r;
}
