/* SPDX-License-Identifier: Apache-2.0 */
/* Watched calls and files: see monitor.h. */
#include "native/calls/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

int monitor_init(struct monitor *monitor, const struct strlist *files)
{
	*monitor = (struct monitor){ .files = files };
	if (files->count == 0) {
		return 0;
	}
	_cleanup_free_ const char **patterns = calloc(files->count + 1, sizeof(*patterns));
	if (!patterns) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < files->count; i++) {
		patterns[i] = files->items[i] + 1;
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
	return path_globs_new(patterns, &monitor->globs);
}

void monitor_done(struct monitor *monitor)
{
	path_globs_free(monitor->globs);
	*monitor = (struct monitor){ 0 };
}

void monitor_calls(const struct monitor *monitor, struct call_set *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(ret->bits); i++) {
		ret->bits[i] |= monitor->calls.bits[i];
	}
	if (monitor->globs) {
		watched_opening_calls(ret);
	}
}

void monitor_tidy(char *path)
{
	char *out = path;

	for (const char *at = path; *at;) {
		at += strspn(at, "/");
		size_t length = strcspn(at, "/");

		if (length == 2 && memcmp(at, "..", 2) == 0) {
			while (out > path && *--out != '/') {
			}
		} else if (length > 0 && !(length == 1 && *at == '.')) {
			*out++ = '/';
			memmove(out, at, length);
			out += length;
		}
		at += length;
	}
	if (out == path) {
		*out++ = '/';
	}
	*out = '\0';
}

/* Globs match relative paths: neither side has its first slash. */
static const char *find_pattern(const struct monitor *monitor, const char *path)
{
	uint64_t work = 0;
	int found = path_globs_find(monitor->globs, path + 1, false, &work);

	return found < 0 ? NULL : monitor->files->items[found];
}

/*
 * Resolves links in the cell's own root. The file is opened only as O_PATH, and changes that the
 * program makes meanwhile may be missed: this observes, it does not protect.
 */
static bool follow_links(const struct monitor *monitor, const struct watched_call *call,
			 char path[WATCHED_PATH_MAX])
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char link[32];

	how.resolve |= monitor->may_wait ? RESOLVE_CACHED : 0;
	_cleanup_close_ int root = watched_root(call);
	if (root < 0) {
		return false;
	}
	_cleanup_close_ int file = sys_openat2(root, path, &how);
	if (file < 0) {
		return false;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	ssize_t size = readlink(link, path, WATCHED_PATH_MAX - 1);
	if (size <= 0 || path[0] != '/') {
		return false;
	}
	path[size] = '\0';
	return true;
}

/* Without root a process that is not dumpable cannot be read: then this is reported. */
static const char unseen[] = "(unreadable)";
static const char hidden[] = "the program hides its memory";

const char *monitor_file(const struct monitor *monitor, const struct watched_call *call,
			 char path[WATCHED_PATH_MAX])
{
	const struct watched_name *name = watched_name_of(call->number);

	if (!name || !name->opens || !monitor->globs) {
		return NULL;
	}
	int r = watched_named_path(call, name, path, WATCHED_PATH_MAX);
	if (r == -EACCES || r == -EPERM) {
		memcpy(path, unseen, sizeof(unseen));
		return hidden;
	}
	if (r < 0 || path[0] != '/') {
		return NULL;
	}
	monitor_tidy(path);
	const char *pattern = find_pattern(monitor, path);
	if (!pattern && follow_links(monitor, call, path)) {
		pattern = find_pattern(monitor, path);
	}
	return pattern;
}
