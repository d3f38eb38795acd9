/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a trusted program of the operator's to hear a few words from it. */
#ifndef BRIG_RUNTIME_PROGRAM_OUTPUT_H
#define BRIG_RUNTIME_PROGRAM_OUTPUT_H

#include "base/buf.h"

#define PROGRAM_OUTPUT_MAX 4096

/*
 * Runs program with argv in an empty environment, standard input empty, and collects what it
 * prints, on either stream, up to PROGRAM_OUTPUT_MAX. -ETIMEDOUT: it was killed. How it exits does
 * not matter. The child has no exit signal: the caller's own wait() calls never see it.
 */
int program_output_read(const char *program, char *const argv[], int timeout_ms, struct buf *ret);
#endif
