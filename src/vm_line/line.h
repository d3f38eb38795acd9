/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a line: it passes the bytes of a plain stream on over a serial port (the wire), and
 * those of the wire to the plain stream.
 *
 * A wire has no flow control, and whoever emulates it drops bytes that nobody takes in time: the
 * guest's kernel after 64 KiB, some monitors as soon as a pipe is full. So each end sends at most
 * LINE_WINDOW bytes of data that the other one has not passed on, which is less than every buffer
 * on the way. The answers are few: not one for each packet.
 *
 * Nothing is skipped: a byte that is not of a packet ends the line.
 */
#ifndef BRIG_VM_LINE_LINE_H
#define BRIG_VM_LINE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm_line/packet.h"

#define LINE_WINDOW 8192u
/* The monitor's own descriptors are below this; the rest is of the program that starts it. */
#define LINE_FIRST_FD 7
/* A packet whose end is missing for so long has lost bytes. */
#define LINE_LOST_MS 30000u
/* Of bytes that are no packet, for the message. */
#define LINE_ODD_BYTES 48u

struct line {
	bool guest; /* this end is the guest's: it begins, has reports, and says the end */
	int wire_in, wire_out; /* non-blocking; both may be one */
	int plain;             /* likewise: a socket */
	int text; /* guest: reports are read from it, non-blocking; host: they are written to it */

	struct packet_writer out;
	struct packet_reader in;
	bool met;          /* the other end has said PACKET_FIRST */
	bool plain_end;    /* the plain stream has no more bytes for us... */
	bool plain_closed; /* ...or takes no more of ours */
	bool text_end;
	bool ended;                         /* END was sent, or received */
	uint32_t sent;                      /* data that the other end has not passed on */
	unsigned char pending[LINE_WINDOW]; /* for the plain stream */
	size_t at, size;
	uint32_t taken;   /* not yet told */
	uint64_t byte_ms; /* the time of the last byte of the wire */
	/* The beginning of what the wire has sent, until the other end is known. */
	unsigned char odd[LINE_ODD_BYTES];
	size_t odd_size;
};

void line_init(struct line *line, bool guest);
/*
 * Works until the guest has said all; a host also ends when the plain stream does. 0; -EPIPE: the
 * wire has ended; -EPROTO: something else than packets came; -ETIMEDOUT: bytes were lost; -errno.
 */
int line_run(struct line *line);
/* Takes bytes of the wire. 0, or -EPROTO. For line_run(), and for tests. */
int line_take(struct line *line, const unsigned char *bytes, size_t size);
#endif
