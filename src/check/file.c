/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the cell: which can be read, written and executed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "check/internal.h"

enum wish { WISH_READ, WISH_WRITE, WISH_EXEC };

static const char *const wish_names[] = { "read", "written", "executed" };

/* For a path that does not exist in the cell. */
static void missing(const struct check *check, enum wish wish, const char *path,
		    struct check_answer *ret)
{
	struct stat info;
	bool there = stat(path, &info) == 0;
	bool mounts = check->policy->caller_mounts != CALLER_MOUNTS_NONE;
	const char *slash = strrchr(path, '/');

	if (wish == WISH_WRITE) {
		check_set_answer(ret, CHECK_REFUSED,
				 "the path does not exist, and the root is read-only");
		snprintf(ret->repair, sizeof(ret->repair), "write below /sandbox or /tmp");
		return;
	}
	check_set_answer(ret, CHECK_REFUSED, "not found in the cell%s",
			 there ? ", only on the host" : "");
	if (there && S_ISDIR(info.st_mode)) {
		snprintf(ret->repair, sizeof(ret->repair),
			 mounts ? "mount it with --ro %.128s, then use /mnt/%.64s"
				: "let the operator list %.128s in mounts; it is then /mnt/NAME",
			 path, slash && slash[1] ? slash + 1 : "NAME");
	} else if (there) {
		snprintf(ret->repair, sizeof(ret->repair),
			 "copy it with --in %.200s; it is then below /sandbox", path);
	}
}

static void writable(const struct check *check, enum wish wish, const struct cell_path *place,
		     struct check_answer *ret)
{
	if (wish == WISH_WRITE) {
		policy_trace_key(&check->trace, "limits", "disk", &ret->origin);
		check_set_answer(ret, CHECK_ALLOWED,
				 "the cell's own directory, up to the limit on disk");
	} else if (wish == WISH_READ) {
		check_set_answer(ret, CHECK_ALLOWED, "the cell's own directory: files of the run");
	} else if (place->directory) {
		check_set_answer(ret, CHECK_REFUSED, "it is a directory");
	} else if (place->kind == CELL_PATH_SHM) {
		check_set_answer(ret, CHECK_REFUSED, "shared memory is never executable");
	} else {
		bool may = check->policy->exec_writable;
		policy_trace_key(&check->trace, "exec_writable", NULL, &ret->origin);
		check_set_answer(ret, may ? CHECK_ALLOWED : CHECK_REFUSED,
				 may ? "files in writable directories may be executed"
				     : "files in writable directories may not be executed");
		if (!may) {
			check_repair(check, ret, REPAIR_SET, "exec_writable", NULL, "true");
		}
	}
}

/* A link of the kernel, which leads to whatever file the process has open. */
static bool leads_on(const char *path)
{
	static const struct {
		const char *name;
		bool holds; /* it is a directory of such links */
	} links[] = { { "root", false },
		      { "cwd", false },
		      { "exe", false },
		      { "fd", true },
		      { "map_files", true } };

	for (const char *at = path + strspn(path, "/"); *at; at += strspn(at, "/")) {
		size_t length = strcspn(at, "/");
		for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
			if (strlen(links[i].name) == length &&
			    strncmp(at, links[i].name, length) == 0 &&
			    (!links[i].holds || at[length] == '/')) {
				return true;
			}
		}
		at += length;
	}
	return false;
}

/* The cell's /proc contains processes only. */
static void proc(const struct check *check, enum wish wish, const struct cell_path *place,
		 struct check_answer *ret)
{
	bool sealed = (check->cell.spec.layers & LAYER_BIT(LAYER_LANDLOCK)) != 0;
	const char *inside = place->path + strlen("/proc");
	size_t part = strcspn(inside + (*inside == '/'), "/");
	bool number = part && strspn(inside + 1, "0123456789") == part;
	bool own = *inside == '\0' || strncmp(inside, "/self", 5) == 0 ||
		   strncmp(inside, "/thread-self", 12) == 0 || number;

	/* It belongs to another user, and is hidden. */
	if (number && part == 1 && inside[1] == '1') {
		check_set_answer(ret, CHECK_REFUSED, "process 1 belongs to brig, and is hidden");
	} else if (!own) {
		check_set_answer(ret, CHECK_REFUSED,
				 "the cell's /proc contains only its own processes");
	} else if (leads_on(inside)) {
		check_set_answer(ret, CHECK_DEPENDS,
				 "a link of the kernel: it depends on its target "
				 "at that time");
	} else if (wish == WISH_WRITE && !sealed) {
		check_set_answer(ret, CHECK_DEPENDS,
				 "without the layer landlock a process can write to "
				 "some of its own files");
	} else if (wish == WISH_READ) {
		check_set_answer(ret, CHECK_ALLOWED,
				 "the cell's own processes, as the kernel shows them");
	} else {
		check_set_answer(ret, CHECK_REFUSED, "nothing in /proc can be %s",
				 wish_names[wish]);
	}
}

static void host(enum wish wish, const struct cell_path *place, struct check_answer *ret)
{
	if (wish == WISH_WRITE) {
		check_set_answer(ret, CHECK_REFUSED, "the host's file, read-only in every cell");
		snprintf(ret->repair, sizeof(ret->repair), "write below /sandbox or /tmp");
	} else if (wish == WISH_EXEC && place->directory) {
		check_set_answer(ret, CHECK_REFUSED, "it is a directory");
	} else if (!(place->mode & (wish == WISH_READ ? 4u : 1u))) {
		check_set_answer(ret, CHECK_REFUSED, "its mode does not allow it to be %s",
				 wish_names[wish]);
	} else {
		check_set_answer(ret, CHECK_ALLOWED,
				 "the host's file, read-only: the language of the cell needs it");
	}
}

static void made(enum wish wish, struct check_answer *ret)
{
	if (wish == WISH_READ) {
		check_set_answer(ret, CHECK_ALLOWED, "made by brig, the same in every cell");
		return;
	}
	check_set_answer(ret, CHECK_REFUSED, "made by brig, and read-only");
	if (wish == WISH_WRITE) {
		snprintf(ret->repair, sizeof(ret->repair), "write below /sandbox or /tmp");
	}
}

static void by_place(const struct check *check, enum wish wish, const char *path,
		     const struct cell_path *place, struct check_answer *ret)
{
	switch (place->kind) {
	case CELL_PATH_MISSING:
		missing(check, wish, path, ret);
		return;
	case CELL_PATH_MADE:
		made(wish, ret);
		return;
	case CELL_PATH_HOST:
		host(wish, place, ret);
		return;
	case CELL_PATH_WRITABLE:
	case CELL_PATH_SHM:
		writable(check, wish, place, ret);
		return;
	case CELL_PATH_DEVICE:
		check_set_answer(ret, wish == WISH_EXEC ? CHECK_REFUSED : CHECK_ALLOWED,
				 "one of the five devices of every cell");
		return;
	case CELL_PATH_PROC:
		proc(check, wish, place, ret);
		return;
	case CELL_PATH_CLOSED:
		check_set_answer(ret, CHECK_REFUSED,
				 "the program's user may not enter a directory of the path");
		return;
	}
}

/* A directory that the policy lists under this name. */
static void listed(const struct check *check, enum wish wish, size_t index,
		   struct check_answer *ret)
{
	const struct policy_mount *mount = &check->policy->mounts[index];

	policy_trace_item(&check->trace, "mounts", NULL, index, &ret->origin);
	if (wish == WISH_WRITE && !mount->writable) {
		check_set_answer(ret, CHECK_REFUSED, "%s is mounted read-only", mount->path);
		snprintf(ret->repair, sizeof(ret->repair), "set its mode to \"rw\" (%s:%d)",
			 ret->origin.name, ret->origin.line);
		return;
	}
	check_set_answer(ret, CHECK_ALLOWED, "%s of the host is mounted here", mount->path);
	snprintf(ret->condition, sizeof(ret->condition), "%s %s",
		 wish == WISH_WRITE ? "--rw" : "--ro", mount->name);
}

static void by_caller(const struct check *check, enum wish wish, const char *name,
		      struct check_answer *ret)
{
	static const char *const words[] = {
		[CALLER_MOUNTS_NONE] = "none",
		[CALLER_MOUNTS_RO] = "ro",
		[CALLER_MOUNTS_RW] = "rw",
	};
	enum caller_mounts may = check->policy->caller_mounts;
	bool writes = wish == WISH_WRITE;

	check_origin_word(check, "caller_mounts", NULL, words[may], &ret->origin);
	if (may >= (writes ? CALLER_MOUNTS_RW : CALLER_MOUNTS_RO)) {
		check_set_answer(ret, CHECK_ALLOWED,
				 "callers on this host may mount a directory here");
		snprintf(ret->condition, sizeof(ret->condition), "%s %s=DIR",
			 writes ? "--rw" : "--ro", name);
		return;
	}
	check_set_answer(ret, CHECK_REFUSED,
			 "no mount of the policy has this name, and callers may mount %s",
			 may == CALLER_MOUNTS_NONE ? "nothing" : "read-only");
	check_repair(check, ret, REPAIR_SET, "caller_mounts", NULL, writes ? "\"rw\"" : "\"ro\"");
}

/* /mnt/NAME exists only in a run that mounts it. false: another path. */
static bool by_mount(const struct check *check, enum wish wish, const char *path,
		     struct check_answer *ret)
{
	char name[65];
	const char *from = path + strlen("/mnt/");

	if (strncmp(path, "/mnt/", strlen("/mnt/")) != 0 || strstr(path, "/..")) {
		return false;
	}
	size_t length = strcspn(from, "/");
	if (length == 0 || length >= sizeof(name)) {
		return false;
	}
	snprintf(name, sizeof(name), "%.*s", (int)length, from);
	for (size_t i = 0; i < check->policy->mounts_count; i++) {
		if (strcmp(check->policy->mounts[i].name, name) == 0) {
			listed(check, wish, i, ret);
			return true;
		}
	}
	if (!id_name_valid(name)) {
		return false;
	}
	by_caller(check, wish, name, ret);
	return true;
}

/* To be executed, the filter must allow it as well; in a mount, exec_writable too. */
static void by_execve(struct check *check, struct check_answer *ret)
{
	struct check_call call = { .number = SYS_execve };
	struct check_answer other = { 0 };

	memset(call.known, true, sizeof(call.known));
	check_call_decide(check, &call, &other);
	if (other.verdict != CHECK_ALLOWED) {
		*ret = other;
	}
}

static int answer(struct check *check, enum wish wish, const char *path, struct check_answer *ret,
		  struct brig_error *err)
{
	struct cell_path place;

	if (path[0] != '/') {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%.128s\" is not an absolute path",
				  path);
		error_remedy(err, "write the full path in the cell: /sandbox/%.128s", path);
		return r;
	}
	if (!provider_can(check->policy->provider, ABILITY_OWN_ROOT)) {
		policy_trace_key(&check->trace, "provider", NULL, &ret->origin);
		check_set_answer(ret, CHECK_ALLOWED,
				 "the provider local has no walls: whatever the caller may");
		return 0;
	}
	if (!by_mount(check, wish, path, ret)) {
		int r = check_cell(check);
		/* A policy that runs nothing has no cell to look into. */
		if (r < 0 && check->policy->auto_run == AUTO_RUN_NEVER) {
			check_set_answer(ret, CHECK_ALLOWED, "not decided");
			return 0;
		}
		if (r < 0) {
			*err = check->why;
			return r;
		}
		cell_path_resolve(&check->plan, path, &place);
		by_place(check, wish, path, &place, ret);
	}
	if (wish == WISH_EXEC && ret->verdict == CHECK_ALLOWED) {
		by_execve(check, ret);
	}
	return 0;
}

int check_answer_read(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err)
{
	return answer(check, WISH_READ, text, ret, err);
}

int check_answer_write(struct check *check, const char *text, struct check_answer *ret,
		       struct brig_error *err)
{
	return answer(check, WISH_WRITE, text, ret, err);
}

int check_answer_exec(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err)
{
	return answer(check, WISH_EXEC, text, ret, err);
}
