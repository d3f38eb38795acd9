/* SPDX-License-Identifier: Apache-2.0 */
/* The working directory of a trusted local run: a directory on the host, removed after the run. */
#ifndef BRIG_LOCAL_WORKDIR_H
#define BRIG_LOCAL_WORKDIR_H

#include "base/error.h"
#include "run/spec/spec.h"

/* Removes directories of killed processes. */
void workdir_sweep(void);
/* Makes one, private to the caller. */
int workdir_make(char **ret_path, int *ret_fd, struct brig_error *err);
/* Writes the input files, and out/. */
int workdir_fill(int dir, const struct spec_input *inputs, size_t count, struct brig_error *err);
/* Removes it with all its contents, following no links. NULL is allowed. */
void workdir_remove(const char *path);
#endif
