/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a closure. A path is resolved component by component, as the kernel will do in the cell,
 * so that every link on the way becomes an item and every file or directory is named by its real
 * path.
 */
#include "runtime/closure/closure_set.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "runtime/closure/closure_rules.h"

#define LINKS_MAX 40 /* as the kernel */

void closure_done(struct closure *closure)
{
	for (size_t i = 0; i < closure->count; i++) {
		free(closure->items[i].path);
		free(closure->items[i].target);
	}
	free(closure->items);
	*closure = (struct closure){ 0 };
}

static void truncate_to(struct closure_set *set, size_t count)
{
	while (set->count > count) {
		set->count--;
		free(set->items[set->count].path);
		free(set->items[set->count].target);
	}
}

void closure_set_done(struct closure_set *set)
{
	truncate_to(set, 0);
	free(set->items);
	strlist_done(&set->real_dirs);
	*set = (struct closure_set){ 0 };
}

static int push(struct closure_set *set, enum closure_kind kind, const char *path,
		const char *target)
{
	struct closure_item item = { .kind = kind };

	if (set->count >= CLOSURE_ITEMS_MAX) {
		return -E2BIG;
	}
	if (set->count == set->capacity) {
		size_t capacity = set->capacity ? set->capacity * 2 : 64;
		struct closure_item *items =
			reallocarray(set->items, capacity, sizeof(set->items[0]));

		if (!items) {
			return -ENOMEM;
		}
		set->items = items;
		set->capacity = capacity;
	}
	item.path = strdup(path);
	item.target = target ? strdup(target) : NULL;
	if (!item.path || (target && !item.target)) {
		free(item.path);
		free(item.target);
		return -ENOMEM;
	}
	set->items[set->count++] = item;
	return 0;
}

struct closure_walk {
	char real[PATH_MAX]; /* resolved so far, without a slash at the end; "" is the root */
	char rest[PATH_MAX]; /* the remaining path */
	unsigned links;
	mode_t mode; /* of the file that `real` names */
};

static void walk_up(struct closure_walk *walk)
{
	char *slash = strrchr(walk->real, '/');

	if (slash) {
		*slash = '\0';
	}
	walk->mode = S_IFDIR;
}

/* Takes the next component of `rest` into `name`; false at the end. */
static bool walk_part(struct closure_walk *walk, char name[NAME_MAX + 1], int *error)
{
	char *start = walk->rest + strspn(walk->rest, "/");
	size_t size = strcspn(start, "/");

	if (size == 0) {
		return false;
	}
	if (size > NAME_MAX) {
		*error = -ENAMETOOLONG;
		return false;
	}
	memcpy(name, start, size);
	name[size] = '\0';
	memmove(walk->rest, start + size, strlen(start + size) + 1);
	return true;
}

/* Continues with the target of a link. */
static int walk_link(struct closure_walk *walk, const char *text)
{
	char rest[PATH_MAX];

	if (++walk->links > LINKS_MAX) {
		return -ELOOP;
	}
	if ((size_t)snprintf(rest, sizeof(rest), "%s%s", text, walk->rest) >= sizeof(rest)) {
		return -ENAMETOOLONG;
	}
	memcpy(walk->rest, rest, strlen(rest) + 1);
	if (text[0] == '/') {
		walk->real[0] = '\0';
	}
	walk->mode = S_IFDIR;
	return 0;
}

/* Links that are items already are not read again: most paths begin with the same few. */
static const char *known_link(const struct closure_set *set, const char *path)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i].kind == CLOSURE_LINK && strcmp(set->items[i].path, path) == 0) {
			return set->items[i].target;
		}
	}
	return NULL;
}

static int walk_new_link(struct closure_set *set, struct closure_walk *walk, const char *link)
{
	char text[PATH_MAX];
	ssize_t size = readlink(link, text, sizeof(text) - 1);
	int r;

	if (size < 0) {
		return -errno;
	}
	text[size] = '\0';
	r = push(set, CLOSURE_LINK, link, text);
	return r < 0 ? r : walk_link(walk, text);
}

static int walk_step(struct closure_set *set, struct closure_walk *walk, const char *name)
{
	char next[PATH_MAX];
	struct stat st;
	size_t size;

	if (!S_ISDIR(walk->mode)) {
		return -ENOTDIR;
	}
	size = (size_t)snprintf(next, sizeof(next), "%s/%s", walk->real, name);
	if (size >= sizeof(next)) {
		return -ENAMETOOLONG;
	}
	if (!strlist_has(&set->real_dirs, next)) {
		const char *text = known_link(set, next);

		if (text) {
			return walk_link(walk, text);
		}
		if (lstat(next, &st) < 0) {
			return -errno;
		}
		if (S_ISLNK(st.st_mode)) {
			return walk_new_link(set, walk, next);
		}
		walk->mode = st.st_mode;
		if (S_ISDIR(st.st_mode) && strlist_add(&set->real_dirs, next) < 0) {
			return -ENOMEM;
		}
	}
	memcpy(walk->real, next, size + 1);
	return 0;
}

static int walk_path(struct closure_set *set, struct closure_walk *walk, const char *path)
{
	char name[NAME_MAX + 1];
	int r = 0;

	if (path[0] != '/' || strlen(path) >= sizeof(walk->rest)) {
		return -EINVAL;
	}
	walk->real[0] = '\0';
	walk->links = 0;
	walk->mode = S_IFDIR;
	memcpy(walk->rest, path, strlen(path) + 1);
	while (r == 0 && walk_part(walk, name, &r)) {
		if (strcmp(name, "..") == 0) {
			walk_up(walk);
		} else if (strcmp(name, ".") != 0) {
			r = walk_step(set, walk, name);
		}
	}
	return r;
}

static int add_real(struct closure_set *set, const struct closure_walk *walk, const char *path,
		    struct brig_error *err)
{
	const char *real = walk->real[0] ? walk->real : "/";
	const char *why = closure_refuses(real);

	if (why) {
		return error_set(err, BRIG_E_RUNTIME, EPERM, "closure: %s leads to %s, which %s",
				 path, real, why);
	}
	if (!S_ISDIR(walk->mode) && !S_ISREG(walk->mode)) {
		return error_set(err, BRIG_E_RUNTIME, EPERM,
				 "closure: %s is neither a file nor a directory", real);
	}
	return push(set, S_ISDIR(walk->mode) ? CLOSURE_DIR : CLOSURE_FILE, real, NULL);
}

int closure_set_add(struct closure_set *set, const char *path, char *real, struct brig_error *err)
{
	struct closure_walk walk;
	size_t before = set->count;
	int r = walk_path(set, &walk, path);

	if (r == 0) {
		r = add_real(set, &walk, path, err);
		if (r == -EPERM) {
			truncate_to(set, before);
			return r;
		}
	}
	if (r < 0) {
		truncate_to(set, before);
		if (r == -ENOTDIR || r == -EACCES) {
			/* A path that brig cannot see cannot be shown either. */
			r = -ENOENT;
		}
		return r;
	}
	if (real) {
		memcpy(real, walk.real, strlen(walk.real) + 1);
	}
	return 0;
}

int closure_set_add_link(struct closure_set *set, const char *path)
{
	char text[PATH_MAX];
	ssize_t size = readlink(path, text, sizeof(text) - 1);

	if (size < 0) {
		return errno == EINVAL || errno == ENOENT ? 0 : -errno;
	}
	text[size] = '\0';
	return push(set, CLOSURE_LINK, path, text);
}

static bool is_inside(const char *path, const char *dir)
{
	size_t size = strlen(dir);

	return strncmp(path, dir, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

bool closure_set_covers(const struct closure_set *set, const char *real)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->items[i].kind == CLOSURE_DIR && is_inside(real, set->items[i].path)) {
			return true;
		}
	}
	return false;
}

/*
 * Like strcmp, with '/' before every other byte: the contents of a directory come right after it.
 */
static int compare(const void *left, const void *right)
{
	const unsigned char *a = (const void *)((const struct closure_item *)left)->path;
	const unsigned char *b = (const void *)((const struct closure_item *)right)->path;

	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (*a == '/' ? 1 : *a + 1 - !*a) - (*b == '/' ? 1 : *b + 1 - !*b);
}

void closure_set_finish(struct closure_set *set, struct closure *ret)
{
	size_t kept = 0;
	const char *dir = NULL;

	if (set->count > 1) {
		qsort(set->items, set->count, sizeof(set->items[0]), compare);
	}
	for (size_t i = 0; i < set->count; i++) {
		struct closure_item item = set->items[i];

		if ((dir && is_inside(item.path, dir)) ||
		    (kept && strcmp(set->items[kept - 1].path, item.path) == 0)) {
			free(item.path);
			free(item.target);
			continue;
		}
		if (item.kind == CLOSURE_DIR) {
			dir = item.path;
		}
		set->items[kept++] = item;
	}
	*ret = (struct closure){ .items = set->items, .count = kept };
	set->items = NULL;
	set->count = 0;
	closure_set_done(set);
}
