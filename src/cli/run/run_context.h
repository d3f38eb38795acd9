/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's context of a run. Usually it lives for this run; in a worker of the warm service it
 * stays, with its pools, for runs that would have made the same.
 */
#ifndef BRIG_CLI_RUN_RUN_CONTEXT_H
#define BRIG_CLI_RUN_RUN_CONTEXT_H

#include <brig/brig.h>

/* `warm`: cells are made ahead also in a context that does not stay. */
int run_context_open(const struct brig_context_options *options, bool warm,
		     struct brig_context **ret, struct brig_error *err);
void run_context_close(struct brig_context *context);
void run_context_closep(struct brig_context **context);

/* From now on the contexts of this process stay. */
void run_context_keep(void);
/* The one that stays; NULL: none yet. */
struct brig_context *run_context_kept(void);
void run_context_forget(void);
/* The environment that it was made with, for the steps between two runs; NULL-terminated. */
char **run_context_environment(void);

/* The variables of the environment that the library reads; NULL behind the last. */
extern const char *const run_context_variables[];
#endif
