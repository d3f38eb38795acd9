/* SPDX-License-Identifier: Apache-2.0 */
/* Writes, reads and checks the payload's reports: see payload_report.h. */
#include "native/messages/payload_report.h"

#include <errno.h>
#include <limits.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

#define ERRNO_MAX 4095 /* the kernel's own bound */

int payload_report_write(int fd, enum payload_report_kind kind, uint32_t value, int errnum)
{
	struct payload_report report = { .kind = kind, .value = value, .errnum = errnum };

	return sys_raw(SYS_write, fd, (long)&report, sizeof(report)) == sizeof(report) ? 0 : -EIO;
}

int payload_report_read(int fd, struct payload_report *report)
{
	long n;

	do {
		n = sys_raw(SYS_read, fd, (long)report, sizeof(*report));
	} while (n == -EINTR);
	if (n < 0) {
		return (int)n;
	}
	return n == 0 ? 0 : n == sizeof(*report) ? 1 : -EPROTO;
}

/* The reports allowed in each state, and the next state. */
static const struct {
	enum payload_report_state from;
	enum payload_report_kind kind;
	enum payload_report_state to;
} report_rules[] = {
	{ PAYLOAD_REPORTS_NONE, PAYLOAD_REPORT_FAILED, PAYLOAD_REPORTS_ENDED },
	{ PAYLOAD_REPORTS_NONE, PAYLOAD_REPORT_LISTENER, PAYLOAD_REPORTS_LISTENER },
	{ PAYLOAD_REPORTS_NONE, PAYLOAD_REPORT_READY, PAYLOAD_REPORTS_READY },
	{ PAYLOAD_REPORTS_LISTENER, PAYLOAD_REPORT_FAILED, PAYLOAD_REPORTS_ENDED },
	{ PAYLOAD_REPORTS_LISTENER, PAYLOAD_REPORT_READY, PAYLOAD_REPORTS_READY },
	{ PAYLOAD_REPORTS_READY, PAYLOAD_REPORT_FAILED, PAYLOAD_REPORTS_ENDED },
};

static bool is_valid(const struct payload_report *report, unsigned steps)
{
	switch (report->kind) {
	case PAYLOAD_REPORT_FAILED:
		return report->value < steps && report->errnum > 0 && report->errnum <= ERRNO_MAX;
	case PAYLOAD_REPORT_LISTENER: /* 0 to 2 are the program's streams */
		return report->value > 2 && report->value <= INT_MAX && report->errnum >= 0 &&
		       report->errnum <= 1;
	default:
		return report->value == 0 && report->errnum == 0;
	}
}

int payload_report_check(enum payload_report_state *state, const struct payload_report *report,
			 unsigned steps)
{
	for (size_t i = 0; i < ARRAY_SIZE(report_rules); i++) {
		if (report_rules[i].from == *state &&
		    (uint32_t)report_rules[i].kind == report->kind && is_valid(report, steps)) {
			*state = report_rules[i].to;
			return 0;
		}
	}
	return -EPROTO;
}
