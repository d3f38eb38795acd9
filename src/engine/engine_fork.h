/* A fork under way: what engine_fork*.c share. */
#ifndef BRIG_ENGINE_ENGINE_FORK_H
#define BRIG_ENGINE_ENGINE_FORK_H

#include "base/strlist.h"
#include "engine/engine_local.h"
#include "lib/session.h"

/* Of a list of names or files, and of one of these. */
#define FORK_NAMES_MAX  500
#define FORK_NAME_BYTES 200

struct local_fork {
	struct engine_run *run;   /* whose fork it is */
	struct engine_run *inner; /* a call of ours under way */
	char from[27], to[27];    /* "": not there yet */
	char *tenant;             /* owned */
	char state[40], names[48];
	struct buf data; /* the state */
	struct strlist carried, left;
	struct brig_session_file *files; /* owned */
	size_t files_count, files_at, copied;
	struct strlist files_left;
	bool truncated; /* lists */
	struct loop_timer more;
};

/* 0: the list that a session has written is read, and gone; -errno: there is none. */
int fork_take_names(struct local_fork *fork, struct local_session *session);
void fork_nothing_carried(struct local_fork *fork, const char *why);
/* Into the answer of the run. */
void fork_answer(struct local_fork *fork, struct local_session *session);
#endif
