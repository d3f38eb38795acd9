/* SPDX-License-Identifier: Apache-2.0 */
/* The working directory of a trusted local run: a directory on the host, gone after the run. */
#ifndef BRIG_LIB_PREPARE_LOCALDIR_H
#define BRIG_LIB_PREPARE_LOCALDIR_H

#include "base/error.h"
#include "run/spec.h"

/* Makes one, private to the caller. Also removes those whose maker was killed. */
int localdir_make(char **ret_path, int *ret_fd, struct brig_error *err);
/* Writes the input files, and out/. */
int localdir_fill(int dir, const struct spec_input *inputs, size_t count, struct brig_error *err);
/* Removes it with all that is in it, following nothing. NULL is fine. */
void localdir_remove(const char *path);
#endif
