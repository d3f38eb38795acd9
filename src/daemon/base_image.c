/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig's own image: a tar (POSIX ustar) with the root of the cell, as far as it is not bound from
 * the host: directories, links, made-up files, the agent. Its name has its hash, so another version
 * of any of them is another image.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "framed/agent_image.h"

#define BLOCK       512u
#define NAME_CHARS  100
#define HEX_OF_NAME 40

struct tar_head {
	char name[NAME_CHARS], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type;
	char link[100], magic[6], version[2], user[32], group[32], major[8], minor[8];
	char prefix[155], rest[12];
};
_Static_assert(sizeof(struct tar_head) == BLOCK, "a head is one block");

struct entry {
	const char *path; /* relative */
	char type;        /* '0' file, '2' link, '5' directory */
	unsigned mode;
	const char *to; /* of a link */
	const void *data;
	uint64_t size;
};

/* A long path is divided at a slash. */
static int put_path(struct tar_head *head, const char *path)
{
	size_t length = strlen(path);
	const char *at = path;

	if (length <= NAME_CHARS) {
		memcpy(head->name, path, length);
		return 0;
	}
	while ((at = strchr(at + 1, '/'))) {
		size_t before = (size_t)(at - path), after = length - before - 1;
		if (after <= NAME_CHARS && before <= sizeof(head->prefix)) {
			memcpy(head->prefix, path, before);
			memcpy(head->name, at + 1, after);
			return 0;
		}
	}
	return -ENAMETOOLONG;
}

static void put_sum(struct tar_head *head)
{
	const unsigned char *bytes = (const unsigned char *)head;
	unsigned sum = 0;

	memset(head->sum, ' ', sizeof(head->sum));
	for (size_t i = 0; i < sizeof(*head); i++) {
		sum += bytes[i];
	}
	snprintf(head->sum, sizeof(head->sum), "%06o", sum & 0777777u);
}

static int put_entry(const struct entry *entry, struct buf *out)
{
	static const char zeros[BLOCK];
	struct tar_head head = { .type = entry->type };
	size_t link = entry->to ? strlen(entry->to) : 0;

	if (put_path(&head, entry->path) < 0 || link > sizeof(head.link)) {
		return -ENAMETOOLONG;
	}
	if (link) {
		memcpy(head.link, entry->to, link);
	}
	snprintf(head.mode, sizeof(head.mode), "%07o", entry->mode & 07777u);
	snprintf(head.uid, sizeof(head.uid), "%07o", 0u);
	snprintf(head.gid, sizeof(head.gid), "%07o", 0u);
	snprintf(head.size, sizeof(head.size), "%011lo", (unsigned long)entry->size);
	snprintf(head.mtime, sizeof(head.mtime), "%011o", 0u);
	memcpy(head.magic, "ustar", 6);
	memcpy(head.version, "00", 2);
	put_sum(&head);
	buf_add(out, &head, sizeof(head));
	if (entry->size) {
		buf_add(out, entry->data, entry->size);
		buf_add(out, zeros, (BLOCK - entry->size % BLOCK) % BLOCK);
	}
	return 0;
}

/* Of the runtime's own, or on the writable file system. */
static bool is_elsewhere(const char *path)
{
	static const char *const places[] = { "dev", "proc", "sys/", "sandbox", "tmp" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t length = strlen(places[i]);
		if (strncmp(path, places[i], length) == 0 &&
		    (path[length] == '\0' || path[length] == '/' || places[i][length - 1] == '/')) {
			return true;
		}
	}
	return false;
}

static bool entry_of(const struct step *step, struct entry *ret)
{
	switch (step->kind) {
	case STEP_DIR:
		*ret = (struct entry){ .path = step->dir.target,
				       .type = '5',
				       .mode = step->dir.mode };
		break;
	case STEP_LINK:
		*ret = (struct entry){
			.path = step->link.path, .type = '2', .mode = 0777, .to = step->link.to
		};
		break;
	case STEP_FILE:
		*ret = (struct entry){ .path = step->file.target,
				       .type = '0',
				       .mode = step->file.mode,
				       .data = step->file.data,
				       .size = step->file.size };
		break;
	default:
		return false;
	}
	return !is_elsewhere(ret->path);
}

int base_image_make(const struct plan *plan, struct buf *ret, struct brig_error *err)
{
	/* runc gives a tmpfs the mode of its mount point, where it is not told its owner. */
	static const struct entry places[] = {
		{ .path = "dev", .type = '5', .mode = 0755 },
		{ .path = "proc", .type = '5', .mode = 0755 },
		{ .path = "sandbox", .type = '5', .mode = 01777 },
		{ .path = "tmp", .type = '5', .mode = 01777 },
	};
	static const char end[2 * BLOCK];
	const struct entry agent = { .path = &DAEMON_AGENT[1],
				     .type = '0',
				     .mode = 0555,
				     .data = agent_image,
				     .size = agent_image_size };
	struct entry entry = { 0 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		put_entry(&places[i], ret);
	}
	for (unsigned i = 0; r == 0 && i < plan->count; i++) {
		if (entry_of(&plan->steps[i], &entry)) {
			r = put_entry(&entry, ret);
		}
	}
	if (r < 0) {
		return error_errno(err, BRIG_E_HOST, -r, "%.300s cannot be put into an image",
				   entry.path);
	}
	put_entry(&agent, ret);
	buf_add(ret, end, sizeof(end));
	return ret->failed ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for an image") : 0;
}

void base_image_name(const struct buf *tar, char ret[DAEMON_NAME_MAX])
{
	struct sha256 hash;
	char hex[SHA256_HEX_SIZE];

	sha256_init(&hash);
	sha256_add(&hash, tar->data, tar->size);
	sha256_hex(&hash, hex);
	snprintf(ret, DAEMON_NAME_MAX, "brig-base:%.*s", HEX_OF_NAME, hex);
}
