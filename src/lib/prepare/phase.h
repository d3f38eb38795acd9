/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One cell of a run. It is built again with fewer layers when the host turns out to lack one that
 * is in the policy's may_miss. The program has not started then, so nothing happens twice.
 */
#ifndef BRIG_LIB_PREPARE_PHASE_H
#define BRIG_LIB_PREPARE_PHASE_H

#include "lib/prepare/prepare.h"
#include "run/run.h"

/*
 * Maximum number of files that a compiler may make: each becomes an input of the program's cell,
 * and a step of its plan.
 */
#define COMPILED_FILES_MAX 256

struct phase_options {
	const char *id;   /* of the run or session, borrowed; NULL: one is made */
	const char *part; /* of the run, in the name of its cell, "compile"; NULL: the program */
	const char *const *globs;
	struct strlist own_globs; /* when globs is copied from a request */
	bool changes;
	const void *stdin_data;
	size_t stdin_size;
	bool stdin_feed;
	bool keep_output;
	void (*on_output)(void *user, int stream, const void *data, size_t size);
	void *user;
	enum value_file value;
	const struct run_session *session; /* borrowed; NULL: the cell has one run only */
	bool terminal;                     /* in place of pipes */
	struct terminal_size terminal_size;
	bool measure;            /* time each step, for `brig explain --time` */
	uint64_t used_before_ns; /* see brig_run_used_before() */
};

struct phase {
	struct brig_context *context; /* borrowed */
	struct prepared *prepared;    /* borrowed */
	struct phase_options options;
	struct run *run; /* owned */
	unsigned cells;  /* made by it, one after the other */
};

/* Was its cell made ahead? */
static inline bool phase_is_warm(const struct phase *phase)
{
	return spec_traits(&phase->prepared->spec)->ahead;
}

#define PHASE_RESTARTED 2

int phase_start(struct phase *phase, struct brig_context *context, struct prepared *prepared,
		const struct phase_options *options, struct brig_error *err);
/* The same with a cell that was made ahead, which the phase owns from here on. */
int phase_assign(struct phase *phase, struct brig_context *context, struct prepared *prepared,
		 const struct phase_options *options, struct run *held, struct brig_error *err);
/* 1 ended, 0 not yet, PHASE_RESTARTED: phase->run is a new one; -errno. */
int phase_step(struct phase *phase, struct brig_error *err);
struct brig_result *phase_take_result(struct phase *phase);
void phase_done(struct phase *phase);
#endif
