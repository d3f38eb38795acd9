/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The privileges that a role gives up at its start, permanently: see seal.c for the table with its
 * reasons, and seal_calls.c for the system calls that remain.
 */
#ifndef BRIG_ROLE_SEAL_H
#define BRIG_ROLE_SEAL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum role_name {
	ROLE_FRONT,
	ROLE_WARDEN,
	ROLE_LEDGER,
	ROLE_BROKER, /* only as root */
	ROLE_COUNT,
};
const char *role_name(enum role_name role);

enum seal_kind {
	SEAL_CORE,       /* no core dumps: the memory must not get on a disk or to a crash helper */
	SEAL_FILES,      /* the number of descriptors */
	SEAL_PROCESSES,  /* no other process, by limit */
	SEAL_NAMESPACES, /* no network, no System V objects of the host */
	SEAL_LANDLOCK,   /* access to files */
	SEAL_BOUNDING,   /* no capability can be gained from a program */
	SEAL_IDS,        /* ids that nothing else has */
	SEAL_OWN_ROOT,   /* root of a user namespace of its own, without rights on the host */
	SEAL_CAPS,       /* no capability, in any set; or the few that the role needs */
	SEAL_NNP,        /* no program restores any of this */
	SEAL_DUMPABLE,   /* no other process of this user can trace it */
	SEAL_PARENT,     /* dies with the supervisor */
	SEAL_CALLS,      /* the system calls that remain; all others kill */
	SEAL_KINDS,
};

struct seal_options {
	enum role_name role;
	int directory; /* the ledger's, the only part of the file system that it keeps; or -1 */
	unsigned open_files; /* descriptors that it needs; 0: as many as possible */
	pid_t supervisor;    /* 0: continues without it */
	int broker;          /* the warden's line to the broker, which maps its ids; -1: none */
};

/*
 * The result of sealing, including the steps that the host does not support; the caller logs these.
 */
struct seal_report {
	uid_t id;            /* that it runs as */
	unsigned missing;    /* bits of SEAL_*: wanted, but not supported by this host */
	unsigned given;      /* bits of SEAL_*: in force */
	unsigned open_files; /* the resulting limit */
};

/* Does the role's table have this step, for this user? */
bool seal_wanted(enum role_name role, enum seal_kind kind);
const char *seal_name(enum seal_kind kind);
const char *seal_reason(enum role_name role, enum seal_kind kind);

/* Applies all steps. -errno: a step failed without which the role must not run. */
int seal_apply(const struct seal_options *options, struct seal_report *ret, struct brig_error *err);

/*
 * The id that a role will have: as root, one that no account and no cell has, as far as this user
 * namespace has such ids; else our own.
 */
uid_t seal_id(enum role_name role);

/*
 * The warden's step of the table: seal_own_root.c. -ENOTSUP: the host does not support it, or there
 * is no broker to map ids.
 */
int seal_own_root(int broker, uid_t id);

/* The last step of the table: seal_calls.c. */
int seal_calls(enum role_name role, struct brig_error *err);
/* The reason why the role may make the call, for tests and for queries. NULL: it may not. */
const char *seal_call_reason(enum role_name role, const char *call);
#endif
