/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a role gives up at its start, for good: see seal.c for the table with its reasons, and
 * seal_calls.c for the system calls that are left.
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
	ROLE_BROKER, /* as root only */
	ROLE_COUNT,
};
const char *role_name(enum role_name role);

enum seal_kind {
	SEAL_CORE,       /* no memory of ours on a disk or in a crash helper */
	SEAL_FILES,      /* how many descriptors */
	SEAL_PROCESSES,  /* no other process, by limit */
	SEAL_NAMESPACES, /* no network, no System V objects of the host */
	SEAL_LANDLOCK,   /* which files */
	SEAL_BOUNDING,   /* no capability to be had from a program */
	SEAL_IDS,        /* ids that nobody else has */
	SEAL_OWN_ROOT,   /* root of a user namespace of its own, nobody on the host */
	SEAL_CAPS,       /* no capability, in any set; or the few that its work is made of */
	SEAL_NNP,        /* no program gives any of it back */
	SEAL_DUMPABLE,   /* no other process of this user looks in */
	SEAL_PARENT,     /* dies with the supervisor */
	SEAL_CALLS,      /* the system calls that are left; others kill */
	SEAL_KINDS,
};

struct seal_options {
	enum role_name role;
	int directory;       /* the ledger's, all of the file system that it keeps; or -1 */
	unsigned open_files; /* descriptors that it needs; 0: as many as it may have */
	pid_t supervisor;    /* 0: lives on without it */
	int broker;          /* the warden's line to whoever maps its ids; -1: there is nobody */
};

/* What of the table a host could not give; a log line for each is the caller's business. */
struct seal_report {
	uid_t id;            /* whom it runs as */
	unsigned missing;    /* bits of SEAL_*: wanted, not to be had on this host */
	unsigned given;      /* bits of SEAL_*: in force */
	unsigned open_files; /* the limit that came of it */
};

/* Is it in the role's table, for this user? */
bool seal_wanted(enum role_name role, enum seal_kind kind);
const char *seal_name(enum seal_kind kind);
const char *seal_reason(enum role_name role, enum seal_kind kind);

/* All of it. -errno: something without which the role must not run was not to be had. */
int seal_apply(const struct seal_options *options, struct seal_report *ret, struct brig_error *err);

/*
 * The id that a role will have: as root one that no account and no cell has, as far as this user
 * namespace has such ids; else our own.
 */
uid_t seal_id(enum role_name role);

/* The warden's line of the table: seal_own_root.c. -ENOTSUP: such a host, or nobody to map ids. */
int seal_own_root(int broker, uid_t id);

/* The last line of the table by itself: seal_calls.c. */
int seal_calls(enum role_name role, struct brig_error *err);
/* Is the call in the role's list? For tests, and for people who ask. NULL: no. */
const char *seal_call_reason(enum role_name role, const char *call);
#endif
