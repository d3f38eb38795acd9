/* Change sets: see changes.h. */
#include "core/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sha256.h"

static int hash_fd(int fd, char hex[SHA256_HEX_SIZE], uint64_t *ret_size)
{
	int64_t n = sha256_fd(fd, hex);

	*ret_size = n < 0 ? 0 : (uint64_t)n;
	return n < 0 ? (int)n : 0;
}

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
		base->path = strdup(inputs[i].name);
		if (!base->path) {
			return -ENOMEM;
		}
		changes->base_count++;
		if (inputs[i].fd >= 0) {
			int r = hash_fd(inputs[i].fd, base->sha256, &base->size);
			if (r < 0) {
				return r;
			}
			continue;
		}
		struct sha256 hash;
		sha256_init(&hash);
		sha256_add(&hash, inputs[i].data, inputs[i].size);
		sha256_hex(&hash, base->sha256);
		base->size = inputs[i].size;
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
	*changes = (struct changes){ 0 };
}

static int add(struct changes *changes, const char *path, char kind, uint64_t size,
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

/*
 * Leaves "" where there is no hash. Links and holes cost the program nothing, but us time: each
 * file is read once, and all of them up to a sum. An input of the size that it had is always read,
 * or a large one would be called modified: no more than what was handed in.
 */
static void hash_entry(struct changes *changes, const struct walk_entry *entry,
		       const struct changes_base *base, char sha256[65])
{
	const struct stat *stat = entry->stat;
	uint64_t size = (uint64_t)stat->st_size, read_bytes;
	const struct changes_link *link = stat->st_nlink > 1 ? find_link(changes, stat) : NULL;
	bool free_of_charge = base && base->size == size;

	if (link) {
		memcpy(sha256, link->sha256, sizeof(link->sha256));
		return;
	}
	if (!free_of_charge && size > CHANGES_HASH_BYTES_MAX - changes->hashed_bytes) {
		return;
	}
	_cleanup_close_ int fd = walk_open(entry);
	if (fd < 0 || hash_fd(fd, sha256, &read_bytes) < 0) {
		return;
	}
	changes->hashed_bytes += free_of_charge ? 0 : size;
	if (stat->st_nlink > 1) {
		struct changes_link *kept =
			&changes->links[changes->links_count++ % CHANGES_LINKS_MAX];
		*kept = (struct changes_link){ .dev = stat->st_dev, .ino = stat->st_ino };
		memcpy(kept->sha256, sha256, sizeof(kept->sha256));
	}
}

int changes_see(struct changes *changes, const struct walk_entry *entry)
{
	struct changes_base key = { .path = (char *)(uintptr_t)entry->path };
	char sha256[65] = "";

	if (S_ISDIR(entry->stat->st_mode)) {
		return 0;
	}
	struct changes_base *base =
		bsearch(&key, changes->base, changes->base_count, sizeof(*changes->base), by_path);
	uint64_t size = S_ISREG(entry->stat->st_mode) ? (uint64_t)entry->stat->st_size : 0;
	if (S_ISREG(entry->stat->st_mode)) {
		hash_entry(changes, entry, base, sha256);
	}
	if (!base) {
		return add(changes, entry->path, 'c', size, sha256);
	}
	base->seen = true;
	return strcmp(base->sha256, sha256) ? add(changes, entry->path, 'm', size, sha256) : 0;
}

static int change_by_path(const void *a, const void *b)
{
	return strcmp(((const struct brig_change *)a)->path, ((const struct brig_change *)b)->path);
}

int changes_finish(struct changes *changes, struct brig_result *result)
{
	for (size_t i = 0; i < changes->base_count; i++) {
		if (!changes->base[i].seen) {
			int r = add(changes, changes->base[i].path, 'd', 0, "");
			if (r < 0) {
				return r;
			}
		}
	}
	if (changes->count) {
		qsort(changes->list, changes->count, sizeof(*changes->list), change_by_path);
	}
	result->changes = TAKE_PTR(changes->list);
	result->changes_count = changes->count;
	result->changes_reported = true;
	changes->count = changes->capacity = 0;
	return 0;
}
