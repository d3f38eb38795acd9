/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal for a program: one of the host's pseudo terminals, whose other end stays with brig.
 * The cell has only the descriptor, and no name of it: it has neither /dev/pts nor /dev/tty.
 */
#ifndef BRIG_RUN_STREAMS_TERMINAL_H
#define BRIG_RUN_STREAMS_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

struct terminal_size {
	uint16_t rows, columns; /* 0: unknown */
};

/* Both ends, close-on-exec; ours does not block. */
int terminal_open(const struct terminal_size *size, int *ret_ours, int *ret_theirs);
int terminal_resize(int ours, const struct terminal_size *size);
/*
 * Call in a mount namespace of our own that still has the host's /dev/pts. Opens the three anew
 * through a read-only mount. They can be read and written as before, but their mode cannot be
 * changed: otherwise a program that owns the terminal could give every user of the host access to
 * it.
 */
int terminal_lock(int fds[3]);
/* Makes descriptor 0 the controlling terminal. The caller must be the leader of its session. */
int terminal_take(void);
#endif
