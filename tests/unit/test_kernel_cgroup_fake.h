/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup file system made of plain directories and files. Two calls are replaced to do what the
 * kernel does by itself: a new directory has its control files, and a directory of nothing but
 * those can be removed (unless its cgroup.procs names a process).
 */
#ifndef TEST_KERNEL_CGROUP_FAKE_H
#define TEST_KERNEL_CGROUP_FAKE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

struct fake {
	char root[64];
	char self[96];
};

/*
 * A group whose maker is dead, as this process would have named it: in a pid namespace other than
 * the host's first, that one is part of the name.
 */
#define FAKE_DEAD(m, dir, id) fake_dead((m), (dir), (id), (char[256]){ 0 })

static const char *const *fake_files; /* NULL: the calls are the kernel's own */

int mkdirat(int fd, const char *path, mode_t mode);
int unlinkat(int fd, const char *path, int flags);

int mkdirat(int fd, const char *path, mode_t mode)
{
	long r = syscall(SYS_mkdirat, fd, path, mode);
	char file[640];

	for (size_t i = 0; r == 0 && fake_files && fake_files[i]; i++) {
		snprintf(file, sizeof(file), "%s/%s", path, fake_files[i]);
		close(openat(fd, file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
	}
	return (int)r;
}

int unlinkat(int fd, const char *path, int flags)
{
	char file[640];
	struct stat st;

	if (flags & AT_REMOVEDIR && fake_files) {
		snprintf(file, sizeof(file), "%s/cgroup.procs", path);
		if (fstatat(fd, file, &st, 0) == 0 && st.st_size > 0) {
			errno = EBUSY;
			return -1;
		}
		for (size_t i = 0; fake_files[i]; i++) {
			snprintf(file, sizeof(file), "%s/%s", path, fake_files[i]);
			syscall(SYS_unlinkat, fd, file, 0);
		}
	}
	return (int)syscall(SYS_unlinkat, fd, path, flags);
}

static inline void fake_put(const struct fake *fake, const char *path, const char *text)
{
	char full[640];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", fake->root, path);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static inline const char *fake_get(const struct fake *fake, const char *path)
{
	static char text[512];
	char full[640];
	ssize_t n;
	int fd;

	snprintf(full, sizeof(full), "%s/%s", fake->root, path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	return n < 0 ? NULL : text;
}

static inline void fake_mkdir(const struct fake *fake, const char *path)
{
	char full[640];

	snprintf(full, sizeof(full), "%s/%s", fake->root, path);
	assert_int_equal(mkdirat(AT_FDCWD, full, 0755), 0);
}

static inline bool fake_has(const struct fake *fake, const char *path)
{
	char full[640];

	snprintf(full, sizeof(full), "%s/%s", fake->root, path);
	return access(full, F_OK) == 0;
}

static void fake_make(struct fake *fake, const char *self)
{
	int fd;

	snprintf(fake->root, sizeof(fake->root), "/tmp/brig-cgroup.XXXXXX");
	assert_non_null(mkdtemp(fake->root));
	snprintf(fake->self, sizeof(fake->self), "%s/self", fake->root);
	fd = open(fake->self, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, self, strlen(self)), strlen(self));
	close(fd);
}

static void fake_remove(struct fake *fake)
{
	char command[128];

	fake_files = NULL;
	snprintf(command, sizeof(command), "rm -rf '%s'", fake->root);
	assert_int_equal(system(command), 0);
}

/* The one group of this process in a directory; "" when there is none. */
static inline const char *fake_group(const struct fake *fake, const char *dir, const char *id)
{
	static char path[512];
	char command[600];
	FILE *out;

	snprintf(command, sizeof(command), "cd '%s/%s' && ls -d brig-%d-*-%s* 2>/dev/null",
		 fake->root, dir, (int)getpid(), id);
	path[0] = '\0';
	out = popen(command, "re");
	assert_non_null(out);
	if (fgets(path, sizeof(path), out)) {
		path[strcspn(path, "\n")] = '\0';
	}
	pclose(out);
	return path;
}

static inline const char *fake_dead(struct cgroup_manager *m, const char *dir, const char *id,
				    char path[256])
{
	char own[CGROUP_NAME_MAX] = "";

	assert_int_equal(cgroup_name_make(m, "X", own), 0);
	const char *colon = strchr(own, ':');
	snprintf(path, 256, "%sbrig-2147483646-7-%s%s", dir, id, colon ? colon : "");
	return path;
}
#endif
