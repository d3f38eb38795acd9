/* SPDX-License-Identifier: Apache-2.0 */
/* Change sets: see changes.h. */
#include "run/files/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct changes_base *)a)->path,
		      ((const struct changes_base *)b)->path);
}

int changes_init(struct changes *changes, const struct spec_input *inputs, size_t count)
{
	changes->base = calloc(count ? count : 1, sizeof(*changes->base));
	if (!changes->base) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		struct changes_base *base = &changes->base[changes->base_count];
		struct stat info;

		base->path = strdup(inputs[i].name);
		if (!base->path) {
			return -ENOMEM;
		}
		changes->base_count++;
		base->input = &inputs[i];
		base->size = inputs[i].size;
		if (inputs[i].fd >= 0) {
			if (fstat(inputs[i].fd, &info) < 0) {
				return -errno;
			}
			base->size = (uint64_t)info.st_size;
		}
	}
	qsort(changes->base, changes->base_count, sizeof(*changes->base), by_path);
	return 0;
}

void changes_done(struct changes *changes)
{
	for (size_t i = 0; i < changes->base_count; i++) {
		free(changes->base[i].path);
	}
	for (size_t i = 0; i < changes->count; i++) {
		free(changes->list[i].path);
	}
	free(changes->base);
	free(changes->list);
	free(changes->sort.spare);
	*changes = (struct changes){ 0 };
}

static int add_change(struct changes *changes, const char *path, char kind, uint64_t size,
		      const char *sha256)
{
	if (changes->count == changes->capacity) {
		size_t capacity = changes->capacity ? changes->capacity * 2 : 16;
		struct brig_change *list = realloc(changes->list, capacity * sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		changes->list = list;
		changes->capacity = capacity;
	}
	struct brig_change *change = &changes->list[changes->count];
	*change = (struct brig_change){ .path = strdup(path), .kind = kind, .size = size };
	if (!change->path) {
		return -ENOMEM;
	}
	memcpy(change->sha256, sha256, strnlen(sha256, 64) + 1);
	changes->count++;
	return 0;
}

static const struct changes_link *find_link(const struct changes *changes, const struct stat *stat)
{
	for (size_t i = 0; i < changes->links_count && i < CHANGES_LINKS_MAX; i++) {
		const struct changes_link *link = &changes->links[i];
		if (link->dev == stat->st_dev && link->ino == stat->st_ino) {
			return link;
		}
	}
	return NULL;
}

struct changes_base *changes_find(const struct changes *changes, const char *path)
{
	struct changes_base key = { .path = (char *)(uintptr_t)path };

	return bsearch(&key, changes->base, changes->base_count, sizeof(*changes->base), by_path);
}

static bool has_input_size(const struct walk_entry *entry, const struct changes_base *base)
{
	return base && base->size == (uint64_t)entry->stat->st_size;
}

/*
 * Links and holes cost the program nothing, but cost us time: each file is read once, and files are
 * read only up to a sum. An input of unchanged size is always read, or a large one would be
 * reported as modified. That is never more than the size of the inputs.
 */
bool changes_wants_hash(const struct changes *changes, const struct walk_entry *entry,
			const struct changes_base *base, char sha256[65])
{
	const struct stat *stat = entry->stat;
	const struct changes_link *link = stat->st_nlink > 1 ? find_link(changes, stat) : NULL;

	if (link) {
		memcpy(sha256, link->sha256, sizeof(link->sha256));
		return false;
	}
	return has_input_size(entry, base) ||
	       (uint64_t)stat->st_size <= CHANGES_HASH_BYTES_MAX - changes->hashed_bytes;
}

void changes_hashed(struct changes *changes, const struct walk_entry *entry,
		    const struct changes_base *base, const char sha256[65])
{
	const struct stat *stat = entry->stat;

	changes->hashed_bytes += has_input_size(entry, base) ? 0 : (uint64_t)stat->st_size;
	if (stat->st_nlink > 1) {
		struct changes_link *kept =
			&changes->links[changes->links_count++ % CHANGES_LINKS_MAX];
		*kept = (struct changes_link){ .dev = stat->st_dev, .ino = stat->st_ino };
		memcpy(kept->sha256, sha256, sizeof(kept->sha256));
	}
}

bool changes_wants_base(const struct walk_entry *entry, const struct changes_base *base,
			const char sha256[65])
{
	return sha256[0] && has_input_size(entry, base) && !base->sha256[0];
}

int changes_see(struct changes *changes, const struct walk_entry *entry, struct changes_base *base,
		const char sha256[65])
{
	uint64_t size = S_ISREG(entry->stat->st_mode) ? (uint64_t)entry->stat->st_size : 0;

	if (!base) {
		return add_change(changes, entry->path, 'c', size, sha256);
	}
	base->seen = true;
	/* A file whose size changed was not even read. */
	bool same = sha256[0] && strcmp(base->sha256, sha256) == 0;
	return same ? 0 : add_change(changes, entry->path, 'm', size, sha256);
}

int changes_end(struct changes *changes)
{
	for (size_t i = 0; i < changes->base_count; i++) {
		if (!changes->base[i].seen) {
			int r = add_change(changes, changes->base[i].path, 'd', 0, "");
			if (r < 0) {
				return r;
			}
		}
	}
	return 0;
}

void changes_take(struct changes *changes, struct brig_result *result)
{
	result->changes = TAKE_PTR(changes->list);
	result->changes_count = changes->count;
	result->changes_reported = true;
	changes->count = changes->capacity = 0;
}
