/* Watched calls and files: see monitor.h. */
#include "core/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "kernel/sys.h"

#define NO_DIRECTORY (-1)

/* Ways to a file's content, and where their path stands. */
static const struct {
	unsigned call;
	int directory, path; /* numbers of arguments */
} opens[] = {
	{ SYS_open, NO_DIRECTORY, 0 },     { SYS_openat, 0, 1 },   { SYS_openat2, 0, 1 },
	{ SYS_creat, NO_DIRECTORY, 0 },    { SYS_execveat, 0, 1 }, { SYS_execve, NO_DIRECTORY, 0 },
	{ SYS_truncate, NO_DIRECTORY, 0 },
};

void monitor_calls(const struct monitor *monitor, struct call_set *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(ret->bits); i++) {
		ret->bits[i] |= monitor->calls.bits[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(opens) && monitor->files && monitor->files->count; i++) {
		call_set_add(ret, opens[i].call);
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

static const char *find_pattern(const struct strlist *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++) {
		if (path_glob_all(files->items[i] + 1, path + 1)) {
			return files->items[i];
		}
	}
	return NULL;
}

/*
 * Where links lead, in the cell's own root. Nothing is opened but the place itself, and what the
 * program changes meanwhile may be missed: it is a look, not a wall.
 */
static bool follow(const struct monitor *monitor, const struct watched_call *call,
		   char path[WATCHED_PATH_MAX])
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	char link[32];

	how.resolve |= monitor->may_wait ? RESOLVE_CACHED : 0;
	snprintf(link, sizeof(link), "/proc/%d/root", call->pid);
	_cleanup_close_ int root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || !watched_is_waiting(call)) {
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

/* Who is not root cannot read a process that is not dumpable: then that is what is told. */
static const char unseen[] = "(unreadable)";
static const char hidden[] = "the program hides its memory";

const char *monitor_file(const struct monitor *monitor, const struct watched_call *call,
			 char path[WATCHED_PATH_MAX])
{
	size_t i = 0;

	while (i < ARRAY_SIZE(opens) && opens[i].call != call->number) {
		i++;
	}
	if (i == ARRAY_SIZE(opens) || !monitor->files || monitor->files->count == 0) {
		return NULL;
	}
	int directory = opens[i].directory < 0 ? AT_FDCWD : (int)call->args[opens[i].directory];
	int r = watched_path(call, directory, call->args[opens[i].path], path, WATCHED_PATH_MAX);
	if (r == -EACCES || r == -EPERM) {
		memcpy(path, unseen, sizeof(unseen));
		return hidden;
	}
	if (r < 0 || path[0] != '/') {
		return NULL;
	}
	monitor_tidy(path);
	const char *pattern = find_pattern(monitor->files, path);
	if (!pattern && follow(monitor, call, path)) {
		pattern = find_pattern(monitor->files, path);
	}
	return pattern;
}
