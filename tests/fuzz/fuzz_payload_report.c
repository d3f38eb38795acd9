/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The notes of the payload process, as brig-init reads them: any bytes, in any order. Only whole
 * notes with possible values are accepted, and only in the right order.
 *
 * Input: the number of the plan's steps, then messages: one byte of size, and the bytes themselves.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "native/messages/payload_report.h"

#define MESSAGES_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds) {
		abort();
	}
}

/* The actions of brig-init for an accepted report must be harmless. */
static void accepted(const struct payload_report *report, enum payload_report_state before,
		     unsigned steps)
{
	switch (report->kind) {
	case PAYLOAD_REPORT_FAILED:
		must(before != PAYLOAD_REPORTS_ENDED && report->value < steps &&
		     report->errnum > 0);
		break;
	case PAYLOAD_REPORT_LISTENER:
		must(before == PAYLOAD_REPORTS_NONE && report->value > 2 &&
		     report->value <= INT_MAX);
		break;
	case PAYLOAD_REPORT_READY:
		must(before < PAYLOAD_REPORTS_READY);
		break;
	default:
		abort();
	}
}

static void receive(int fd, enum payload_report_state *state, unsigned steps, const uint8_t *sent,
		    size_t size)
{
	struct payload_report report;
	int r = payload_report_read(fd, &report);

	must(r == (size == sizeof(report) ? 1 : size == 0 ? 0 : -EPROTO));
	if (r != 1) {
		return;
	}
	must(memcmp(&report, sent, sizeof(report)) == 0);
	enum payload_report_state before = *state;
	int checked = payload_report_check(state, &report, steps);
	if (checked == 0) {
		must(*state > before);
		accepted(&report, before, steps);
	} else {
		must(checked == -EPROTO && *state == before);
	}
}

/* A written report is read, and accepted where it is due. */
static void round_trip(int ends[2], unsigned steps)
{
	enum payload_report_state state = PAYLOAD_REPORTS_NONE;
	struct payload_report report;

	must(payload_report_write(ends[1], PAYLOAD_REPORT_LISTENER, 3, 0) == 0);
	must(payload_report_read(ends[0], &report) == 1 &&
	     payload_report_check(&state, &report, steps) == 0);
	must(payload_report_write(ends[1], PAYLOAD_REPORT_READY, 0, 0) == 0);
	must(payload_report_read(ends[0], &report) == 1 &&
	     payload_report_check(&state, &report, steps) == 0);
	must(payload_report_write(ends[1], PAYLOAD_REPORT_FAILED, 0, ENOENT) == 0);
	must(payload_report_read(ends[0], &report) == 1);
	must(payload_report_check(&state, &report, steps) == (steps ? 0 : -EPROTO));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum payload_report_state state = PAYLOAD_REPORTS_NONE;
	int ends[2];

	if (size == 0) {
		return 0;
	}
	unsigned steps = *data++;
	size--;
	must(pipe2(ends, O_CLOEXEC) == 0);
	round_trip(ends, steps);
	for (int n = 0; n < MESSAGES_MAX && size >= 1; n++) {
		/* Most of the right size, or the order is hardly tested; none longer. */
		size_t length = data[0] < 192 ? sizeof(struct payload_report)
					      : data[0] % sizeof(struct payload_report);
		data++;
		size--;
		length = length < size ? length : size;
		if (length) {
			must(write(ends[1], data, length) == (ssize_t)length);
			receive(ends[0], &state, steps, data, length);
		}
		data += length;
		size -= length;
	}
	close(ends[1]);
	receive(ends[0], &state, steps, NULL, 0);
	close(ends[0]);
	return 0;
}
