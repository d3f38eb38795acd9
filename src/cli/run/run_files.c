/* SPDX-License-Identifier: Apache-2.0 */
/* Writes returned files: see run_files.h. */
#include "cli/run/run_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "cli/cli_report.h"

/*
 * Component by component, each by the descriptor of the one before and none of them a link: this
 * needs no openat2, and a link that is planted meanwhile cannot lead elsewhere. *ret_name is the
 * last component.
 */
static int open_parent(int dir, const char *path, const char **ret_name)
{
	int at = fcntl(dir, F_DUPFD_CLOEXEC, 0);

	for (const char *slash = strchr(path, '/'); at >= 0 && slash; slash = strchr(path, '/')) {
		char part[NAME_MAX + 1];
		size_t length = (size_t)(slash - path);

		memcpy(part, path, length);
		part[length] = '\0';
		int next = -1;
		if (mkdirat(at, part, 0777) == 0 || errno == EEXIST) {
			next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		}
		int saved = errno;
		close(at);
		errno = saved;
		at = next;
		path = slash + 1;
	}
	*ret_name = path;
	return at < 0 ? -errno : at;
}

static int write_data(int fd, const char *data, uint64_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size < SSIZE_MAX ? (size_t)size : SSIZE_MAX);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0) {
			data += n;
			size -= (uint64_t)n;
		}
	}
	return 0;
}

/*
 * git runs programs from hooks/ and config in there, at the next commit or even status. Case is
 * ignored: some file systems fold it.
 */
static bool in_git_directory(const char *path)
{
	static const char name[] = ".git";

	while (path) {
		const char *slash = strchr(path, '/');
		size_t length = slash ? (size_t)(slash - path) : strlen(path);

		if (length == strlen(name) && strncasecmp(path, name, length) == 0) {
			return true;
		}
		path = slash ? slash + 1 : NULL;
	}
	return false;
}

static int write_file(int dir, const struct brig_file_out *file,
		      const struct run_files_options *options)
{
	const char *name;
	_cleanup_close_ int parent = open_parent(dir, file->path, &name);

	if (parent < 0) {
		return parent;
	}
	/*
	 * Removed, not truncated: a process that has the old file open or linked keeps it
	 * unchanged.
	 */
	if (options->force && unlinkat(parent, name, 0) < 0 && errno != ENOENT) {
		return -errno;
	}
	_cleanup_close_ int fd =
		openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       file->executable && options->exec ? 0777 : 0666);
	if (fd < 0) {
		return -errno;
	}
	int r = write_data(fd, file->data, file->size);
	if (r < 0) {
		unlinkat(parent, name, 0);
	}
	return r;
}

static int write_error(const char *dir, const char *path, int errnum, struct brig_error *err)
{
	int r = error_errno(err, BRIG_E_INPUT, errnum, "cannot write %s below %s", path, dir);

	if (errnum == EEXIST) {
		error_remedy(err,
			     "remove it, choose another --out-dir, or replace it with --force");
	} else if (errnum == ELOOP || errnum == ENOTDIR) {
		error_remedy(err, "a part of the path is a link or a file, and is not followed");
	}
	return r;
}

int run_files_write(const struct brig_result *result, const struct run_files_options *options,
		    struct brig_error *err)
{
	const char *dir = options->dir;
	const char *first_git = NULL;
	size_t git = 0;

	if (result->files_count == 0) {
		return 0;
	}
	if (mkdir(dir, 0777) < 0 && errno != EEXIST) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot make --out-dir %s", dir);
	}
	/* The directory itself was given by the caller: here a link is followed. */
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot open --out-dir %s", dir);
	}
	for (size_t i = 0; i < result->files_count; i++) {
		const struct brig_file_out *file = &result->files[i];
		const char *why = NULL;

		if (!path_is_beneath(file->path, &why)) {
			return error_set(err, BRIG_E_SYSTEM, EINVAL, "file name %s is refused: %s",
					 file->path, why);
		}
		if (in_git_directory(file->path)) {
			first_git = git++ ? first_git : file->path;
			continue;
		}
		int r = write_file(fd, file, options);
		if (r < 0) {
			return write_error(dir, file->path, -r, err);
		}
	}
	if (git > 0) {
		report_line("files: %zu not written, %s first: git would run files there", git,
			    first_git);
	}
	return 0;
}

static const char *change_word(char kind)
{
	return kind == 'c' ? "created" : kind == 'm' ? "modified" : "deleted";
}

void run_files_report(const struct brig_result *result, bool written)
{
	if (result->files_note) {
		report_line("files: %s", result->files_note);
	}
	if (!written && result->files_count > 0) {
		report_line("files: %zu of out/ %s not kept, %s first; --out-dir DIR keeps them",
			    result->files_count, result->files_count == 1 ? "is" : "are",
			    result->files[0].path);
	}
	for (size_t i = 0; i < result->changes_count; i++) {
		const struct brig_change *change = &result->changes[i];
		report_line("%s: %s (%llu bytes)", change_word(change->kind), change->path,
			    (unsigned long long)change->size);
	}
}
