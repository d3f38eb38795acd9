/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: the ordered list of typed steps that builds a cell. Data, made by plan_make() from a
 * spec, printed by `brig explain`, pinned by golden tests, executed by one loop (steps.h).
 */
#ifndef BRIG_NATIVE_PLAN_H
#define BRIG_NATIVE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "run/spec.h"

/* Who carries a step out. */
enum actor {
	ACTOR_WARDEN,  /* brig itself, on the host */
	ACTOR_INIT,    /* the cell's pid 1, while it sets up */
	ACTOR_PAYLOAD, /* the process that becomes the program */
};

enum step_kind {
	STEP_CGROUP,
	STEP_CLONE,
	STEP_IDMAP,
	STEP_ATTACH,
	STEP_RELEASE,
	STEP_GROUP,

	STEP_JOIN,
	STEP_AWAIT,
	STEP_SELFMAP,
	STEP_CLOSE,
	STEP_BECOME,
	STEP_NET,
	STEP_COUNTS,
	STEP_KEYRING,
	STEP_PRIVATE,
	STEP_ROOT,
	STEP_OVERLAY,
	STEP_DIR,
	STEP_LINK,
	STEP_FILE,
	STEP_BIND,
	STEP_DEVICE,
	STEP_DEVICES,
	STEP_PROC,
	STEP_WRITABLE,
	STEP_INPUT,
	STEP_MOUNT,
	STEP_HANDLES,
	STEP_PIVOT,
	STEP_LOCKROOT,
	STEP_NETENTER,
	STEP_NAMES,
	STEP_NETHIDE,
	STEP_ROUTE,
	STEP_LISTEN,
	STEP_GATE,
	STEP_CGROUPNS,
	STEP_HOSTNAME,
	STEP_TIME,
	STEP_SPAWN,
	STEP_SEAL,
	STEP_READY,
	STEP_HOLD,
	STEP_START,

	STEP_SESSION,
	STEP_USER,
	STEP_INNER,
	STEP_STDIO,
	STEP_WORKDIR,
	STEP_RLIMIT,
	STEP_CAPS,
	STEP_NNP,
	STEP_LANDLOCK,
	STEP_SECCOMP,
	STEP_RESUME,
	STEP_GO,
	STEP_ASSIGN,
	STEP_LETGO,
	STEP_VALUE,
	STEP_CHANNEL,
	STEP_EXEC,
	STEP_KINDS,
};

struct step {
	enum step_kind kind;
	const char *path; /* target, relative to the new root; or what the kind says */
	const char *text; /* source path, link text, value: what the kind says */
	const void *data;
	uint64_t size;
	uint64_t value;
	uint64_t flags;
	int fd;
};

#define PLAN_STEPS_MAX 512

/*
 * Where a driver finds its pipes. Above the numbers that interpreters take for themselves at their
 * start: a program's files have the numbers that they would have without them.
 */
#define DRIVER_ASSIGNMENT_FD 30 /* its order, to read */
#define DRIVER_READY_FD      31 /* how far it is, to write */
#define DRIVER_FDS_END       32

struct plan {
	struct step *steps; /* owned */
	unsigned count;
	char *arena; /* owned: texts made for this plan */
	size_t arena_used, arena_size;
	const struct spec *spec; /* borrowed: must outlive the plan */
};

struct step_info {
	const char *name; /* "mount.proc" */
	enum actor actor;
	const char *about;
};
extern const struct step_info step_table[STEP_KINDS];

int plan_make(const struct spec *spec, struct plan *ret, struct brig_error *err);
void plan_done(struct plan *plan);

/* One line for people; JSON object for programs. */
void plan_print(const struct plan *plan, const uint64_t *took_ns, struct buf *out);
void plan_print_json(const struct plan *plan, const uint64_t *took_ns, struct buf *out);
#endif
