/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal for a program: one of the host's pseudo terminals, whose other end stays with brig.
 * The cell has the descriptor and no name of it; neither /dev/pts nor /dev/tty is there.
 */
#ifndef BRIG_RUN_TERMINAL_H
#define BRIG_RUN_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

struct terminal_size {
	uint16_t rows, columns; /* 0: nobody knows */
};

/* Both ends, close-on-exec; ours does not block. */
int terminal_open(const struct terminal_size *size, int *ret_ours, int *ret_theirs);
int terminal_resize(int ours, const struct terminal_size *size);
/*
 * In a mount namespace of our own, with the host's /dev/pts in sight: opens the three anew by a
 * mount that is read-only. They can be read and written as before, but not be given another mode:
 * a program that is the terminal's owner could else let every user of the host have it.
 */
int terminal_lock(int fds[3]);
/* In the program's own session, which it leads: descriptor 0 is its terminal. */
int terminal_take(void);
#endif
