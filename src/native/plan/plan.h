/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: the ordered list of typed steps that builds a cell. It is data: made by plan_make()
 * from a spec, printed by `brig explain`, fixed by golden tests, executed by one loop
 * (cell_execute.c).
 */
#ifndef BRIG_NATIVE_PLAN_PLAN_H
#define BRIG_NATIVE_PLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "run/spec/spec.h"

/* The process that carries out a step. */
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

/*
 * The kinds share their fields, so that a plan can be packed, printed and searched without a case
 * for each. `path` is the target, relative to the new root, and `fd` is -1, except:
 *
 *   CLONE, INNER     flags: CLONE_NEW*; INNER also text: the line of both id maps
 *   IDMAP            text: the uid map; path: the gid map; value: 1: deny setgroups first
 *   SELFMAP          text: the line of both id maps
 *   BECOME           value: 1: setgroups is allowed
 *   COUNTS           path: the file on the host; text: its content
 *   ROOT             size, value: bytes and inodes; text, path: the same as text
 *   OVERLAY, PROC    text: options of the mount; OVERLAY: path may be one of the host
 *   DIR, FILE, INPUT value: the mode; FILE and INPUT also data, size; INPUT also fd: the source
 *   LINK             text: the link's target
 *   BIND, DEVICE     text: the source on the host; flags: MOUNT_ATTR_*
 *   DEVICES          fd: the mount; flags: its attributes; text, value: shm and its attributes
 *   WRITABLE         flags: MOUNT_ATTR_*
 *   MOUNT            text: the source; fd: it, or its clone if value is 1; flags: MOUNT_ATTR_*
 *   ROUTE            data: struct net_prefix; text: the same as text
 *   LISTEN           value: the port; flags: the type of the socket; text: the address, or NULL
 *   GATE             fd: the gate's socket
 *   HOSTNAME         text: the name
 *   SEAL             value: 1: drop capabilities
 *   USER             value: the id
 *   WORKDIR, EXEC    path: as the program sees it
 *   RLIMIT           text: the name; flags: the resource; value: the limit
 *   LANDLOCK         value: the ABI
 *   SECCOMP          data, size: the instructions and their number; value: 1: with a listener
 *   VALUE, CHANNEL   value: the number of the descriptor; CHANNEL also fd: the pipe
 */
struct step {
	enum step_kind kind;
	const char *path;
	const char *text;
	const void *data;
	uint64_t size;
	uint64_t value;
	uint64_t flags;
	int fd;
};

#define PLAN_STEPS_MAX 512

/*
 * The descriptors of a driver's pipes. They are above the numbers that interpreters use at their
 * start, so that a program's files get the same numbers as without a driver.
 */
#define DRIVER_ASSIGNMENT_FD 30 /* its assignment, to read */
#define DRIVER_READY_FD      31 /* its reports, to write */
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
