/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames that an agent sends, one after the other. The program may have taken the agent over,
 * so each is hostile: a kind that may not come now, a number that cannot be right, or anything
 * after the last frame is an error, and ends the cell.
 */
#ifndef BRIG_FRAMED_REPORT_H
#define BRIG_FRAMED_REPORT_H

#include "framed/frame.h"

enum report_state {
	REPORT_NEW,     /* it has not said anything yet */
	REPORT_READY,   /* it waits for its assignment, or works on it */
	REPORT_RUNNING, /* the program has begun */
	REPORT_RETURNS, /* the program has ended, and its files come */
	REPORT_OVER,    /* it has sent its last frame */
	REPORT_STATES,
};

struct report_reader {
	enum report_state state;
	/* Of standard input, and of the channel to a driver: */
	struct report_window {
		uint32_t sent; /* set by the sender: bytes that were not yet taken */
		int closed;    /* the program reads no more */
	} input, driver;
	int has_channel;       /* set by the sender: there is a driver */
	int has_gate;          /* set by the sender: there is a network, with a gate */
	uint32_t marks;        /* set by the sender: that were not answered */
	int wants_waiting;     /* set by the sender: an interpreter was told to wait */
	int wants_value;       /* set by the sender: a value comes before EXITED */
	int returns;           /* set by the sender: files come after EXITED */
	struct frame_exit end; /* of EXITED */
	struct frame_disk disk;
	int disk_told;
	struct frame_left left; /* of OUT_END */
	uint32_t failed_step, failed_errnum;
};

/* May this frame come now? Before its data is read. 0 or -EPROTO. */
int report_allow(const struct report_reader *reader, const struct frame_head *head);
/* Takes an allowed frame, whose data is complete. 0 or -EPROTO. */
int report_take(struct report_reader *reader, const struct frame_head *head,
		const unsigned char *data);
#endif
