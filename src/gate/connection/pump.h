/* SPDX-License-Identifier: Apache-2.0 */
/* Moves bytes from one socket to another, by a pipe that the kernel moves pages through. */
#ifndef BRIG_GATE_PUMP_H
#define BRIG_GATE_PUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pump {
	int from, to;  /* borrowed */
	int pipe[2];   /* owned; -1: none */
	size_t held;   /* bytes in the pipe */
	uint64_t left; /* bytes that may still be read */
	bool dry;      /* end of input */
	bool over;     /* and all of it is written, and the other side is told */
};

/* 0 or -errno. */
int pump_init(struct pump *pump, int from, int to);
void pump_done(struct pump *pump);
/*
 * Moves all bytes that can be moved now, and reads `budget` at most. Returns how many were read, or
 * -errno: the connection has failed. In bounded time.
 */
int64_t pump_run(struct pump *pump, uint64_t budget);
bool pump_wants_in(const struct pump *pump);
bool pump_wants_out(const struct pump *pump);
#endif
