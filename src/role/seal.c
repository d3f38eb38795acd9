/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The privileges of the roles, as a table.
 *
 * front   Reads input of clients. Keeps: its descriptors, memory, clocks, random bytes. No file
 *         system, no new socket, no process, no id that owns anything.
 * ledger  Reads messages of the front. Keeps: the same, and the files beneath its own directory.
 * warden  Builds cells, for which libbrig needs namespaces, mounts, id maps, control groups, the
 *         runtimes' files, children. As root it gives up all rights on the host, and becomes root
 *         of a user namespace that has the ids of cells and no others; the broker does what then
 *         still needs the host's root. It has no Landlock and no filter, because cells need the
 *         calls that those forbid. It parses no input of clients: requests come from the front as
 *         counted records, and code goes into the cell as bytes. As an ordinary user it keeps the
 *         user's rights. On a host without user namespaces for ordinary users IT KEEPS ROOT AND
 *         ITS CAPABILITIES, and the log reports it.
 * broker  Acts as root: the warden's id map and control group at the start, device nodes for each
 *         cell. Reads fixed records from the warden only; no path, no text.
 *
 * Steps that a host may lack (Landlock, namespaces in a container) are reported; all others are
 * required: a role that cannot apply them does not start.
 */
#include "role/seal.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/caps.h"
#include "kernel/landlock.h"

#define CAPS_TRIED 64 /* higher than the last capability of any kernel */

#define BIT(role) (1u << (role))
#define FRONT     BIT(ROLE_FRONT)
#define WARDEN    BIT(ROLE_WARDEN)
#define LEDGER    BIT(ROLE_LEDGER)
#define BROKER    BIT(ROLE_BROKER)

static const char *const names[ROLE_COUNT] = {
	[ROLE_FRONT] = "front",
	[ROLE_WARDEN] = "warden",
	[ROLE_LEDGER] = "ledger",
	[ROLE_BROKER] = "broker",
};

const char *role_name(enum role_name role)
{
	return names[role];
}

/* --- the steps of the table ----------------------------------------------------------------- */

static int seal_core(const struct seal_options *options, struct seal_report *report)
{
	struct rlimit one = { 1, 1 };

	(void)options;
	(void)report;
	return setrlimit(RLIMIT_CORE, &one) < 0 ? -errno : 0;
}

/*
 * Any user may raise the limit up to the hard limit, root above it too. A lower limit is only
 * reported.
 */
static int seal_files(const struct seal_options *options, struct seal_report *report)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
		return -errno;
	}
	rlim_t wanted = options->open_files ? options->open_files : limit.rlim_max;
	struct rlimit raised = { wanted, wanted > limit.rlim_max ? wanted : limit.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, &raised) < 0) {
		raised = (struct rlimit){ limit.rlim_max, limit.rlim_max };
		if (setrlimit(RLIMIT_NOFILE, &raised) < 0) {
			return -errno;
		}
	}
	report->open_files = (unsigned)raised.rlim_cur;
	return raised.rlim_cur < wanted ? -ENOTSUP : 0;
}

static int seal_processes(const struct seal_options *options, struct seal_report *report)
{
	struct rlimit none = { 0, 0 };

	(void)options;
	(void)report;
	return setrlimit(RLIMIT_NPROC, &none) < 0 ? -errno : 0;
}

/*
 * Sockets that it already has keep working, whatever network they belong to. No user namespace: in
 * one, the ids of the peers of unix sockets would not be known (user_namespaces(7): unmapped ids).
 */
static int seal_namespaces(const struct seal_options *options, struct seal_report *report)
{
	(void)options;
	(void)report;
	return unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ? -ENOTSUP : 0;
}

static int seal_landlock(const struct seal_options *options, struct seal_report *report)
{
	char path[32];
	struct landlock_place place = { .path = path, .writable = true };
	int abi = landlock_abi();

	(void)report;
	if (abi <= 0) {
		return -ENOTSUP;
	}
	/*
	 * landlock_restrict_self(2) requires it, unless the process has a capability that will soon
	 * be gone.
	 */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
		return -errno;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", options->directory);
	return landlock_enforce(abi, &place, options->directory >= 0 ? 1 : 0);
}

/* While it has the capability for it: afterwards no program that it starts could gain one. */
static int seal_bounding(const struct seal_options *options, struct seal_report *report)
{
	(void)options;
	(void)report;
	for (int cap = 0; cap < CAPS_TRIED; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && (errno != EINVAL || cap == 0)) {
			return errno == EPERM ? -ENOTSUP : -errno;
		}
	}
	return 0;
}

static int seal_ids(const struct seal_options *options, struct seal_report *report)
{
	uid_t id = report->id;

	(void)options;
	if (id == geteuid()) {
		return -ENOTSUP; /* this namespace has no unused id */
	}
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0) {
		return -errno;
	}
	return 0;
}

static int seal_warden(const struct seal_options *options, struct seal_report *report)
{
	int r = seal_own_root(options->broker, report->id);

	if (r == -ENOTSUP) {
		report->id = geteuid();
	}
	return r;
}

/* For mounts of device nodes, and for the directories of a group that it gave to another user. */
static int seal_few_caps(const struct seal_options *options, struct seal_report *report)
{
	(void)options;
	(void)report;
	return caps_keep(1ull << CAP_SYS_ADMIN | 1ull << CAP_MKNOD | 1ull << CAP_DAC_OVERRIDE);
}

/* Without CAP_SETPCAP the bounding set stays, which has no effect without new privileges. */
static int seal_caps(const struct seal_options *options, struct seal_report *report)
{
	(void)options;
	(void)report;
	int r = caps_drop_all();
	return r == -EPERM ? caps_give_up() : r;
}

static int seal_nnp(const struct seal_options *options, struct seal_report *report)
{
	(void)options;
	(void)report;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int seal_dumpable(const struct seal_options *options, struct seal_report *report)
{
	(void)options;
	(void)report;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* Set again, because the change of ids reset it; and the supervisor may have died before. */
static int seal_parent(const struct seal_options *options, struct seal_report *report)
{
	(void)report;
	if (!options->supervisor) {
		return 0;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) {
		return -errno;
	}
	return getppid() == options->supervisor ? 0 : -ESRCH;
}

static int seal_filter(const struct seal_options *options, struct seal_report *report)
{
	(void)report;
	return seal_calls(options->role, NULL);
}

/*
 * In this order: the ids need capabilities, and the filter allows none of these calls. `may_lack`:
 * the role also runs on a host without it. `root`: only root can do it, and only root must.
 */
static const struct {
	enum seal_kind kind;
	unsigned roles;
	bool root, may_lack;
	const char *name;
	const char *reason;
	int (*apply)(const struct seal_options *options, struct seal_report *report);
} table[] = {
	{ SEAL_CORE, FRONT | WARDEN | LEDGER | BROKER, false, false, "core",
	  "requests, code and keys are in its memory", seal_core },
	{ SEAL_FILES, FRONT | WARDEN, false, true, "open-files",
	  "a descriptor for each connection, several for each cell", seal_files },
	{ SEAL_PROCESSES, FRONT | LEDGER | BROKER, false, false, "processes",
	  "it needs no child and no thread", seal_processes },
	{ SEAL_NAMESPACES, FRONT | LEDGER, true, true, "namespaces",
	  "its sockets were made by the supervisor; it needs no network of its own",
	  seal_namespaces },
	{ SEAL_LANDLOCK, FRONT, false, true, "landlock", "it opens no file", seal_landlock },
	{ SEAL_LANDLOCK, LEDGER, false, true, "landlock", "it opens its database and nothing else",
	  seal_landlock },
	{ SEAL_BOUNDING, FRONT | LEDGER, true, true, "bounding-set",
	  "no program that it could start may have a capability", seal_bounding },
	{ SEAL_IDS, FRONT | LEDGER, true, true, "ids",
	  "an id without files and processes gives access to none", seal_ids },
	{ SEAL_OWN_ROOT, WARDEN, true, true, "own-root",
	  "cells do not need root on this host; this limits an attack by its records",
	  seal_warden },
	{ SEAL_CAPS, FRONT | LEDGER, false, false, "capabilities", "it needs none", seal_caps },
	{ SEAL_CAPS, BROKER, false, false, "capabilities", "it only makes device nodes and mounts",
	  seal_few_caps },
	{ SEAL_NNP, FRONT | WARDEN | LEDGER | BROKER, false, false, "no-new-privileges",
	  "no set-user-id program is ever started", seal_nnp },
	{ SEAL_DUMPABLE, FRONT | LEDGER | BROKER, false, false, "dumpable",
	  "other processes of the user must not read tokens or attach to it", seal_dumpable },
	{ SEAL_PARENT, FRONT | WARDEN | LEDGER | BROKER, false, false, "parent",
	  "without the supervisor nothing would restart or stop it", seal_parent },
	{ SEAL_CALLS, FRONT | LEDGER | BROKER, false, false, "system-calls",
	  "it needs only a few of the kernel's calls", seal_filter },
};

static size_t row_of(enum role_name role, enum seal_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].kind == kind && (table[i].roles & BIT(role))) {
			return i;
		}
	}
	return ARRAY_SIZE(table);
}

bool seal_wanted(enum role_name role, enum seal_kind kind)
{
	size_t row = row_of(role, kind);

	return row < ARRAY_SIZE(table) && (!table[row].root || geteuid() == 0);
}

const char *seal_name(enum seal_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].kind == kind) {
			return table[i].name;
		}
	}
	return "?";
}

const char *seal_reason(enum role_name role, enum seal_kind kind)
{
	size_t row = row_of(role, kind);

	return row < ARRAY_SIZE(table) ? table[row].reason : NULL;
}

int seal_apply(const struct seal_options *options, struct seal_report *ret, struct brig_error *err)
{
	bool root = geteuid() == 0;

	/* Determined now: later no files can be opened. */
	*ret = (struct seal_report){ .id = seal_id(options->role) };
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!(table[i].roles & BIT(options->role)) || (table[i].root && !root)) {
			continue;
		}
		int r = table[i].apply(options, ret);
		if (r == -ENOTSUP && table[i].may_lack) {
			ret->missing |= 1u << table[i].kind;
		} else if (r < 0) {
			return error_errno(err, BRIG_E_HOST, -r, "%s: cannot seal %s",
					   role_name(options->role), table[i].name);
		} else {
			ret->given |= 1u << table[i].kind;
		}
	}
	return 0;
}

/* --- ids ---------------------------------------------------------------------------------- */

/*
 * Above the ids of cells (idrange.c: 2,000,000 from 0x70000000), below 2^31. In a container whose
 * namespace has 65,536 ids: from the few that systemd's list of ids calls unused.
 */
static const uid_t first_ids[] = { 0x70ff0000, 65521 };

static bool is_mapped(const char *map, uid_t id)
{
	_cleanup_fclose_ FILE *file = fopen(map, "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;

	while (file && getline(&line, &room, file) > 0) {
		char *rest = line;
		unsigned long inside = strtoul(rest, &rest, 10);
		(void)strtoul(rest, &rest, 10); /* outside */
		unsigned long count = strtoul(rest, &rest, 10);
		if (id >= inside && id - inside < count) {
			return true;
		}
	}
	return false;
}

uid_t seal_id(enum role_name role)
{
	if (geteuid() != 0 || role == ROLE_BROKER) {
		return geteuid();
	}
	for (size_t i = 0; i < ARRAY_SIZE(first_ids); i++) {
		uid_t id = first_ids[i] + (uid_t)role;
		if (is_mapped("/proc/self/uid_map", id) && is_mapped("/proc/self/gid_map", id)) {
			return id;
		}
	}
	return 0;
}
