/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of the cell: which can be read, written and executed. The kernel in a real cell decides
 * (cell_probe.h); this names the rule behind its answer. Where no rule is known for an answer, the
 * text says only what the kernel answered.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "check/internal.h"

enum file_place {
	PLACE_MADE,     /* made by brig, read-only */
	PLACE_HOST,     /* of the host, read-only: needed by the language */
	PLACE_MOUNT,    /* of a directory that the policy lists */
	PLACE_WRITABLE, /* the cell's own */
	PLACE_SHM,      /* likewise, and never executable */
	PLACE_DEVICE,
	PLACE_PROC,
	PLACE_MISSING, /* the path does not exist */
	PLACE_CLOSED,  /* the program's user may not enter a directory of the path */
	PLACE_UNKNOWN, /* the filter refuses what is needed to find it */
};

/* The reason for an answer of the kernel; the first row that fits. */
static const struct {
	enum file_place place;
	enum prober_wish wish;
	int errnum; /* 0: allowed */
	const char *reason;
} reasons[] = {
	{ PLACE_MADE, PROBER_READ, 0, "made by brig, the same in every cell" },
	{ PLACE_MADE, PROBER_WRITE, EROFS, "made by brig, and read-only" },
	{ PLACE_MADE, PROBER_WRITE, EACCES, "made by brig, and read-only" },
	{ PLACE_MADE, PROBER_EXEC, EACCES, "made by brig, and not a program" },
	{ PLACE_HOST, PROBER_READ, 0,
	  "the host's file, read-only: the language of the cell needs it" },
	{ PLACE_HOST, PROBER_READ, EACCES, "its mode does not allow it to be read" },
	{ PLACE_HOST, PROBER_WRITE, EROFS, "the host's file, read-only in every cell" },
	{ PLACE_HOST, PROBER_WRITE, EACCES, "the host's file, read-only in every cell" },
	{ PLACE_HOST, PROBER_EXEC, 0,
	  "the host's file, read-only: the language of the cell needs it" },
	{ PLACE_HOST, PROBER_EXEC, EACCES, "its mode does not allow it to be executed" },
	{ PLACE_MOUNT, PROBER_READ, EACCES, "its mode does not allow it to be read" },
	{ PLACE_MOUNT, PROBER_WRITE, EACCES, "its mode does not allow it to be written" },
	{ PLACE_MOUNT, PROBER_EXEC, EACCES, "its mode does not allow it to be executed" },
	{ PLACE_WRITABLE, PROBER_READ, 0, "the cell's own directory: files of the run" },
	{ PLACE_WRITABLE, PROBER_WRITE, 0, "the cell's own directory, up to the limit on disk" },
	{ PLACE_WRITABLE, PROBER_EXEC, 0, "files in writable directories may be executed" },
	{ PLACE_WRITABLE, PROBER_EXEC, EACCES,
	  "files in writable directories may not be executed" },
	{ PLACE_SHM, PROBER_READ, 0, "the cell's own directory: files of the run" },
	{ PLACE_SHM, PROBER_WRITE, 0, "the cell's own directory, up to the limit on disk" },
	{ PLACE_SHM, PROBER_EXEC, EACCES, "shared memory is never executable" },
	{ PLACE_DEVICE, PROBER_READ, 0, "one of the five devices of every cell" },
	{ PLACE_DEVICE, PROBER_WRITE, 0, "one of the five devices of every cell" },
	{ PLACE_DEVICE, PROBER_EXEC, EACCES, "a device cannot be executed" },
	{ PLACE_PROC, PROBER_READ, 0, "the cell's own processes, as the kernel shows them" },
	{ PLACE_PROC, PROBER_READ, ENOENT, "the cell's /proc contains only its own processes" },
	{ PLACE_PROC, PROBER_EXEC, ENOENT, "the cell's /proc contains only its own processes" },
	{ PLACE_PROC, PROBER_WRITE, EACCES, "nothing in /proc can be written" },
	{ PLACE_PROC, PROBER_WRITE, EOPNOTSUPP, "nothing in /proc can be written" },
	{ PLACE_PROC, PROBER_EXEC, EACCES, "nothing in /proc can be executed" },
	{ PLACE_MISSING, PROBER_READ, ENOENT, "not found in the cell" },
	{ PLACE_MISSING, PROBER_EXEC, ENOENT, "not found in the cell" },
	{ PLACE_MISSING, PROBER_WRITE, EROFS,
	  "the path does not exist, and the directory is read-only" },
	{ PLACE_MISSING, PROBER_WRITE, EACCES,
	  "the path does not exist, and the directory cannot be written" },
	{ PLACE_CLOSED, PROBER_READ, EACCES,
	  "the program's user may not enter a directory of the path" },
	{ PLACE_CLOSED, PROBER_WRITE, EACCES,
	  "the program's user may not enter a directory of the path" },
	{ PLACE_CLOSED, PROBER_EXEC, EACCES,
	  "the program's user may not enter a directory of the path" },
};

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

static enum file_place place_of(const struct check *check, const struct prober_answer *found)
{
	const char *where = found->where;

	if (!where[0]) {
		return PLACE_UNKNOWN;
	}
	if (found->missing == EACCES) {
		return PLACE_CLOSED;
	}
	if (probe_mount(check, where) >= 0) {
		return PLACE_MOUNT;
	}
	if (found->place == PROBER_DEVICE) {
		return PLACE_DEVICE;
	}
	if (is_below(where, "/dev/shm")) {
		return PLACE_SHM;
	}
	if (is_below(where, "/sandbox") || is_below(where, "/tmp")) {
		return PLACE_WRITABLE;
	}
	if (found->place == PROBER_PROC) {
		return PLACE_PROC;
	}
	if (found->missing) {
		return PLACE_MISSING;
	}
	return found->place == PROBER_OWN || is_below(where, "/dev") ? PLACE_MADE : PLACE_HOST;
}

/* The kernel's answer, and the rule behind it. */
static void set_reason(enum file_place place, enum prober_wish wish, unsigned errnum,
		       bool directory, struct check_answer *ret)
{
	const char *reason = NULL, *name = strerrorname_np((int)errnum);

	for (size_t i = 0; i < ARRAY_SIZE(reasons) && !reason; i++) {
		bool fits = reasons[i].place == place && reasons[i].wish == wish &&
			    (unsigned)reasons[i].errnum == errnum;
		reason = fits ? reasons[i].reason : NULL;
	}
	if (wish == PROBER_EXEC && directory && errnum == EACCES) {
		reason = "it is a directory";
	}
	if (errnum == 0) {
		check_set_answer(ret, CHECK_ALLOWED, "%s",
				 reason ? reason : "the kernel allows it");
		return;
	}
	check_set_answer(ret, CHECK_REFUSED, "%s (%s)",
			 reason                         ? reason
			 : strerrordesc_np((int)errnum) ? strerrordesc_np((int)errnum)
							: "refused by the kernel",
			 name ? name : "unknown error");
}

/* For a path that exists on the host, and not in the cell. */
static void advise_missing(const struct check *check, const char *path, struct check_answer *ret)
{
	struct stat info;
	bool mounts = check->policy->caller_mounts != CALLER_MOUNTS_NONE;
	const char *slash = strrchr(path, '/');
	size_t used = strlen(ret->reason);

	if (stat(path, &info) < 0) {
		return;
	}
	snprintf(ret->reason + used, sizeof(ret->reason) - used, ", only on the host");
	if (S_ISDIR(info.st_mode)) {
		snprintf(ret->repair, sizeof(ret->repair),
			 mounts ? "mount it with --ro %.128s, then use /mnt/%.64s"
				: "let the operator list %.128s in mounts; it is then /mnt/NAME",
			 path, slash && slash[1] ? slash + 1 : "NAME");
	} else {
		snprintf(ret->repair, sizeof(ret->repair),
			 "copy it with --in %.200s; it is then below /sandbox", path);
	}
}

/* The line that decides about the cell's own directories. */
static void trace_writable(const struct check *check, enum prober_wish wish, unsigned errnum,
			   struct check_answer *ret)
{
	if (wish == PROBER_WRITE) {
		policy_trace_key(&check->trace, "limits", "disk", &ret->origin);
		return;
	}
	/* Only if the kernel's answer is what this line says. */
	if (wish != PROBER_EXEC || (errnum == 0) != check->policy->exec_writable) {
		return;
	}
	policy_trace_key(&check->trace, "exec_writable", NULL, &ret->origin);
	if (errnum == EACCES) {
		check_repair(check, ret, REPAIR_SET, "exec_writable", NULL, "true");
	}
}

/* A directory that the policy lists. */
static void explain_mount(const struct check *check, const struct probe *probe,
			  struct check_answer *ret)
{
	int place = probe_mount(check, probe->answer.where);
	const struct policy_mount *mount = &check->policy->mounts[place];

	policy_trace_item(&check->trace, "mounts", NULL, (size_t)place, &ret->origin);
	if (probe->answer.errnum == 0) {
		check_set_answer(ret, CHECK_ALLOWED, "%s of the host is mounted here", mount->path);
		snprintf(ret->condition, sizeof(ret->condition), "%s %s",
			 probe->wish == PROBER_WRITE ? "--rw" : "--ro", mount->name);
	} else if (probe->answer.errnum == EROFS && !mount->writable) {
		check_set_answer(ret, CHECK_REFUSED, "%s is mounted read-only (EROFS)",
				 mount->path);
		snprintf(ret->repair, sizeof(ret->repair), "set its mode to \"rw\" (%s:%d)",
			 ret->origin.name, ret->origin.line);
	}
}

static void explain(const struct check *check, const struct probe *probe, struct check_answer *ret)
{
	const struct prober_answer *found = &probe->answer;
	enum file_place place = place_of(check, found);

	if (probe->ended) {
		check_set_answer(ret, CHECK_REFUSED, "the policy ends a program that attempts it");
		return;
	}
	if (found->means == PROBER_DEPENDS) {
		check_set_answer(ret, CHECK_DEPENDS,
				 "a link of the kernel, or a process, thread or descriptor by its "
				 "number: it depends on the program at that time");
		return;
	}
	set_reason(place, probe->wish, found->errnum, found->directory && !found->missing, ret);
	if (place == PLACE_WRITABLE || (place == PLACE_SHM && probe->wish == PROBER_WRITE)) {
		trace_writable(check, probe->wish, found->errnum, ret);
	} else if (place == PLACE_MOUNT) {
		explain_mount(check, probe, ret);
	} else if (found->errnum && probe->wish == PROBER_WRITE && place != PLACE_UNKNOWN) {
		snprintf(ret->repair, sizeof(ret->repair), "write below /sandbox or /tmp");
	} else if (place == PLACE_MISSING && found->errnum == ENOENT) {
		advise_missing(check, probe->path, ret);
	}
}

/* A mount that only a request names: the policy decides whether a caller may. */
static void explain_caller(const struct check *check, enum prober_wish wish, const char *name,
			   struct check_answer *ret)
{
	static const char *const words[] = {
		[CALLER_MOUNTS_NONE] = "none",
		[CALLER_MOUNTS_RO] = "ro",
		[CALLER_MOUNTS_RW] = "rw",
	};
	enum caller_mounts may = check->policy->caller_mounts;
	bool writes = wish == PROBER_WRITE;

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

/* /mnt/NAME that no mount of the policy has: no directory is known to ask about. */
static bool is_callers(const struct check *check, const char *path, char name[65])
{
	return probe_mount_name(path, name) && probe_mount(check, path) < 0 &&
	       id_name_valid(name) && !strstr(path, "/..");
}

static int ask(struct check *check, enum prober_wish wish, const char *path,
	       struct check_answer *ret, struct brig_error *err)
{
	size_t place;
	int r = probes_add(&check->probes, wish, path, &place, err);

	r = r < 0 ? r : probe_ask(check, place, err);
	if (r < 0) {
		return r;
	}
	const struct probe *probe = &check->probes.items[place];
	if (probe->answer.means == PROBER_UNKNOWN) {
		return error_set(err, BRIG_E_POLICY, ENOTSUP,
				 "the policy's filter refuses calls that are needed to ask");
	}
	explain(check, probe, ret);
	return 0;
}

static int answer(struct check *check, enum prober_wish wish, const char *path,
		  struct check_answer *ret, struct brig_error *err)
{
	char name[65];

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
	/* A policy that runs nothing has no cell to ask; consent is considered last. */
	if (check->policy->auto_run == AUTO_RUN_NEVER) {
		check_set_answer(ret, CHECK_ALLOWED, "not decided");
		return 0;
	}
	if (is_callers(check, path, name)) {
		explain_caller(check, wish, name, ret);
		return 0;
	}
	return ask(check, wish, path, ret, err);
}

int check_answer_read(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err)
{
	return answer(check, PROBER_READ, text, ret, err);
}

int check_answer_write(struct check *check, const char *text, struct check_answer *ret,
		       struct brig_error *err)
{
	return answer(check, PROBER_WRITE, text, ret, err);
}

int check_answer_exec(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err)
{
	return answer(check, PROBER_EXEC, text, ret, err);
}
