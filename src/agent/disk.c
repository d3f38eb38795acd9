/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the writable places is used: by samples, since the program has begun. */
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "agent/agent.h"
#include "base/cleanup.h"

/* Adds a place, unless it is on a file system that was counted. */
static void add_place(const char *path, dev_t seen[], size_t *count, struct frame_bounds *used,
		      uint32_t *full)
{
	struct stat info;
	struct statfs fs;

	if (stat(path, &info) < 0 || statfs(path, &fs) < 0 || fs.f_type != TMPFS_MAGIC) {
		return;
	}
	for (size_t i = 0; i < *count; i++) {
		if (seen[i] == info.st_dev) {
			return;
		}
	}
	seen[(*count)++] = info.st_dev;
	used->bytes += (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	used->inodes += fs.f_files - fs.f_ffree;
	/* Without a limit all figures are zero. */
	*full |= fs.f_blocks > 0 && fs.f_bfree == 0 ? FRAME_DISK_FULL : 0;
	*full |= fs.f_files > 0 && fs.f_ffree == 0 ? FRAME_INODES_FULL : 0;
}

static struct frame_bounds measure(const struct agent *agent, uint32_t *full)
{
	const char *const places[] = { agent->directory, "/tmp", "/dev/shm" };
	dev_t seen[ARRAY_SIZE(places)];
	size_t count = 0;
	struct frame_bounds used = { 0, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		add_place(places[i], seen, &count, &used, full);
	}
	return used;
}

void disk_begin(struct agent *agent)
{
	uint32_t full = 0;

	if (agent->returns) {
		agent->disk_base = measure(agent, &full);
	}
}

static void raise_to(uint64_t *peak, uint64_t now, uint64_t base)
{
	uint64_t used = now > base ? now - base : 0;

	*peak = used > *peak ? used : *peak;
}

void disk_sample(struct agent *agent)
{
	if (!agent->returns) {
		return;
	}
	struct frame_bounds now = measure(agent, &agent->disk.full);
	raise_to(&agent->disk.peak.bytes, now.bytes, agent->disk_base.bytes);
	raise_to(&agent->disk.peak.inodes, now.inodes, agent->disk_base.inodes);
}
