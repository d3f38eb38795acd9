/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: the ordered list of typed steps that builds a cell. It is data: made by plan_make()
 * from a spec, printed by `brig explain`, fixed by golden tests, executed by one loop
 * (cell_execute.c).
 */
#ifndef BRIG_NATIVE_PLAN_PLAN_H
#define BRIG_NATIVE_PLAN_PLAN_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes/buf.h"
#include "base/error.h"
#include "net/address.h"
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
 * A step and what it needs, by kind; a kind without a member needs nothing. A target is relative to
 * the new root unless the comment says otherwise. Pointers, descriptors and flags are listed in
 * step_members.c.
 */
struct step {
	enum step_kind kind;
	union {
		struct {
			uint64_t namespaces; /* CLONE_NEW* */
		} clone;
		struct {
			const char *uids, *gids; /* the lines of the maps */
			bool deny_setgroups;     /* before the maps */
		} idmap;
		struct {
			const char *line; /* of both id maps */
		} selfmap;
		struct {
			bool may_setgroups;
		} become;
		struct {
			const char *file; /* on the host */
			const char *content;
		} counts;
		struct {
			uint64_t bytes, inodes;
			const char *bytes_text,
				*inodes_text; /* the same, as options of the mount */
		} root;
		struct {
			const char *target; /* also one of the host */
			const char *options;
		} overlay;
		struct {
			const char *target;
			mode_t mode;
		} dir;
		struct {
			const char *path; /* of the link */
			const char *to;
		} link;
		struct {
			const char *target;
			const void *data;
			uint64_t size;
			const char *about; /* for people; NULL: nothing */
			mode_t mode;
		} file;
		struct { /* also DEVICE */
			const char *target;
			const char *source;  /* on the host */
			uint64_t attributes; /* MOUNT_ATTR_* */
		} bind;
		struct {
			const char *target;
			const char *shm; /* a target too */
			uint64_t attributes, shm_attributes;
			int fd; /* the mount */
		} devices;
		struct {
			const char *target;
			const char *options;
		} proc;
		struct {
			const char *target;
			uint64_t attributes;
		} writable;
		struct {
			const char *name; /* relative to /sandbox */
			const void *data;
			uint64_t size;
			int fd; /* the source; -1: the data */
			mode_t mode;
		} input;
		struct {
			const char *target;
			const char *source;
			uint64_t attributes;
			int fd;      /* the source, or its clone */
			bool cloned; /* it is the clone */
		} mount;
		struct {
			struct net_prefix prefix;
			const char *text; /* the same, for people */
		} route;
		struct {
			const char *address; /* NULL: any */
			int type;            /* SOCK_* */
			uint16_t port;
		} listen;
		struct {
			int fd; /* the gate's socket */
		} gate;
		struct {
			const char *name;
		} hostname;
		struct {
			bool drop_caps;
		} seal;
		struct {
			uid_t id;
		} user;
		struct {
			uint64_t namespaces;
			const char *line; /* of both id maps */
		} inner;
		struct {
			const char *path; /* as the program sees it */
		} workdir;
		struct {
			const char *name;
			int resource; /* RLIMIT_* */
			uint64_t value;
		} rlimit;
		struct {
			int abi;
		} landlock;
		struct {
			const struct sock_filter *code;
			uint64_t count;
			bool listens;
		} seccomp;
		struct {
			int number; /* of the descriptor in the program */
		} value;
		struct {
			int number;
			int fd; /* the pipe */
		} channel;
		struct {
			const char *path; /* as the program sees it; "": that of the assignment */
		} exec;
	};
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

/* The /etc/hosts of a cell. */
#define PLAN_HOSTS "127.0.0.1 localhost brig\n::1 localhost\n"

int plan_make(const struct spec *spec, struct plan *ret, struct brig_error *err);
void plan_done(struct plan *plan);

/* One line for people; JSON object for programs. */
void plan_print(const struct plan *plan, const uint64_t *took_ns, struct buf *out);
void plan_print_json(const struct plan *plan, const uint64_t *took_ns, struct buf *out);
#endif
