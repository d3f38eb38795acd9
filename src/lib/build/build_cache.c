/* SPDX-License-Identifier: Apache-2.0 */
/* The build cache's files and keys: see build_cache.h. */
#include "lib/build/build_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "base/files/publish.h"
#include "base/limits.h"

#define CACHE_BYTES_MAX (1ull << 30)

static void add_text(struct sha256 *hash, const char *text)
{
	sha256_add_field(hash, text, strlen(text));
}

static void add_number(struct sha256 *hash, uint64_t number)
{
	sha256_add_field(hash, &number, sizeof(number));
}

/* Tighter limits may change a compiler's output: runs with wider limits do not use it. */
static void add_limits(struct sha256 *hash, const struct brig_limits *limits)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		if (info->of_compiler && info->scope != LIMIT_OF_RUN) {
			add_number(hash, limit_value(limits, info));
		}
	}
}

static void add_list(struct sha256 *hash, const struct strlist *list)
{
	uint64_t count = list->count;

	sha256_add_field(hash, &count, sizeof(count));
	for (size_t i = 0; i < list->count; i++) {
		add_text(hash, list->items[i]);
	}
}

/* The hash of a file covers its length: its size may have changed since it was opened. */
static int add_fd(struct sha256 *hash, int fd)
{
	char hex[SHA256_HEX_SIZE];
	int64_t n = sha256_fd(fd, hex);

	if (n >= 0) {
		add_text(hash, hex);
	}
	return n < 0 ? (int)n : 0;
}

/* Input files on the host count with their present size. */
static uint64_t input_bytes(const struct prepared *compile)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < compile->inputs_count; i++) {
		const struct spec_input *input = &compile->inputs[i];
		struct stat info = { .st_size = 0 };

		if (input->fd >= 0) {
			(void)fstat(input->fd, &info);
		}
		bytes += input->fd >= 0 ? (uint64_t)info.st_size : input->size;
	}
	return bytes;
}

bool build_key_holds(const struct prepared *compile, const char *key)
{
	char now[65];
	bool can_change = false;

	for (size_t i = 0; i < compile->inputs_count; i++) {
		can_change |= compile->inputs[i].fd >= 0;
	}
	return !can_change || (build_key(compile, now) == 0 && strcmp(now, key) == 0);
}

int build_key(const struct prepared *compile, char key[65])
{
	const struct runtime *runtime = compile->runtime;
	struct sha256 hash;

	if (input_bytes(compile) > BUILD_BYTES_MAX) {
		return -EFBIG;
	}

	sha256_init(&hash);
	add_text(&hash, "brig build 3 " BRIG_VERSION);
	add_text(&hash, compile->policy->hash);
	add_text(&hash, compile->spec.provider->name);
	add_limits(&hash, &compile->spec.limits);
	add_text(&hash, runtime->name);
	add_text(&hash, runtime->version);
	add_text(&hash, runtime->program);
	add_text(&hash, runtime->output);
	add_list(&hash, &compile->argv);
	add_list(&hash, &compile->env);
	for (size_t i = 0; i < compile->inputs_count; i++) {
		const struct spec_input *input = &compile->inputs[i];
		uint32_t mode = input->mode;
		add_text(&hash, input->name);
		sha256_add_field(&hash, &mode, sizeof(mode));
		if (input->fd >= 0) {
			int r = add_fd(&hash, input->fd);
			if (r < 0) {
				return r;
			}
		} else {
			sha256_add_field(&hash, input->data, input->size);
		}
	}
	sha256_hex(&hash, key);
	return 0;
}

/* build/ beneath the cache directory. It is not used if others own it or can write to it. */
static int open_cache(const char *cache_dir)
{
	struct stat info;
	_cleanup_close_ int top = open(cache_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (top < 0) {
		return -errno;
	}
	if (mkdirat(top, "build", 0700) < 0 && errno != EEXIST) {
		return -errno;
	}
	_cleanup_close_ int dir =
		openat(top, "build", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &info) < 0) {
		return -errno;
	}
	if (info.st_uid != geteuid() || (info.st_mode & 022)) {
		return -EPERM;
	}
	return TAKE_FD(dir);
}

static int read_entry(int dir, const char *key, void **data, size_t *size)
{
	struct stat info;
	_cleanup_close_ int fd = openat(dir, key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &info) < 0) {
		return -errno;
	}
	if (!S_ISREG(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 022) ||
	    info.st_size > BUILD_BYTES_MAX) {
		return -EPERM;
	}
	*size = (size_t)info.st_size;
	_cleanup_free_ char *bytes = malloc(*size ? *size : 1);
	size_t at = 0;
	while (bytes && at < *size) {
		ssize_t n = read(fd, bytes + at, *size - at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n <= 0) {
			return -EIO;
		}
		at += (size_t)n;
	}
	if (!bytes) {
		return -ENOMEM;
	}
	futimens(fd, NULL); /* used now: the last to be evicted */
	*data = TAKE_PTR(bytes);
	return 0;
}

int build_cache_load(const char *cache_dir, const char *key, struct prepared *run,
		     struct brig_error *err)
{
	_cleanup_free_ void *data = NULL;
	size_t size = 0;
	size_t before = run->inputs_count;

	if (!cache_dir) {
		return 0;
	}
	_cleanup_close_ int dir = open_cache(cache_dir);
	int r = dir < 0 ? dir : read_entry(dir, key, &data, &size);
	if (dir < 0 || r == -ENOENT || r == -ENOMEM) {
		return 0;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
	r = r < 0 ? -EBADMSG : build_entry_read(data, size, run, err);
	if (r == -EBADMSG) {
		/* Torn, of another owner, or modified: it is removed, and counts as not found. */
		unlinkat(dir, key, 0);
		while (run->inputs_count > before) {
			struct spec_input *input = &run->inputs[--run->inputs_count];
			free((char *)(uintptr_t)input->name);
			free((void *)(uintptr_t)input->data);
		}
		run->spec.inputs_count = before;
		return 0;
	}
	return r < 0 ? r : 1;
}

struct entry {
	char name[65];
	uint64_t size;
	time_t used;
};

static int oldest_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->used > y->used) - (x->used < y->used);
}

/* Removes the least recently used until the rest fits. */
static void evict(int dir_fd)
{
	_cleanup_free_ struct entry *entries = NULL;
	size_t count = 0;
	uint64_t bytes = 0;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *next; dir && (next = readdir(dir));) {
		struct stat info;
		if (strlen(next->d_name) != 64 ||
		    fstatat(dir_fd, next->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
			continue;
		}
		struct entry *more = realloc(entries, (count + 1) * sizeof(*entries));
		if (!more) {
			break;
		}
		entries = more;
		memcpy(entries[count].name, next->d_name, 65);
		entries[count].size = (uint64_t)info.st_size;
		entries[count++].used = info.st_mtime;
		bytes += (uint64_t)info.st_size;
	}
	if (dir) {
		closedir(dir);
	}
	if (bytes > CACHE_BYTES_MAX) {
		qsort(entries, count, sizeof(*entries), oldest_first);
	}
	for (size_t i = 0; i < count && bytes > CACHE_BYTES_MAX; i++) {
		unlinkat(dir_fd, entries[i].name, 0);
		bytes -= entries[i].size;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
}

void build_cache_store(const char *cache_dir, const char *key, const struct brig_file_out *files,
		       size_t count)
{
	_cleanup_free_ void *data = NULL;
	size_t size = 0;
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += files[i].size;
	}
	_cleanup_close_ int dir =
		cache_dir && bytes <= BUILD_BYTES_MAX ? open_cache(cache_dir) : -1;
	if (dir >= 0 && build_entry_write(files, count, &data, &size) == 0 &&
	    size <= BUILD_BYTES_MAX && publish_file(dir, key, data, size) == 0) {
		evict(dir);
	}
}
