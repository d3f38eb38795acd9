/* SPDX-License-Identifier: Apache-2.0 */
/* The files that an agent returns: see returned.h. */
#include "agent_link/returned.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "kernel/sys.h"
#include "kernel/walk.h"

/* A path from a frame, as text. */
struct place {
	char path[FRAME_PATH_MAX + 1];
	char *name; /* its last part, in path */
	int parent; /* owned: the directory that has the name */
};

static void place_done(struct place *place)
{
	close_fd(&place->parent);
}

static int take_text(char *text, size_t room, const unsigned char *data, size_t size)
{
	if (size == 0 || size >= room || memchr(data, '\0', size)) {
		return -EPROTO;
	}
	memcpy(text, data, size);
	text[size] = '\0';
	return 0;
}

/*
 * Opens the directory of a path in one call: a path may have as many parts as it has letters.
 * Everything here was made by returned_take(), but a part may be a link that the agent has asked
 * for: it is not followed.
 */
static int open_parent(int root, const char *path, unsigned depth)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };

	/* The agent's walk goes no deeper. */
	return depth > WALK_DEPTH_MAX ? -EPROTO
	       : depth == 1           ? fcntl(root, F_DUPFD_CLOEXEC, 0)
				      : sys_openat2(root, path, &how);
}

static int find_place(int root, const unsigned char *data, size_t size, struct place *ret)
{
	unsigned depth = 1;
	int r = take_text(ret->path, sizeof(ret->path), data, size);

	if (r < 0 || !path_is_beneath(ret->path, NULL)) {
		return -EPROTO;
	}
	ret->name = ret->path;
	for (char *slash; (slash = strchr(ret->name, '/')); depth++) {
		ret->name = slash + 1;
	}
	if (depth > 1) {
		ret->name[-1] = '\0';
	}
	ret->parent = open_parent(root, ret->path, depth);
	return ret->parent < 0 ? -EPROTO : 0;
}

static int take_directory(struct returned *returned, const unsigned char *data, size_t size)
{
	_cleanup_(place_done)
	struct place place = { .parent = -1 };
	int r = find_place(returned->root, data, size, &place);

	if (r < 0) {
		return r;
	}
	return mkdirat(place.parent, place.name, 0700) < 0 ? -EPROTO : 0;
}

/* The two texts of a frame. */
struct two_texts {
	const unsigned char *first, *second;
	size_t first_size, second_size;
};

static int split(const unsigned char *data, size_t size, struct two_texts *ret)
{
	uint32_t length = frame_get_u32(data);

	if (length == 0 || length >= size - 4) {
		return -EPROTO;
	}
	*ret = (struct two_texts){ data + 4, data + 4 + length, length, size - 4 - length };
	return 0;
}

static int take_link(struct returned *returned, const unsigned char *data, size_t size)
{
	_cleanup_(place_done)
	struct place place = { .parent = -1 };
	char target[FRAME_TARGET_MAX + 1];
	struct two_texts texts;
	int r = split(data, size, &texts);

	r = r < 0 ? r : find_place(returned->root, texts.first, texts.first_size, &place);
	r = r < 0 ? r : take_text(target, sizeof(target), texts.second, texts.second_size);
	if (r < 0) {
		return r;
	}
	return symlinkat(target, place.parent, place.name) < 0 ? -EPROTO : 0;
}

/* Without AT_SYMLINK_FOLLOW a link would be linked itself: only a regular file may be. */
static int take_name(struct returned *returned, const unsigned char *data, size_t size)
{
	_cleanup_(place_done)
	struct place place = { .parent = -1 };
	_cleanup_(place_done)
	struct place old = { .parent = -1 };
	struct two_texts texts;
	struct stat info;
	int r = split(data, size, &texts);

	r = r < 0 ? r : find_place(returned->root, texts.first, texts.first_size, &place);
	r = r < 0 ? r : find_place(returned->root, texts.second, texts.second_size, &old);
	if (r < 0 || fstatat(old.parent, old.name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(info.st_mode)) {
		return -EPROTO;
	}
	return linkat(old.parent, old.name, place.parent, place.name, 0) < 0 ? -EPROTO : 0;
}

static int take_file(struct returned *returned, const unsigned char *data, size_t size)
{
	_cleanup_(place_done)
	struct place place = { .parent = -1 };
	mode_t mode = (mode_t)frame_get_u32(data) & 0777;
	int r = find_place(returned->root, data + 12, size - 12, &place);

	returned->size = frame_get_u64(data + 4);
	returned->at = 0;
	if (r < 0 || returned->size > returned->file_max) {
		return -EPROTO;
	}
	returned->file = openat(place.parent, place.name,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (returned->file < 0 || ftruncate(returned->file, (off_t)returned->size) < 0 ||
	    fchmod(returned->file, mode) < 0) {
		return -EPROTO;
	}
	return 0;
}

static int take_data(struct returned *returned, const unsigned char *data, size_t size)
{
	uint64_t at = frame_get_u64(data);
	size_t left = size - 8;

	if (returned->file < 0 || at < returned->at || at > returned->size ||
	    left > returned->size - at) {
		return -EPROTO;
	}
	for (data += 8; left > 0;) {
		ssize_t n = pwrite(returned->file, data, left, (off_t)at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return -EPROTO; /* more than the limits allow */
		}
		data += n;
		at += (uint64_t)n;
		left -= (size_t)n;
	}
	returned->at = at;
	return 0;
}

int returned_take(struct returned *returned, const struct frame_head *head,
		  const unsigned char *data)
{
	static int (*const takers[FRAME_KINDS])(struct returned *, const unsigned char *,
						size_t) = {
		[FRAME_OUT_DIRECTORY] = take_directory, [FRAME_OUT_LINK] = take_link,
		[FRAME_OUT_NAME] = take_name,           [FRAME_OUT_FILE] = take_file,
		[FRAME_OUT_DATA] = take_data,
	};

	if (!takers[head->kind]) {
		return -EPROTO;
	}
	if (head->kind != FRAME_OUT_DATA) {
		close_fd(&returned->file);
	}
	returned->received += head->kind == FRAME_OUT_DATA ? head->size : RETURNED_ENTRY_BYTES;
	return takers[head->kind](returned, data, head->size);
}

void returned_done(struct returned *returned)
{
	close_fd(&returned->file);
}
