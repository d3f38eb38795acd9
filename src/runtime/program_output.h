/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a trusted program of the operator and reads its short output. */
#ifndef BRIG_RUNTIME_PROGRAM_OUTPUT_H
#define BRIG_RUNTIME_PROGRAM_OUTPUT_H

#include "base/bytes/buf.h"

#define PROGRAM_OUTPUT_MAX 4096

/*
 * Runs program with argv in an empty environment, with empty standard input, and collects its
 * output on both streams, up to PROGRAM_OUTPUT_MAX. -ETIMEDOUT: it was killed. Its exit status is
 * ignored. The child has no exit signal: the caller's own wait() calls never see it.
 */
int program_output_read(const char *program, char *const argv[], int timeout_ms, struct buf *ret);
#endif
