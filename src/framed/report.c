/* SPDX-License-Identifier: Apache-2.0 */
/* Checks an agent's frames: see report.h. */
#include "framed/report.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>

#define ERRNO_MAX  4095u
#define SIGNAL_MAX 64u
/* A hundred days, 8 PiB: larger figures are lies, whose sums could start again from zero. */
#define FIGURE_MAX (1ull << 53)

#define IN(state) (1u << (state))

/* By kind: the states in which it may come, and the state after it. Others never come. */
static const struct {
	unsigned states;
	bool moves;
	enum report_state next;
} rules[FRAME_KINDS] = {
	[FRAME_READY] = { IN(REPORT_NEW), true, REPORT_READY },
	[FRAME_STARTED] = { IN(REPORT_READY), true, REPORT_RUNNING },
	[FRAME_STDOUT] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_STDERR] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_INPUT_TAKEN] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_INPUT_CLOSED] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_FROM_DRIVER] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_DRIVER_TAKEN] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_DRIVER_CLOSED] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_MARKED] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_VALUE] = { IN(REPORT_RUNNING), false, 0 },
	[FRAME_DISK] = { IN(REPORT_RUNNING), false, 0 },
	/* To OVER at once, if no files are returned: report_take(). */
	[FRAME_EXITED] = { IN(REPORT_RUNNING), true, REPORT_RETURNS },
	[FRAME_OUT_DIRECTORY] = { IN(REPORT_RETURNS), false, 0 },
	[FRAME_OUT_LINK] = { IN(REPORT_RETURNS), false, 0 },
	[FRAME_OUT_NAME] = { IN(REPORT_RETURNS), false, 0 },
	[FRAME_OUT_FILE] = { IN(REPORT_RETURNS), false, 0 },
	[FRAME_OUT_DATA] = { IN(REPORT_RETURNS), false, 0 },
	[FRAME_OUT_END] = { IN(REPORT_RETURNS), true, REPORT_OVER },
	[FRAME_FAILED] = { IN(REPORT_NEW) | IN(REPORT_READY), true, REPORT_OVER },
	[FRAME_LISTENER] = { IN(REPORT_READY), false, 0 },
	[FRAME_WAITING] = { IN(REPORT_READY), false, 0 },
	[FRAME_TO_GATE] = { IN(REPORT_RUNNING), false, 0 },
};

int report_allow(const struct report_reader *reader, const struct frame_head *head)
{
	return rules[head->kind].states & IN(reader->state) ? 0 : -EPROTO;
}

static int take_version(struct report_reader *reader, const unsigned char *data)
{
	(void)reader;
	return frame_get_u32(data) == FRAME_VERSION ? 0 : -EPROTO;
}

static int take_taken(struct report_window *window, const unsigned char *data)
{
	uint32_t taken = frame_get_u32(data);

	if (taken == 0 || taken > window->sent) {
		return -EPROTO;
	}
	window->sent -= taken;
	return 0;
}

static int take_closed(struct report_window *window)
{
	if (window->closed) {
		return -EPROTO;
	}
	window->closed = 1;
	return 0;
}

static int take_input_taken(struct report_reader *reader, const unsigned char *data)
{
	return take_taken(&reader->input, data);
}

static int take_input_closed(struct report_reader *reader, const unsigned char *data)
{
	(void)data;
	return take_closed(&reader->input);
}

static int take_driver_taken(struct report_reader *reader, const unsigned char *data)
{
	return take_taken(&reader->driver, data);
}

static int take_driver_closed(struct report_reader *reader, const unsigned char *data)
{
	(void)data;
	return reader->has_channel ? take_closed(&reader->driver) : -EPROTO;
}

static int take_from_driver(struct report_reader *reader, const unsigned char *data)
{
	(void)data;
	return reader->has_channel ? 0 : -EPROTO;
}

static int take_to_gate(struct report_reader *reader, const unsigned char *data)
{
	(void)data;
	return reader->has_gate ? 0 : -EPROTO;
}

static int take_marked(struct report_reader *reader, const unsigned char *data)
{
	(void)data;
	if (reader->marks == 0) {
		return -EPROTO;
	}
	reader->marks--;
	return 0;
}

static int take_waiting(struct report_reader *reader, const unsigned char *data)
{
	(void)data;
	int r = reader->wants_waiting ? 0 : -EPROTO;
	reader->wants_waiting = 0;
	return r;
}

/* Once; the data is for the receiver. */
static int take_value(struct report_reader *reader, const unsigned char *data)
{
	(void)data;
	int r = reader->wants_value ? 0 : -EPROTO;
	reader->wants_value = 0;
	return r;
}

static int take_exit(struct report_reader *reader, const unsigned char *data)
{
	struct frame_exit end;

	frame_get_exit(data, &end);
	bool exited = end.code == CLD_EXITED && end.status <= 255;
	bool killed = (end.code == CLD_KILLED || end.code == CLD_DUMPED) && end.status >= 1 &&
		      end.status <= SIGNAL_MAX;
	if ((!exited && !killed) || end.cpu_ns > FIGURE_MAX || end.memory_peak_bytes > FIGURE_MAX) {
		return -EPROTO;
	}
	reader->end = end;
	return 0;
}

static int take_disk(struct report_reader *reader, const unsigned char *data)
{
	struct frame_disk disk;

	frame_get_disk(data, &disk);
	if (!reader->returns || reader->disk_told || disk.peak.bytes > FIGURE_MAX ||
	    disk.peak.inodes > FIGURE_MAX || disk.full & ~(FRAME_DISK_FULL | FRAME_INODES_FULL)) {
		return -EPROTO;
	}
	reader->disk = disk;
	reader->disk_told = 1;
	return 0;
}

static int take_left(struct report_reader *reader, const unsigned char *data)
{
	frame_get_left(data, &reader->left);
	return 0;
}

static int take_failure(struct report_reader *reader, const unsigned char *data)
{
	uint32_t step = frame_get_u32(data), errnum = frame_get_u32(data + 4);

	if (step >= FRAME_STEPS || errnum == 0 || errnum > ERRNO_MAX) {
		return -EPROTO;
	}
	reader->failed_step = step;
	reader->failed_errnum = errnum;
	return 0;
}

static int (*const takers[FRAME_KINDS])(struct report_reader *, const unsigned char *) = {
	[FRAME_READY] = take_version,
	[FRAME_WAITING] = take_waiting,
	[FRAME_INPUT_TAKEN] = take_input_taken,
	[FRAME_INPUT_CLOSED] = take_input_closed,
	[FRAME_FROM_DRIVER] = take_from_driver,
	[FRAME_DRIVER_TAKEN] = take_driver_taken,
	[FRAME_DRIVER_CLOSED] = take_driver_closed,
	[FRAME_TO_GATE] = take_to_gate,
	[FRAME_MARKED] = take_marked,
	[FRAME_VALUE] = take_value,
	[FRAME_DISK] = take_disk,
	[FRAME_EXITED] = take_exit,
	[FRAME_FAILED] = take_failure,
	[FRAME_OUT_END] = take_left,
};

int report_take(struct report_reader *reader, const struct frame_head *head,
		const unsigned char *data)
{
	int r = takers[head->kind] ? takers[head->kind](reader, data) : 0;

	if (r == 0 && rules[head->kind].moves) {
		reader->state = rules[head->kind].next;
		if (reader->state == REPORT_RETURNS && !reader->returns) {
			reader->state = REPORT_OVER;
		}
	}
	return r;
}
