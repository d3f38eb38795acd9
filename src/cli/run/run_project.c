/* SPDX-License-Identifier: Apache-2.0 */
/* The files next to a program: see run_project.h. */
#include "cli/run/run_project.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

struct listing {
	const char *root, *skipped;
	struct strlist *names, *paths;
	struct brig_error *err;
};

static char *directory_of(const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	if (!slash) {
		return strdup(".");
	}
	return slash == file ? strdup("/") : strndup(file, (size_t)(slash - file));
}

static int too_many(const struct listing *listing)
{
	int r = error_set(listing->err, BRIG_E_INPUT, E2BIG,
			  "--project: %s has more than %u files, or is deeper than %u directories",
			  listing->root, PROJECT_FILES_MAX, PROJECT_DEPTH_MAX);

	error_remedy(listing->err, "copy single files with --in, or mount the directory with --ro");
	return r;
}

static int list_directory(const struct listing *listing, int parent, const char *name,
			  const char *below, unsigned depth);

static int list_entry(const struct listing *listing, int dir, const char *name, const char *below,
		      unsigned depth)
{
	struct stat info;
	char path[PATH_MAX];

	if (name[0] == '.' || strcmp(name, "__pycache__") == 0 ||
	    fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) < 0) {
		return 0;
	}
	if (snprintf(path, sizeof(path), "%s%s%s", below, *below ? "/" : "", name) >=
	    (int)sizeof(path)) {
		return too_many(listing);
	}
	if (S_ISDIR(info.st_mode)) {
		return depth < PROJECT_DEPTH_MAX
			       ? list_directory(listing, dir, name, path, depth + 1)
			       : too_many(listing);
	}
	if (!S_ISREG(info.st_mode) || (!*below && strcmp(name, listing->skipped) == 0)) {
		return 0;
	}
	if (listing->names->count >= PROJECT_FILES_MAX) {
		return too_many(listing);
	}
	if (strlist_add(listing->names, path) < 0 ||
	    strlist_addf(listing->paths, "%s/%s", listing->root, path) < 0) {
		return error_set(listing->err, BRIG_E_SYSTEM, ENOMEM, "no memory for --project");
	}
	return 0;
}

static int list_directory(const struct listing *listing, int parent, const char *name,
			  const char *below, unsigned depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!dir) {
		r = error_errno(listing->err, BRIG_E_INPUT, errno, "--project: cannot read %s/%s",
				listing->root, below);
		close_fd(&fd);
		return r;
	}
	for (struct dirent *entry = readdir(dir); r == 0 && entry; entry = readdir(dir)) {
		r = list_entry(listing, dirfd(dir), entry->d_name, below, depth);
	}
	closedir(dir);
	return r;
}

int run_project_list(const char *file, struct strlist *names, struct strlist *paths,
		     struct brig_error *err)
{
	_cleanup_free_ char *root = directory_of(file);
	const char *slash = file ? strrchr(file, '/') : NULL;
	struct listing listing = { .root = root,
				   .skipped = slash  ? slash + 1
					      : file ? file
						     : "",
				   .names = names,
				   .paths = paths,
				   .err = err };

	if (!root) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for --project");
	}
	/* The directory itself was given by the caller: here a link is followed. */
	_cleanup_close_ int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return error_errno(err, BRIG_E_INPUT, errno, "--project: cannot open %s", root);
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
	return list_directory(&listing, fd, ".", "", 0);
}

/* A plain part of a file name at the start of `text`; its length. */
static size_t plain_length(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
}

char *run_project_missing(const char *file, const char *text)
{
	static const struct {
		const char *before;
		const char *endings[3];
	} forms[] = {
		{ "No module named '", { ".py", "/__init__.py", "" } },
		{ "Cannot find module './", { ".js", "", ".json" } },
	};
	_cleanup_free_ char *root = directory_of(file);

	for (size_t i = 0; root && i < ARRAY_SIZE(forms); i++) {
		const char *found = strstr(text, forms[i].before);
		const char *name = found ? found + strlen(forms[i].before) : "";
		int length = (int)plain_length(name);

		for (size_t j = 0; length > 0 && length < 200 && j < 3; j++) {
			_cleanup_free_ char *path = NULL;
			char *answer = NULL;

			if (asprintf(&path, "%s/%.*s%s", root, length, name, forms[i].endings[j]) <
			    0) {
				path = NULL;
			} else if (access(path, R_OK) == 0 &&
				   asprintf(&answer, "%.*s%s", length, name, forms[i].endings[j]) >=
					   0) {
				/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the same */
				return answer;
			}
		}
	}
	return NULL;
}
