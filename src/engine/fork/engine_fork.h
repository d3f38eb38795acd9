/* SPDX-License-Identifier: Apache-2.0 */
/* A fork under way: shared by engine_fork*.c. */
#ifndef BRIG_ENGINE_ENGINE_FORK_H
#define BRIG_ENGINE_ENGINE_FORK_H

#include "base/strlist.h"
#include "engine/local/engine_local.h"
#include "lib/session/session.h"
#include "lib/session/session_files.h"

/* The most names or files in a list, and the longest name. */
#define FORK_NAMES_MAX  500
#define FORK_NAME_BYTES 200
/* The most forks under way: in total, and of a tenant; further ones of a tenant wait. */
#define FORKS_MAX            16u
#define FORKS_TENANT         2u
#define FORKS_WAITING_TENANT 8u

/* Its life, in this order: fork_enter() is the only function that changes it. */
enum fork_state {
	FORK_WAITING,    /* in the queue */
	FORK_OPENING,    /* the new session is being opened */
	FORK_SAVING,     /* the old session saves its state */
	FORK_COPY_STATE, /* a slice at a time, like the next two */
	FORK_COPY_LIST,  /* which files are there? */
	FORK_COPY_FILES,
	FORK_LOADING, /* the new session loads the state */
	FORK_STATES
};

/* Copies data from the old session to the new one: the state first, then the files. */
struct fork_copy {
	struct session_listing *list; /* owned; or NULL */
	size_t file;                  /* index in the list */
	int from;                     /* owned: the file that is being copied; -1: none */
	struct session_upload upload;
	size_t size, at;
	uint64_t bytes; /* copied in total */
};

struct local_fork {
	struct engine_run *run;   /* the call that owns this */
	struct engine_run *inner; /* our own call that is under way */
	struct list_node node;    /* of the engine's forks */
	enum fork_state state;
	char from[27], to[27]; /* "": does not exist yet */
	char *tenant;          /* owned */
	char caller[LOCAL_CALLER_MAX + 1];
	struct brig_limits most; /* the caller's limits */
	char state_path[40], names_path[48];
	bool has_state;
	struct strlist carried, left;
	struct fork_copy copy;
	size_t copied;
	struct strlist files_left;
	bool truncated; /* lists */
};

void fork_enter(struct local_fork *fork, enum fork_state state);
static inline bool fork_is_copying(const struct local_fork *fork)
{
	return fork->state >= FORK_COPY_STATE && fork->state <= FORK_COPY_FILES;
}

/* NULL: it is gone, which becomes the error of the call, unless it has one. */
struct local_session *fork_session(struct local_fork *fork, const char *id);
/* The new session. NULL: it has ended, and the fork has failed. */
struct local_session *fork_find_new(struct local_fork *fork);
/* Fails; the run has the error. */
void fork_fail(struct local_fork *fork);

/* Starts a fork that waited. engine_fork.c */
void fork_begin(struct local_fork *fork);
/* Everything that can be copied was copied. engine_fork.c */
void fork_copied(struct local_fork *fork);

/* Opens a session like `from`; `end` or `fail` is called. engine_fork_open.c */
int fork_check_limits(const struct local_session *from, const struct brig_limits *most,
		      struct brig_error *err);
int fork_open(struct local_fork *fork, const struct local_session *from, struct engine_call *call,
	      struct brig_error *err);

/* From here on it takes part in the turns of copying. engine_fork_turns.c */
void fork_start_copy(struct local_fork *fork);
/* Copies a slice; at the end it calls fork_copied() or fails. engine_fork_copy.c */
void fork_copy_step(struct local_fork *fork);
void fork_copy_done(struct fork_copy *copy);

/* 0: the list that a session has written was read, and removed; -errno: there is none. */
int fork_take_names(struct local_fork *fork, struct local_session *session);
void fork_nothing_carried(struct local_fork *fork, const char *why);
/* Writes the answer of the run. */
void fork_answer(struct local_fork *fork, struct local_session *session);
#endif
