/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a program names in its calls, and their use. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"
#include "lib/learn/learn.h"

/*
 * Does the path exist in the cell? Resolved as in the cell: its links do not lead outside. Changes
 * that the program makes meanwhile may be missed: this is only for the record.
 */
static bool is_in_cell(const struct watched_call *call, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	_cleanup_close_ int root = watched_root(call);

	if (root < 0) {
		return true;
	}
	_cleanup_close_ int fd = sys_openat2(root, path, &how);
	return fd != -ENOENT && fd != -ENOTDIR;
}

/* FNV-1a: colliding paths only slow down the record. */
static uint64_t hash_of(const char *path)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *path; path++) {
		hash = (hash ^ (unsigned char)*path) * UINT64_C(0x100000001b3);
	}
	return hash;
}

static struct learn_path *find(struct learn *learn, const char *path, uint64_t hash)
{
	for (size_t i = 0; i < learn->paths_count; i++) {
		if (learn->paths[i].hash == hash && strcmp(learn->paths[i].path, path) == 0) {
			return &learn->paths[i];
		}
	}
	return NULL;
}

static struct learn_path *add(struct learn *learn, const struct watched_call *call,
			      const char *path, uint64_t hash)
{
	if (learn->paths_count == LEARN_PATHS_MAX) {
		learn->paths_untold++;
		return NULL;
	}
	if (!learn->paths) {
		learn->paths = calloc(LEARN_PATHS_MAX, sizeof(*learn->paths));
	}
	char *copy = learn->paths ? strdup(path) : NULL;
	if (!copy) {
		learn->paths_untold++;
		return NULL;
	}
	struct learn_path *new = &learn->paths[learn->paths_count++];
	*new = (struct learn_path){ .path = copy, .hash = hash, .absent = !is_in_cell(call, path) };
	return new;
}

static bool is_writable_place(const char *path)
{
	static const char *const places[] = { "/sandbox/", "/tmp/", "/dev/shm/", "/mnt/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (strncmp(path, places[i], strlen(places[i])) == 0) {
			return true;
		}
	}
	/* A memory file has no path: "/memfd:x (deleted)". */
	return strncmp(path, "/memfd:", 7) == 0;
}

/* Code that is mapped from a file counts as executed, as for the mount flag noexec. */
static void note_mapping(struct learn *learn, const struct watched_call *call)
{
	char link[48], path[WATCHED_PATH_MAX];

	if (call->number != SYS_mmap || !(call->args[2] & PROT_EXEC) ||
	    (call->args[3] & MAP_ANONYMOUS)) {
		return;
	}
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", call->pid, (int)call->args[4]);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n > 0) {
		path[n] = '\0';
		learn->exec_writable |= is_writable_place(path);
	}
}

static void note(struct learn *learn, const struct watched_call *call, const char *path,
		 unsigned use)
{
	uint64_t hash = hash_of(path);
	struct learn_path *found = find(learn, path, hash);

	found = found ? found : add(learn, call, path, hash);
	if (found) {
		found->uses |= use;
		found->count++;
	}
	if (call->decision.action == FILTER_ALLOW && (use & WATCHED_EXEC)) {
		learn->exec_writable |= is_writable_place(path);
	}
}

void learn_paths_note(struct learn *learn, const struct watched_call *call, char *about,
		      size_t size)
{
	char path[WATCHED_PATH_MAX];
	const struct watched_name *name = watched_name_of(call->number);

	note_mapping(learn, call);
	/* A pipe or socket has no path. */
	if (!name || watched_named_path(call, name, path, sizeof(path)) <= 0 || path[0] != '/') {
		return;
	}
	note(learn, call, path, watched_use_of(call, name));
	snprintf(about, size, "%s", path);
}
