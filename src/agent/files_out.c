/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Returns the files of the program, after the last of its processes is dead: one frame for each
 * entry of the tree, and the data of files in pieces. Nothing of the tree is trusted: no link is
 * followed, and names, depth, entries and bytes are bounded. Entries that do not fit are counted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/cleanup.h"
#include "kernel/walk.h"

#define PAGE_BYTES  4096u
#define PIECE_BYTES (15u * PAGE_BYTES)
/* The largest frame of an entry: a link with its target. */
#define ENTRY_BYTES (FRAME_HEAD_BYTES + 4u + FRAME_PATH_MAX + FRAME_TARGET_MAX)
/* Files with several names of which one was returned. */
#define NAMES_MAX 1024u

struct out_name {
	ino_t inode;
	dev_t device;
	char *path; /* owned */
};

struct files_out {
	struct walk *walk;
	struct frame_bounds used;
	int file; /* being returned; -1: none */
	uint64_t size, at;
	bool dense; /* holes cannot be found */
	struct out_name names[NAMES_MAX];
	size_t names_count;
	uint32_t over; /* entries that were left out here */
};

static size_t room_of(const struct agent *agent)
{
	return sizeof(agent->outbox) - agent->out_size;
}

/* --- entries ---------------------------------------------------------------------------------- */

static void send_directory(struct agent *agent, const struct walk_entry *entry)
{
	agent_send(agent, FRAME_OUT_DIRECTORY, entry->path, (uint32_t)strlen(entry->path));
}

static void send_pair(struct agent *agent, enum frame_kind kind, const char *path,
		      const char *other, size_t size)
{
	unsigned char data[4 + FRAME_PATH_MAX + FRAME_TARGET_MAX];
	size_t length = strlen(path);

	frame_put_u32(data, (uint32_t)length);
	/* NOLINTNEXTLINE(bugprone-not-null-terminated-result): texts in frames have no end */
	memcpy(data + 4, path, length);
	memcpy(data + 4 + length, other, size);
	agent_send(agent, kind, data, (uint32_t)(4 + length + size));
}

static void send_link(struct agent *agent, const struct walk_entry *entry)
{
	char target[FRAME_TARGET_MAX + 1];
	ssize_t n = readlinkat(entry->dir, entry->name, target, sizeof(target));

	if (n <= 0 || n == sizeof(target)) {
		agent->out_files->over++;
		return;
	}
	send_pair(agent, FRAME_OUT_LINK, entry->path, target, (size_t)n);
}

/* True: this is another name of a file that was returned, or cannot be. */
static bool send_name(struct agent *agent, const struct walk_entry *entry)
{
	struct files_out *out = agent->out_files;

	if (entry->stat->st_nlink < 2) {
		return false;
	}
	for (size_t i = 0; i < out->names_count; i++) {
		const struct out_name *name = &out->names[i];
		if (name->inode == entry->stat->st_ino && name->device == entry->stat->st_dev) {
			send_pair(agent, FRAME_OUT_NAME, entry->path, name->path,
				  strlen(name->path));
			return true;
		}
	}
	char *path = out->names_count < NAMES_MAX ? strdup(entry->path) : NULL;
	if (!path) {
		out->over++;
		return true;
	}
	out->names[out->names_count++] = (struct out_name){ .inode = entry->stat->st_ino,
							    .device = entry->stat->st_dev,
							    .path = path };
	return false;
}

static bool is_hole_known(int fd)
{
	return lseek(fd, 0, SEEK_DATA) >= 0 || errno == ENXIO;
}

static void send_file(struct agent *agent, const struct walk_entry *entry)
{
	struct files_out *out = agent->out_files;
	unsigned char data[12 + FRAME_PATH_MAX];
	uint64_t size = (uint64_t)entry->stat->st_size;
	uint64_t taken = (uint64_t)entry->stat->st_blocks * 512u;
	size_t length = strlen(entry->path);
	_cleanup_close_ int fd = walk_open(entry);
	bool dense = fd >= 0 && !is_hole_known(fd);

	taken = dense && taken < size ? size : taken;
	if (fd < 0 || taken > agent->bounds.bytes - out->used.bytes) {
		out->over++;
		return;
	}
	if (send_name(agent, entry)) {
		return;
	}
	frame_put_u32(data, entry->stat->st_mode & 0777);
	frame_put_u64(data + 4, size);
	memcpy(data + 12, entry->path, length);
	agent_send(agent, FRAME_OUT_FILE, data, (uint32_t)(12 + length));
	out->used.bytes += taken;
	out->file = TAKE_FD(fd);
	out->size = size;
	out->at = 0;
	out->dense = dense;
}

static void send_entry(struct agent *agent, const struct walk_entry *entry)
{
	if (S_ISDIR(entry->stat->st_mode)) {
		send_directory(agent, entry);
	} else if (S_ISREG(entry->stat->st_mode)) {
		send_file(agent, entry);
	} else if (S_ISLNK(entry->stat->st_mode)) {
		send_link(agent, entry);
	} else {
		agent->out_files->over++;
	}
}

/* --- data ------------------------------------------------------------------------------------- */

/* The end of the data at out->at, which moves over a hole; the size: there is no more. */
static uint64_t find_data(struct files_out *out)
{
	if (out->dense) {
		return out->size;
	}
	off_t from = lseek(out->file, (off_t)out->at, SEEK_DATA);
	off_t to = from < 0 ? -1 : lseek(out->file, from, SEEK_HOLE);
	if (to < 0) {
		out->at = out->size;
		return out->size;
	}
	out->at = (uint64_t)from;
	return (uint64_t)to < out->size ? (uint64_t)to : out->size;
}

static bool is_zero(const unsigned char *data, size_t size)
{
	return data[0] == 0 && memcmp(data, data + 1, size - 1) == 0;
}

static void end_file(struct files_out *out)
{
	close_fd(&out->file);
}

static void send_data(struct agent *agent)
{
	static unsigned char data[8 + PIECE_BYTES];
	struct files_out *out = agent->out_files;
	uint64_t end = find_data(out);
	size_t piece = end - out->at < PIECE_BYTES ? (size_t)(end - out->at) : PIECE_BYTES;
	ssize_t n = piece ? pread(out->file, data + 8, piece, (off_t)out->at) : 0;

	if (n < 0 && errno == EINTR) {
		return;
	}
	if (n <= 0) {
		end_file(out);
		return;
	}
	if (!is_zero(data + 8, (size_t)n)) {
		frame_put_u64(data, out->at);
		agent_send(agent, FRAME_OUT_DATA, data, (uint32_t)(8 + n));
	}
	out->at += (uint64_t)n;
}

/* --- the whole -------------------------------------------------------------------------------- */

static int begin(struct agent *agent)
{
	_cleanup_close_ int root =
		open(agent->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (root < 0) {
		return -errno;
	}
	agent->out_files = calloc(1, sizeof(*agent->out_files));
	if (!agent->out_files) {
		return -ENOMEM;
	}
	agent->out_files->file = -1;
	return walk_new(root, &agent->out_files->walk);
}

static void send_end(struct agent *agent, const struct walk_report *report, uint32_t over)
{
	unsigned char data[FRAME_LEFT_BYTES];
	const struct frame_left left = {
		.odd_names = report->odd_names,
		.too_deep = report->too_deep,
		.too_many = report->too_many,
		.over = over,
	};

	frame_put_left(data, &left);
	agent_send(agent, FRAME_OUT_END, data, sizeof(data));
	agent->state = AGENT_OVER;
}

/* The next entry, or the end. */
static void step(struct agent *agent)
{
	struct files_out *out = agent->out_files;
	struct walk_entry entry;
	int r = walk_next(out->walk, &entry);

	if (r == 2) {
		return;
	}
	/* Without one directory, what is in it cannot be returned either. */
	if (r == 1 && out->used.inodes == agent->bounds.inodes) {
		out->over++;
		r = 0;
	}
	if (r != 1) {
		send_end(agent, walk_report_of(out->walk), out->over + (r < 0));
		return;
	}
	out->used.inodes++;
	send_entry(agent, &entry);
}

void files_out_send(struct agent *agent)
{
	static const struct walk_report nothing;

	if (!agent->out_files && begin(agent) < 0) {
		send_end(agent, &nothing, 1);
		return;
	}
	struct files_out *out = agent->out_files;
	while (out && agent->state == AGENT_RETURNING) {
		size_t need = out->file >= 0 ? FRAME_HEAD_BYTES + 8 + PIECE_BYTES : ENTRY_BYTES;
		if (room_of(agent) < need) {
			return;
		}
		if (out->file >= 0) {
			send_data(agent);
		} else {
			step(agent);
		}
	}
}
