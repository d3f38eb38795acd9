/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the small files of a cgroup file system. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

int cgroup_file_write(int dir_fd, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t size = strlen(text);
	ssize_t written;

	if (fd < 0) {
		return -errno;
	}
	do {
		written = write(fd, text, size);
	} while (written < 0 && errno == EINTR);
	if (written < 0) {
		return -errno;
	}
	return (size_t)written == size ? 0 : -EIO;
}

int cgroup_file_write_u64(int dir_fd, const char *path, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return cgroup_file_write(dir_fd, path, text);
}

ssize_t cgroup_file_read(int dir_fd, const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t used = 0;

	if (fd < 0) {
		return -errno;
	}
	while (used < size - 1) {
		size_t want = size - 1 - used;
		ssize_t n = read(fd, text + used, want);

		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -errno;
		}
		used += (size_t)n;
		/*
		 * Lists are returned in pieces of about a page; a shorter result is the end. This
		 * saves the last, empty read of every file.
		 */
		if (n == 0 || ((size_t)n < want && n < 2048)) {
			break;
		}
	}
	text[used] = '\0';
	return (ssize_t)used;
}

bool cgroup_text_u64(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	if (*text < '0' || *text > '9') {
		return false;
	}
	for (; *text >= '0' && *text <= '9'; text++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value)) {
			return false;
		}
	}
	*ret = value;
	return true;
}

bool cgroup_file_read_u64(int dir_fd, const char *path, uint64_t *ret)
{
	char text[64];

	return cgroup_file_read(dir_fd, path, text, sizeof(text)) > 0 && cgroup_text_u64(text, ret);
}

bool cgroup_text_value(const char *text, const char *key, uint64_t *ret)
{
	size_t size = strlen(key);

	for (const char *line = text; line && *line;) {
		if (strncmp(line, key, size) == 0 && line[size] == ' ') {
			return cgroup_text_u64(line + size + 1, ret);
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
}

bool cgroup_text_word(const char *text, const char *word)
{
	size_t size = strlen(word);

	for (const char *at = text; *(at += strspn(at, " \n")) != '\0';) {
		size_t n = strcspn(at, " \n");

		if (n == size && memcmp(at, word, size) == 0) {
			return true;
		}
		at += n;
	}
	return false;
}

/* "cpu" is in "cpu,cpuacct" but not in "cpuset". */
static bool list_has(const char *list, size_t size, const char *name)
{
	size_t want = strlen(name);

	for (const char *at = list, *end = list + size; at <= end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t n = (size_t)((comma ? comma : end) - at);

		if (n == want && memcmp(at, name, n) == 0) {
			return true;
		}
		at += n + 1;
	}
	return false;
}

bool cgroup_self_path(const char *self, const char *controller, char *path, size_t size)
{
	for (const char *line = self; line && *line;) {
		size_t n = strcspn(line, "\n");
		const char *list = memchr(line, ':', n);
		const char *at = list ? memchr(list + 1, ':', n - (size_t)(list + 1 - line)) : NULL;

		if (at && list_has(list + 1, (size_t)(at - list - 1), controller)) {
			at += 1 + (at[1] == '/');
			n -= (size_t)(at - line);
			if (n >= size) {
				return false;
			}
			memcpy(path, at, n);
			path[n] = '\0';
			return true;
		}
		line += n;
		line += *line == '\n';
	}
	return false;
}
