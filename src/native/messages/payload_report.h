/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of the payload process to brig-init, until it execs: fixed records on a pipe. A report of
 * another size or kind, out of order, or with an invalid value ends the cell.
 */
#ifndef BRIG_NATIVE_MESSAGES_PAYLOAD_REPORT_H
#define BRIG_NATIVE_MESSAGES_PAYLOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

enum payload_report_kind {
	PAYLOAD_REPORT_FAILED = 1, /* value = step index, errnum */
	PAYLOAD_REPORT_LISTENER, /* value = fd number in the shared table; errnum = 1: see wire.h */
	PAYLOAD_REPORT_READY,    /* all privileges are dropped; only exec is left */
};

struct payload_report {
	uint32_t kind;
	uint32_t value;
	int32_t errnum;
};

/* Uses only write(2), which every filter allows. 0 or -errno. */
int payload_report_write(int fd, enum payload_report_kind kind, uint32_t value, int errnum);
/* 1: a report; 0: the payload's end has closed; -EPROTO: not a report; -errno. Waits. */
int payload_report_read(int fd, struct payload_report *report);

enum payload_report_state {
	PAYLOAD_REPORTS_NONE,
	PAYLOAD_REPORTS_LISTENER,
	PAYLOAD_REPORTS_READY,
	PAYLOAD_REPORTS_ENDED,
};
/* Pure: checks a report for a plan with `steps` steps; advances the state, or -EPROTO. */
int payload_report_check(enum payload_report_state *state, const struct payload_report *report,
			 unsigned steps);
#endif
