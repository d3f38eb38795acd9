/* SPDX-License-Identifier: Apache-2.0 */
/* Directories and files in a proposal: mounted, used, missing. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/sys.h"
#include "lib/learn/learn.h"
#include "runtime/venv/venv.h"

#define SHOWN_MAX  40 /* files, as comments */
#define ABSENT_MAX 20

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Did it change anything beneath /mnt/NAME? */
static bool was_written(const struct learn *learn, const char *name)
{
	char prefix[80];

	int length = snprintf(prefix, sizeof(prefix), "/mnt/%s/", name);
	for (size_t i = 0; i < learn->paths_count; i++) {
		if ((learn->paths[i].uses & WATCHED_WRITE) &&
		    strncmp(learn->paths[i].path, prefix, (size_t)length) == 0) {
			return true;
		}
	}
	return learn->paths_untold > 0;
}

static void print_mount(struct buf *out, const char *name, const char *path, bool writable,
			const char *between)
{
	buf_addf(out, "%s\t\t{ \"name\": ", between);
	learn_print_quoted(out, name);
	buf_adds(out, ", \"path\": ");
	learn_print_quoted(out, path);
	buf_addf(out, ", \"mode\": \"%s\" }", writable ? "rw" : "ro");
}

static const struct policy_mount *listed(const struct policy *policy, const char *name)
{
	for (size_t i = 0; policy && i < policy->mounts_count; i++) {
		if (strcmp(policy->mounts[i].name, name) == 0) {
			return &policy->mounts[i];
		}
	}
	return NULL;
}

static void print_asked(const struct learn *learn, const struct learn_origin *origin,
			const struct brig_mount *mount, const char **between, struct buf *out)
{
	const struct policy_mount *by_name = listed(origin->under, mount->path);
	const char *name = mount->name ? mount->name : last_part(mount->path);
	bool writable = mount->writable && was_written(learn, name);
	char real[PATH_MAX];
	const char *path = by_name ? by_name->path : realpath(mount->path, real);

	if (path) {
		print_mount(out, name, path, writable, *between);
		*between = ",\n";
	}
}

static void print_mounts(const struct learn *learn, const struct learn_origin *origin,
			 struct buf *out)
{
	const struct brig_request *request = origin->request;
	const char *between = "\n";

	buf_adds(out, "\t// A run asks for these by name: --ro NAME.\n\t\"mounts\": [");
	for (size_t i = 0; i < request->mounts_count; i++) {
		print_asked(learn, origin, &request->mounts[i], &between, out);
	}
	for (size_t i = 0; origin->extended && i < origin->extended->mounts_count; i++) {
		const struct policy_mount *mount = &origin->extended->mounts[i];
		bool again = false;

		for (size_t k = 0; k < request->mounts_count; k++) {
			const struct brig_mount *asked = &request->mounts[k];
			const char *name = asked->name ? asked->name : last_part(asked->path);
			again |= strcmp(name, mount->name) == 0;
		}
		if (!again) {
			print_mount(out, mount->name, mount->path, mount->writable, between);
			between = ",\n";
		}
	}
	buf_adds(out, between[0] == ',' ? "\n\t],\n" : "],\n");
	buf_adds(out, "\t\"caller_mounts\": \"none\",\n");
}

/* The path of the run's virtualenv, by whatever it was named. */
static void print_venv(const struct learn_origin *origin, struct buf *out)
{
	const struct policy *under = origin->under, *extended = origin->extended;
	const char *name = origin->request->venv  ? origin->request->venv
			   : under && under->venv ? under->venv
			   : extended             ? extended->venv
						  : NULL;
	const char *path = !name || name[0] == '/' ? name : NULL;
	_cleanup_free_ char *dir = NULL, *stored = NULL;

	path = !path && name && under ? policy_venv_path(under, name) : path;
	path = !path && name && extended ? policy_venv_path(extended, name) : path;
	if (!path && name) {
		dir = venv_store_dir();
		path = dir && asprintf(&stored, "%s/%s", dir, name) >= 0 ? stored : NULL;
	}
	if (path) {
		buf_adds(out, "\t\"venv\": ");
		learn_print_quoted(out, path);
		buf_adds(out, ",\n");
	}
}

/* Beneath these the cell has its own files, or none. */
static bool is_own(const char *path)
{
	static const char *const own[] = { "/proc/",    "/sys/", "/dev/", "/run/",
					   "/sandbox/", "/tmp/", "/mnt/" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (strncmp(path, own[i], strlen(own[i])) == 0) {
			return true;
		}
	}
	return path[0] != '/';
}

/*
 * The program chose the path, and the lookup must have no effect: no link is followed, nothing is
 * mounted or requested from another host. So the path is looked up in the kernel's cache; else in
 * the root's own file system.
 */
static bool is_on_host(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_CACHED };
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *inside = path + strspn(path, "/");
	int fd = root < 0 ? -EIO : sys_openat2(root, inside, &how);

	if (fd == -EAGAIN || fd == -EINVAL) {
		how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
		fd = sys_openat2(root, inside, &how);
	}
	if (fd >= 0) {
		close(fd);
	}
	return fd >= 0;
}

static void print_uses(struct buf *out, const struct learn_path *path)
{
	static const struct {
		unsigned use;
		const char *word;
	} words[] = { { WATCHED_EXEC, "executed" },
		      { WATCHED_WRITE, "written" },
		      { WATCHED_READ, "read" },
		      { WATCHED_LOOK, "looked at" } };
	const char *between = "";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (path->uses & words[i].use) {
			buf_addf(out, "%s%s", between, words[i].word);
			between = ", ";
		}
	}
}

static void print_path(struct buf *out, const struct learn_path *path)
{
	buf_adds(out, "\t//   ");
	learn_print_plain(out, path->path);
	buf_adds(out, ": ");
	print_uses(out, path);
	buf_addf(out, ", %" PRIu64 "x\n", path->count);
}

static void print_absent(const struct learn *learn, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < learn->paths_count && shown < ABSENT_MAX; i++) {
		const struct learn_path *path = &learn->paths[i];

		if (!path->absent || is_own(path->path) || !is_on_host(path->path)) {
			continue;
		}
		if (shown++ == 0) {
			buf_adds(out, "\t// The host has these, the cell has not. Not proposed; a "
				      "directory can be shown with\n"
				      "\t//   { \"name\": \"NAME\", \"path\": \"DIR\", \"mode\": "
				      "\"ro\" }\n\t// and is /mnt/NAME in the cell.\n");
		}
		print_path(out, path);
	}
}

static void print_used(const struct learn *learn, struct buf *out)
{
	size_t shown = 0, more = 0;

	for (size_t i = 0; i < learn->paths_count; i++) {
		const struct learn_path *path = &learn->paths[i];

		if (path->absent && !(path->uses & WATCHED_WRITE)) {
			continue;
		}
		if (!(path->uses & ~(unsigned)WATCHED_LOOK)) {
			continue;
		}
		if (shown == SHOWN_MAX) {
			more++;
			continue;
		}
		if (shown++ == 0) {
			buf_adds(out, "\t// Files that it used, all in the cell already:\n");
		}
		print_path(out, path);
	}
	if (more || learn->paths_untold) {
		buf_addf(out, "\t//   and %" PRIu64 " more (--json lists them)\n",
			 more + learn->paths_untold);
	}
}

void learn_print_files(const struct learn *learn, const struct learn_origin *origin,
		       struct buf *out)
{
	print_used(learn, out);
	print_absent(learn, out);
	print_mounts(learn, origin, out);
	print_venv(origin, out);
}
