/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-init once the payload process exists: its reports, its start, its end.
 *
 * This code needs no C library and no memory of its own: it is a part of brig, and of a program
 * that the pid 1 of a template's cell becomes (src/cell_init). All calls are raw.
 */
#ifndef BRIG_NATIVE_CELL_INIT_REST_H
#define BRIG_NATIVE_CELL_INIT_REST_H

#include "native/messages/payload_report.h"
#include "native/messages/wire.h"

struct init_rest {
	int control;       /* to the warden */
	int reports;       /* the payload's, until exec */
	int payload_pidfd; /* -1: the end of its reports is its end, too */
	int payload;       /* its pid */
	unsigned steps;    /* of the plan */
	unsigned failed;   /* the step that is being carried out */
};

/* Reports the failed step to the warden, and ends the cell. */
_Noreturn void init_rest_die(const struct init_rest *rest, unsigned step, int errnum);
/*
 * The payload's next report, checked: 1; 0: its end has closed; -ECANCELED: the warden is gone;
 * -ECHILD: the payload has ended without a report; -errno. A report of a failure does not return.
 */
int init_rest_report(const struct init_rest *rest, enum payload_report_state *state,
		     struct payload_report *report);
/* A cell made ahead is sealed, and waits. 0 or -errno. */
int init_rest_hold(const struct init_rest *rest);
/* The payload may go: waits until it has become the program. 0 or -errno. */
int init_rest_start(const struct init_rest *rest);
/* The program runs: waits for its end, reports it, and ends. */
_Noreturn void init_rest_run(const struct init_rest *rest);
#endif
