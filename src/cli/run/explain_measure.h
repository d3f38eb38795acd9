/* SPDX-License-Identifier: Apache-2.0 */
/* Building a prepared cell for real, and timing each step. */
#ifndef BRIG_CLI_RUN_EXPLAIN_MEASURE_H
#define BRIG_CLI_RUN_EXPLAIN_MEASURE_H

#include "lib/prepare/phase.h"

/* Makes sure that what the program's cell needs is compiled; adds it to `program`. */
int explain_build(struct brig_context *context, const struct brig_request *request,
		  const struct prepared *compile, struct prepared *program, struct brig_error *err);

/* Runs it to its end, output thrown away; phase->run then has plan and times. */
int explain_measure(struct brig_context *context, struct prepared *program, struct phase *ret,
		    struct brig_error *err);
#endif
