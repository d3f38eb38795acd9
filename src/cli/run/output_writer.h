/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of brig's own output streams while a program runs. Never blocks: a reader that is slow or
 * stopped must not keep brig from watching the cell's limits. Bytes that cannot be written yet wait
 * in a queue, which the output limit of the policy bounds.
 */
#ifndef BRIG_CLI_RUN_OUTPUT_WRITER_H
#define BRIG_CLI_RUN_OUTPUT_WRITER_H

#include <poll.h>
#include <stdbool.h>

#include "base/bytes/buf.h"
#include "cli/run/screen.h"
#include "cli/terminal_escape.h"

enum output_writer_kind {
	OUTPUT_WRITER_FILE,   /* a regular file: takes everything at once */
	OUTPUT_WRITER_SOCKET, /* send() has its own flag for not blocking */
	OUTPUT_WRITER_OWN, /* a pipe or terminal, opened again, so that O_NONBLOCK is ours alone */
	OUTPUT_WRITER_SHARED, /* cannot be opened again: polled before each small write */
};

struct output_writer {
	int fd;  /* the target of writes */
	int own; /* owned: the same when it was opened again; or -1 */
	enum output_writer_kind kind;
	bool is_terminal;
	struct terminal_escape terminal;
	bool interactive; /* the program has the terminal: cursor sequences pass */
	struct screen_filter screen;
	struct buf queue;
	size_t at;  /* of the queue: how much was written */
	int errnum; /* writing failed for good, and why; later bytes are dropped */
};

void output_writer_init(struct output_writer *writer, int fd);
void output_writer_done(struct output_writer *writer);
void output_writer_add(struct output_writer *writer, const void *data, size_t size);
/* The program's output has ended: shows an incomplete character that was held back. */
void output_writer_end(struct output_writer *writer);
/* Writes as much as possible now. */
void output_writer_pump(struct output_writer *writer);
bool output_writer_waits(const struct output_writer *writer);
/* Waits until all is written. 0, or -errno when writing failed for good. */
int output_writer_flush(struct output_writer *writer);
#endif
