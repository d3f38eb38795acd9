/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `brig run`: bytes in, bytes out, signals; until the run and its output are done. */
#ifndef BRIG_CLI_RUN_RUN_PUMP_H
#define BRIG_CLI_RUN_RUN_PUMP_H

#include <brig/brig.h>

#include "cli/run/output_writer.h"

struct run_pump {
	struct brig_run *run; /* borrowed */
	struct output_writer
		*out[2]; /* borrowed: brig's stdout and stderr; NULL: output is not shown */
	bool feeding;    /* stdin goes to the program */
	int signals;     /* borrowed: a signalfd */
	int caught;      /* the signal that ended the run; 0: none */

	char chunk[16384]; /* read from stdin, not yet taken by the run */
	size_t size, at;
};

/*
 * The signals that end a run, blocked and readable from the returned fd; -errno. Signals that brig
 * was started to ignore (nohup) stay ignored.
 */
int run_signals_open(bool resizes); /* and SIGWINCH, which does not end it */

int run_pump(struct run_pump *pump, struct brig_error *err);
#endif
