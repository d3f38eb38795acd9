/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a prepared cell for real, and times each step. */
#ifndef BRIG_CLI_RUN_EXPLAIN_MEASURE_H
#define BRIG_CLI_RUN_EXPLAIN_MEASURE_H

#include "lib/prepare/phase.h"

/* Makes sure that the program is compiled; adds the result to `program`. */
int explain_build(struct brig_context *context, const struct brig_request *request,
		  const struct prepared *compile, struct prepared *program, struct brig_error *err);

/* Runs it to its end, output discarded; phase->run then has plan and times. */
int explain_measure(struct brig_context *context, struct prepared *program, struct phase *ret,
		    struct brig_error *err);
#endif
