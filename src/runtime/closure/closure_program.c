/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a program, its #! interpreters, its loader and its libraries. */
#include "runtime/closure/closure_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "runtime/closure/closure_rules.h"
#include "runtime/closure/elf_needs.h"

#define SCRIPT_DEPTH_MAX 4 /* as the kernel */
#define LIBRARIES_MAX    512

/* The loader's default directories; %s is the multiarch name. */
static const char *const library_dirs[] = {
	"/lib/%s", "/usr/lib/%s", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
};

static const char *dir_of(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(dir, PATH_MAX, "%.*s", (int)(slash ? slash - path : 0), path);
	return dir;
}

/*
 * The program chooses the names of its loader and libraries, and it may be hostile: a name is not
 * a way to the caller's directories and documents.
 */
static bool is_object(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char magic[SELFMAG];

	return fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* The file exists: either covered already, or now an item of its own. 1 when it is new. */
static int try_library(struct closure_set *set, const char *path, char real[PATH_MAX])
{
	int r = is_object(path) ? closure_set_add(set, path, real, NULL) : -ENOENT;

	if (r < 0) {
		return r == -EPERM ? -ENOENT : r;
	}
	return closure_set_covers(set, real) ? 0 : 1;
}

/* One entry of a run path, with $ORIGIN replaced. */
static bool runpath_dir(const char *entry, size_t size, const char *origin, char dir[PATH_MAX])
{
	static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t word = strlen(words[i]);

		if (size >= word && memcmp(entry, words[i], word) == 0) {
			return (size_t)snprintf(dir, PATH_MAX, "%s%.*s", origin, (int)(size - word),
						entry + word) < PATH_MAX;
		}
	}
	return size > 0 && entry[0] == '/' &&
	       (size_t)snprintf(dir, PATH_MAX, "%.*s", (int)size, entry) < PATH_MAX;
}

static int search_runpath(struct closure_set *set, const char *runpath, const char *origin,
			  const char *name, char real[PATH_MAX])
{
	char dir[PATH_MAX], path[PATH_MAX];

	while (*runpath) {
		size_t size = strcspn(runpath, ":");

		if (runpath_dir(runpath, size, origin, dir) &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s", dir, name) < sizeof(path)) {
			int r = try_library(set, path, real);

			if (r != -ENOENT) {
				return r;
			}
		}
		runpath += size + (runpath[size] == ':');
	}
	return -ENOENT;
}

static int search_defaults(struct closure_set *set, const char *name, char real[PATH_MAX])
{
	for (size_t i = 0; i < ARRAY_SIZE(library_dirs); i++) {
		char path[PATH_MAX];
		const char *mark = strchr(library_dirs[i], '%');
		int size = mark ? (int)(mark - library_dirs[i]) : (int)strlen(library_dirs[i]);
		int r;

		if ((size_t)snprintf(path, sizeof(path), "%.*s%s/%s", size, library_dirs[i],
				     mark ? closure_multiarch : "", name) >= sizeof(path)) {
			continue;
		}
		r = try_library(set, path, real);
		if (r != -ENOENT) {
			return r;
		}
	}
	return -ENOENT;
}

static int search(struct closure_set *set, const struct elf_needs *needs, const char *origin,
		  const char *name, char real[PATH_MAX])
{
	int r;

	if (strchr(name, '/')) {
		return name[0] == '/' ? try_library(set, name, real) : -ENOENT;
	}
	r = search_runpath(set, needs->runpath, origin, name, real);
	return r == -ENOENT ? search_defaults(set, name, real) : r;
}

/* Finds each library that one object names; new ones are queued. */
static int add_needed(struct closure_set *set, const char *object, const struct elf_needs *needs,
		      struct strlist *queue)
{
	char origin[PATH_MAX], real[PATH_MAX];

	(void)dir_of(object, origin);
	for (size_t i = 0; i < needs->libraries.count; i++) {
		int r = search(set, needs, origin, needs->libraries.items[i], real);

		if (r == 1 && !strlist_has(queue, real)) {
			if (queue->count >= LIBRARIES_MAX) {
				return -E2BIG;
			}
			r = strlist_add(queue, real);
		}
		if (r < 0 && r != -ENOENT) {
			return r;
		}
	}
	return 0;
}

static int read_object(const char *path, struct elf_needs *needs)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : elf_needs_read(fd, needs);
}

static int add_libraries(struct closure_set *set, const char *program,
			 const struct elf_needs *program_needs)
{
	_cleanup_(strlist_done)
	struct strlist queue = { 0 };
	int r = add_needed(set, program, program_needs, &queue);

	for (size_t i = 0; r == 0 && i < queue.count; i++) {
		_cleanup_(elf_needs_done)
		struct elf_needs needs = { 0 };

		/* A file that is not a library is reported by the loader. */
		if (read_object(queue.items[i], &needs) == 0) {
			r = add_needed(set, queue.items[i], &needs, &queue);
		}
	}
	return r;
}

/* The program of a #! line; -ENOEXEC when there is none. */
static int script_interpreter(const char *path, char interpreter[PATH_MAX])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char head[256];
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head) - 1, 0);
	const char *start;
	size_t size;

	if (n < 0) {
		return -errno;
	}
	head[n] = '\0';
	if (strncmp(head, "#!", 2) != 0) {
		return -ENOEXEC;
	}
	start = head + 2 + strspn(head + 2, " \t");
	size = strcspn(start, " \t\n");
	if (size == 0 || start[0] != '/' || start[size] == '\0') {
		return -ENOEXEC;
	}
	memcpy(interpreter, start, size);
	interpreter[size] = '\0';
	return 0;
}

static int add_object(struct closure_set *set, const char *path, char real[PATH_MAX],
		      enum program_kind *kind)
{
	_cleanup_(elf_needs_done)
	struct elf_needs needs = { 0 };
	int r = closure_set_add(set, path, real, NULL);

	if (r == -EPERM) {
		/* The caller will copy it in; its libraries are needed in any case. */
		r = realpath(path, real) ? 0 : -errno;
	}
	if (r < 0) {
		return r;
	}
	r = read_object(real, &needs);
	if (r < 0) {
		return r;
	}
	*kind = needs.loader[0] || needs.libraries.count ? PROGRAM_DYNAMIC : PROGRAM_STATIC;
	if (needs.loader[0] && is_object(needs.loader)) {
		r = closure_set_add(set, needs.loader, NULL, NULL);
	}
	return r < 0 && r != -ENOENT ? r : add_libraries(set, real, &needs);
}

/*
 * The script chooses it, too, and may be hostile: a program, or one of the host's own scripts. Any
 * other script would be a document of the caller's that begins with #!.
 */
static bool is_interpreter(const char *path)
{
	static const char own[] = "/usr/";
	char real[PATH_MAX];

	return is_object(path) || (realpath(path, real) && strncmp(real, own, strlen(own)) == 0);
}

static int refuse_interpreter(const char *script, const char *path, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_RUNTIME, ENOEXEC,
			  "the #! line of %.200s names %.200s, which is neither a program nor a "
			  "script beneath /usr",
			  script, path);

	error_remedy(err, "name the program itself in the #! line");
	return r;
}

int closure_add_program(struct closure_set *set, const char *program, enum program_kind *ret_kind,
			struct brig_error *err)
{
	char path[PATH_MAX], real[PATH_MAX];
	enum program_kind kind = PROGRAM_STATIC;
	unsigned depth = 0;
	int r;

	(void)snprintf(path, sizeof(path), "%s", program);
	r = add_object(set, path, real, &kind);
	while (r == -ENOEXEC && depth++ < SCRIPT_DEPTH_MAX && script_interpreter(real, path) == 0) {
		if (access(path, F_OK) == 0 && !is_interpreter(path)) {
			return refuse_interpreter(real, path, err);
		}
		r = add_object(set, path, real, &kind);
	}
	if (r == -ENOEXEC || r == -EBADMSG) {
		return error_set(err, BRIG_E_RUNTIME, ENOEXEC,
				 "%s is neither a program for this machine nor a script", path);
	}
	if (r < 0) {
		return error_errno(err, BRIG_E_RUNTIME, -r, "%s", path);
	}
	*ret_kind = depth ? PROGRAM_SCRIPT : kind;
	return 0;
}
