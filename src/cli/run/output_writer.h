/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of brig's own output streams while a program runs. Never blocks: a reader that is slow or
 * stopped must not keep brig from watching the cell's limits. What cannot be written yet waits in
 * a queue, which the output limit of the policy bounds.
 */
#ifndef BRIG_CLI_RUN_OUTPUT_WRITER_H
#define BRIG_CLI_RUN_OUTPUT_WRITER_H

#include <poll.h>
#include <stdbool.h>

#include "base/buf.h"
#include "cli/run/screen.h"
#include "cli/terminal_escape.h"

enum outlet_kind {
	OUTLET_FILE,   /* a regular file: takes everything at once */
	OUTLET_SOCKET, /* sends have a flag of their own for not blocking */
	OUTLET_OWN,    /* a pipe or terminal, opened anew, so that O_NONBLOCK is ours alone */
	OUTLET_SHARED, /* cannot be opened anew: asked before each small write */
};

struct outlet {
	int fd;  /* where writes go */
	int own; /* owned: the same when it was opened anew; or -1 */
	enum outlet_kind kind;
	bool is_terminal;
	struct terminal terminal;
	bool interactive; /* the program has the terminal: what moves on the screen passes */
	struct screen_filter screen;
	struct buf queue;
	size_t at;  /* of the queue: what has been written */
	int errnum; /* writing failed for good, and why; later bytes are dropped */
};

void outlet_init(struct outlet *outlet, int fd);
void outlet_done(struct outlet *outlet);
void outlet_add(struct outlet *outlet, const void *data, size_t size);
/* The program prints no more: shows what a cut character held back. */
void outlet_end(struct outlet *outlet);
/* Writes what can be written now. */
void outlet_pump(struct outlet *outlet);
bool outlet_waits(const struct outlet *outlet);
/* Waits until all is written. 0, or -errno when writing failed for good. */
int outlet_flush(struct outlet *outlet);
#endif
