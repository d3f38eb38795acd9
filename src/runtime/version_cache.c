/* SPDX-License-Identifier: Apache-2.0 */
/* Caches versions: starting a JVM to read "17.0.16" takes longer than most runs. */
#include "runtime/version_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/publish.h"

static const char folder[] = "versions";
static const char version_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+_~-";

bool version_valid(const char *version)
{
	size_t size = strlen(version);

	return size > 0 && size < VERSION_BYTES && strspn(version, version_bytes) == size;
}

int version_key(const char *real_program, char *const *argv, char key[SHA256_HEX_SIZE])
{
	struct sha256 hash;
	struct stat st;
	char identity[160];
	int size;

	if (stat(real_program, &st) < 0) {
		return -errno;
	}
	size = snprintf(identity, sizeof(identity), "%llu %llu %llu %lld.%09ld",
			(unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
			(unsigned long long)st.st_size, (long long)st.st_mtim.tv_sec,
			st.st_mtim.tv_nsec);
	sha256_init(&hash);
	sha256_add_field(&hash, real_program, strlen(real_program));
	sha256_add_field(&hash, identity, (size_t)size);
	for (; argv && *argv; argv++) {
		sha256_add_field(&hash, *argv, strlen(*argv));
	}
	sha256_hex(&hash, key);
	return 0;
}

/* cache_dir/versions, made if wanted; only if it is ours and no other user can write to it. */
static int open_folder(const char *cache_dir, bool make)
{
	_cleanup_close_ int cache_fd = -1;
	_cleanup_close_ int fd = -1;
	struct stat st;

	cache_fd = cache_dir ? open(cache_dir, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (cache_fd < 0 || (make && mkdirat(cache_fd, folder, 0700) < 0 && errno != EEXIST)) {
		return -ENOENT;
	}
	fd = openat(cache_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH))) {
		return -EPERM;
	}
	return TAKE_FD(fd);
}

int version_recall(const char *cache_dir, const char *key, char version[VERSION_BYTES])
{
	_cleanup_close_ int dir_fd = open_folder(cache_dir, false);
	_cleanup_close_ int fd = -1;
	char text[VERSION_BYTES];
	ssize_t n;

	if (dir_fd < 0) {
		return -ENOENT;
	}
	fd = openat(dir_fd, key, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n <= 0 || (size_t)n >= sizeof(text)) {
		return -ENOENT;
	}
	text[n] = '\0';
	if (!version_valid(text)) {
		return -ENOENT;
	}
	memcpy(version, text, (size_t)n + 1);
	return 0;
}

void version_remember(const char *cache_dir, const char *key, const char *version)
{
	_cleanup_close_ int dir_fd = open_folder(cache_dir, true);

	if (dir_fd >= 0 && publish_file(dir_fd, key, version, strlen(version)) == -EEXIST &&
	    unlinkat(dir_fd, key, 0) == 0) {
		/* The existing file was not accepted: it is not a version. */
		(void)publish_file(dir_fd, key, version, strlen(version));
	}
}

int version_memory_recall(const struct version_memory *memory, const char *key,
			  char version[VERSION_BYTES])
{
	for (size_t i = 0; memory && i < VERSIONS_MAX && memory->kept[i].key[0]; i++) {
		if (strcmp(memory->kept[i].key, key) == 0) {
			memcpy(version, memory->kept[i].version, VERSION_BYTES);
			return 0;
		}
	}
	return -ENOENT;
}

void version_memory_keep(struct version_memory *memory, const char *key, const char *version)
{
	if (!memory) {
		return;
	}
	size_t at = memory->next++ % VERSIONS_MAX;
	(void)snprintf(memory->kept[at].key, sizeof(memory->kept[at].key), "%s", key);
	(void)snprintf(memory->kept[at].version, VERSION_BYTES, "%s", version);
}
