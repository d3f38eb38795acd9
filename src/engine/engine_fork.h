/* SPDX-License-Identifier: Apache-2.0 */
/* A fork under way: what engine_fork*.c share. */
#ifndef BRIG_ENGINE_ENGINE_FORK_H
#define BRIG_ENGINE_ENGINE_FORK_H

#include "base/strlist.h"
#include "engine/engine_local.h"
#include "lib/session/session.h"
#include "lib/session/session_files.h"

/* Of a list of names or files, and of one of these. */
#define FORK_NAMES_MAX  500
#define FORK_NAME_BYTES 200
/* Under way: of all, and of a tenant; more of a tenant's wait. */
#define FORKS_MAX            16u
#define FORKS_TENANT         2u
#define FORKS_WAITING_TENANT 8u

enum fork_state {
	FORK_WAITING, /* for its turn */
	FORK_BEGUN,   /* one of its calls is under way */
	FORK_COPYING, /* files, a slice at a time */
};

/* What is copied from the old session to the new one: the state first, then the files. */
struct fork_copy {
	enum { COPY_STATE, COPY_LIST, COPY_FILES } phase;
	struct session_listing *list; /* owned; or NULL */
	size_t file;                  /* of the list */
	int from;                     /* owned: what is copied now; -1: nothing */
	struct session_upload upload;
	size_t size, at;
	uint64_t bytes; /* of all that was copied */
};

struct local_fork {
	struct engine_run *run;   /* whose fork it is */
	struct engine_run *inner; /* a call of ours under way */
	struct local_fork *next, **link;
	enum fork_state state;
	char from[27], to[27]; /* "": not there yet */
	char *tenant;          /* owned */
	char caller[LOCAL_CALLER_MAX + 1];
	struct brig_limits most; /* that the caller may have */
	char state_path[40], names_path[48];
	bool has_state;
	struct strlist carried, left;
	struct fork_copy copy;
	size_t copied;
	struct strlist files_left;
	bool truncated; /* lists */
};

/* NULL: it is gone, and that is the call's error then, unless there is one. */
struct local_session *fork_session(struct local_fork *fork, const char *id);
/* The new one. NULL: it has ended, and the fork has come to nothing. */
struct local_session *fork_find_new(struct local_fork *fork);
/* It comes to nothing: the run has the error. */
void fork_fail(struct local_fork *fork);

/* It is its turn. engine_fork.c */
void fork_begin(struct local_fork *fork);
/* All is copied that could be. engine_fork.c */
void fork_copied(struct local_fork *fork);

/* A session like that one is opened; `end` and `fail` come. engine_fork_open.c */
int fork_check_limits(const struct local_session *from, const struct brig_limits *most,
		      struct brig_error *err);
int fork_open(struct local_fork *fork, const struct local_session *from, struct engine_call *call,
	      struct brig_error *err);

/* It takes its turns in copying from here on. engine_fork_turns.c */
void fork_start_copy(struct local_fork *fork);
/* A slice; then fork_copied(), or it fails. engine_fork_copy.c */
void fork_copy_step(struct local_fork *fork);
void fork_copy_done(struct fork_copy *copy);

/* 0: the list that a session has written is read, and gone; -errno: there is none. */
int fork_take_names(struct local_fork *fork, struct local_session *session);
void fork_nothing_carried(struct local_fork *fork, const char *why);
/* Into the answer of the run. */
void fork_answer(struct local_fork *fork, struct local_session *session);
#endif
