/* SPDX-License-Identifier: Apache-2.0 */
/* The run behind the public functions. Private to api*.c. */
#ifndef BRIG_LIB_API_API_RUN_H
#define BRIG_LIB_API_API_RUN_H

#include "lib/prepare/phase.h"
#include "lib/session/session.h"

struct warm_pool;
struct warm_cell;

struct brig_run {
	struct brig_context *context; /* borrowed */
	char id[27];                  /* in its result, in the audit file, of its cell */
	int epoll;                    /* owned */
	struct prepared compile;      /* of a compiled language */
	struct prepared program;
	struct phase phase;
	struct warm_pool *pool; /* used; NULL: started cold */
	struct warm_cell *cell; /* owned: identity of a cell that was made ahead */
	bool compiling;
	bool build_cached;
	uint64_t compile_cpu_ns; /* of the compiler, after its end */
	bool cancelled;
	bool value_asked;
	int end; /* 1: ended; -errno: failed; 0: not yet */
	char key[65];
	struct phase_options options; /* of the program's phase */
	char *stdin_data;             /* owned */
	struct strlist globs;
	struct brig_result *result;  /* owned */
	bool recorded;               /* its beginning is recorded, its end is not yet */
	uint64_t recorded_at;        /* the number of that entry */
	struct session_run *session; /* owned: set for a run in a session, which has no phase */
};

/*
 * The processor time that its tenant has used before. The run is scheduled as if it had used that
 * time itself: it yields to runs with less.
 */
void brig_run_used_before(struct brig_run *run, uint64_t cpu_ns);
/* The name of the cell in which it runs now, or ran last, in that of its control group. */
const char *brig_run_cell(const struct brig_run *run);
int run_watch_phase(struct brig_run *run, struct brig_error *err);
void run_end_phase(struct brig_run *run);
int run_start_program(struct brig_run *run, struct brig_error *err);
/* The compiler's cell (api_compile.c). 1: its messages are the result; 0: the program started. */
int run_start_compiler(struct brig_run *run, struct brig_error *err);
int run_finish_compiler(struct brig_run *run, struct brig_error *err);
#endif
