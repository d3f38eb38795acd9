/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the file that a question names, and the directories above it, as a program could: only on
 * the cell's own tmpfs, by descriptor from a directory that is known to be there. It is removed
 * again, so that no question changes the answer to another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prober/attempt.h"

/* Copies the first component of `rest` to `name`. 0: there is none. */
static size_t take_name(const char *rest, char name[NAME_MAX + 1])
{
	const char *from = rest + strspn(rest, "/");
	size_t length = strcspn(from, "/");

	if (length > NAME_MAX) {
		return 0;
	}
	memcpy(name, from, length);
	name[length] = '\0';
	return length ? (size_t)(from - rest) + length : 0;
}

static int make_directory(struct made_file *made)
{
	int in = made->dirs[made->depth];
	const char *name = made->names[made->depth];

	if (mkdirat(in, name, 0700) < 0) {
		return errno;
	}
	int fd = openat(in, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		int errnum = errno;
		unlinkat(in, name, AT_REMOVEDIR);
		return errnum;
	}
	made->dirs[++made->depth] = fd;
	return 0;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int make_all(const char *rest, struct made_file *made)
{
	char name[NAME_MAX + 1];

	for (size_t length = take_name(rest, name); length; length = take_name(rest, name)) {
		int errnum = made->depth == MADE_DEPTH_MAX || is_dots(name) ? ENOENT
									    : make_directory(made);
		if (errnum) {
			return errnum;
		}
		memcpy(made->names[made->depth], name, sizeof(name));
		rest += length;
	}
	/* A slash at the end, or a name that is too long. */
	if (*rest) {
		return rest[strspn(rest, "/")] ? ENAMETOOLONG : EISDIR;
	}
	int fd = openat(made->dirs[made->depth], made->names[made->depth],
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
	if (fd < 0) {
		return errno;
	}
	close(fd);
	made->file = true;
	return 0;
}

int made_file_create(const struct path_walk *walk, struct made_file *ret)
{
	*ret = (struct made_file){ .dirs = { walk->fd } };
	memcpy(ret->names[0], walk->name, sizeof(walk->name));
	int errnum = make_all(walk->rest, ret);
	if (errnum) {
		made_file_remove(ret);
	}
	return errnum;
}

void made_file_remove(struct made_file *made)
{
	if (made->file) {
		unlinkat(made->dirs[made->depth], made->names[made->depth], 0);
	}
	while (made->depth > 0) {
		close(made->dirs[made->depth--]);
		unlinkat(made->dirs[made->depth], made->names[made->depth], AT_REMOVEDIR);
	}
}
