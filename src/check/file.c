/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the cell: what can be read, written and executed where. */
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

/* What can be said of a path outside of everything that the cell has. */
static void missing(const struct check *check, enum wish wish, const char *path,
		    struct check_answer *ret)
{
	struct stat info;
	bool there = stat(path, &info) == 0;
	bool mounts = check->policy->caller_mounts != CALLER_MOUNTS_NONE;
	const char *slash = strrchr(path, '/');

	if (wish == WISH_WRITE) {
		check_set_answer(ret, CHECK_REFUSED,
				 "nothing can be made there: the root is read-only");
		snprintf(ret->repair, sizeof(ret->repair), "write beneath /sandbox or /tmp");
		return;
	}
	check_set_answer(ret, CHECK_REFUSED, "there is no such file in the cell%s",
			 there ? ", only on the host" : "");
	if (there && S_ISDIR(info.st_mode)) {
		snprintf(ret->repair, sizeof(ret->repair),
			 mounts ? "mount it: --ro %.128s, and look in /mnt/%.64s"
				: "let the operator list %.128s in mounts; it is then /mnt/NAME",
			 path, slash && slash[1] ? slash + 1 : "NAME");
	} else if (there) {
		snprintf(ret->repair, sizeof(ret->repair),
			 "hand it in: --in %.200s; it is then beneath /sandbox", path);
	}
}

static void writable(const struct check *check, enum wish wish, const struct cell_path *place,
		     struct check_answer *ret)
{
	if (wish == WISH_WRITE) {
		policy_trace_key(&check->trace, "limits", "disk", &ret->origin);
		check_set_answer(ret, CHECK_ALLOWED,
				 "the cell's own place, as far as the limit on disk goes");
	} else if (wish == WISH_READ) {
		check_set_answer(ret, CHECK_ALLOWED,
				 "the cell's own place: what the run puts there");
	} else if (place->directory) {
		check_set_answer(ret, CHECK_REFUSED, "it is a directory");
	} else if (place->kind == CELL_PATH_SHM) {
		check_set_answer(ret, CHECK_REFUSED, "shared memory is never executable");
	} else {
		bool may = check->policy->exec_writable;
		policy_trace_key(&check->trace, "exec_writable", NULL, &ret->origin);
		check_set_answer(ret, may ? CHECK_ALLOWED : CHECK_REFUSED,
				 may ? "files in writable places may be executed"
				     : "files in writable places may not be executed");
		if (!may) {
			check_repair(check, ret, REPAIR_SET, "exec_writable", NULL, "true");
		}
	}
}

/* A link of the kernel's, which leads wherever the process has something open. */
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

/* The cell's /proc has processes alone. */
static void proc(const struct check *check, enum wish wish, const struct cell_path *place,
		 struct check_answer *ret)
{
	bool sealed = (check->cell.spec.layers & LAYER_BIT(LAYER_LANDLOCK)) != 0;
	const char *inside = place->path + strlen("/proc");
	size_t part = strcspn(inside + (*inside == '/'), "/");
	bool number = part && strspn(inside + 1, "0123456789") == part;
	bool own = *inside == '\0' || strncmp(inside, "/self", 5) == 0 ||
		   strncmp(inside, "/thread-self", 12) == 0 || number;

	/* Of another user, and so not to be seen. */
	if (number && part == 1 && inside[1] == '1') {
		check_set_answer(ret, CHECK_REFUSED, "process 1 is brig's, and not to be seen");
	} else if (!own) {
		check_set_answer(ret, CHECK_REFUSED,
				 "the cell's /proc has its own processes alone");
	} else if (leads_on(inside)) {
		check_set_answer(ret, CHECK_DEPENDS,
				 "a link of the kernel's: it depends on where it "
				 "leads then");
	} else if (wish == WISH_WRITE && !sealed) {
		check_set_answer(ret, CHECK_DEPENDS,
				 "without the layer landlock a process can write to "
				 "some of its own files");
	} else if (wish == WISH_READ) {
		check_set_answer(ret, CHECK_ALLOWED,
				 "the cell's own processes, as the kernel has it");
	} else {
		check_set_answer(ret, CHECK_REFUSED, "nothing in /proc can be %s",
				 wish_names[wish]);
	}
}

static void host(enum wish wish, const struct cell_path *place, struct check_answer *ret)
{
	if (wish == WISH_WRITE) {
		check_set_answer(ret, CHECK_REFUSED, "the host's file, read-only in every cell");
		snprintf(ret->repair, sizeof(ret->repair), "write beneath /sandbox or /tmp");
	} else if (wish == WISH_EXEC && place->directory) {
		check_set_answer(ret, CHECK_REFUSED, "it is a directory");
	} else if (!(place->mode & (wish == WISH_READ ? 4u : 1u))) {
		check_set_answer(ret, CHECK_REFUSED, "its mode does not let it be %s",
				 wish_names[wish]);
	} else {
		check_set_answer(ret, CHECK_ALLOWED,
				 "the host's, read-only: the language of the cell needs it");
	}
}

static void made(enum wish wish, struct check_answer *ret)
{
	if (wish == WISH_READ) {
		check_set_answer(ret, CHECK_ALLOWED, "made up by brig, the same in every cell");
		return;
	}
	check_set_answer(ret, CHECK_REFUSED, "made up by brig, and read-only");
	if (wish == WISH_WRITE) {
		snprintf(ret->repair, sizeof(ret->repair), "write beneath /sandbox or /tmp");
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
				 "a directory on the way is not open to the program's user");
		return;
	}
}

/* A directory that the policy has under this name. */
static void listed(const struct check *check, enum wish wish, size_t index,
		   struct check_answer *ret)
{
	const struct policy_mount *mount = &check->policy->mounts[index];

	policy_trace_item(&check->trace, "mounts", NULL, index, &ret->origin);
	if (wish == WISH_WRITE && !mount->writable) {
		check_set_answer(ret, CHECK_REFUSED, "%s is mounted for reading only", mount->path);
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
				 "whoever calls brig on this host may mount a directory here");
		snprintf(ret->condition, sizeof(ret->condition), "%s %s=DIR",
			 writes ? "--rw" : "--ro", name);
		return;
	}
	check_set_answer(ret, CHECK_REFUSED,
			 "no mount of the policy has this name, and callers may mount %s",
			 may == CALLER_MOUNTS_NONE ? "nothing" : "for reading only");
	check_repair(check, ret, REPAIR_SET, "caller_mounts", NULL, writes ? "\"rw\"" : "\"ro\"");
}

/* /mnt/NAME is there only in a run that asks for it. false: another path. */
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

/* To be executed it must be let in by the filter as well; in a mount, by exec_writable too. */
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
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%.128s\" is no path of the cell",
				  path);
		error_remedy(err, "write it from its root: /sandbox/%.128s", path);
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
