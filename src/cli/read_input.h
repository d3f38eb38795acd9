/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole file that the command line names; "-" is standard input. */
#ifndef BRIG_CLI_READ_INPUT_H
#define BRIG_CLI_READ_INPUT_H

#include "base/bytes/buf.h"
#include "base/error.h"

/* 0 or -errno; -EFBIG: it has more than `max` bytes. */
int read_input(const char *path, size_t max, struct buf *ret, struct brig_error *err);
#endif
