/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the operator's runtimes/ directory: only files that no other user could have written. */
#ifndef BRIG_RUNTIME_CONFIG_FILE_H
#define BRIG_RUNTIME_CONFIG_FILE_H

#include "base/bytes/buf.h"
#include "base/error.h"
#include "base/strlist.h"
#include "runtime/runtime.h"

/* runtimes/ in the source's config_dir, which is set; -ENOENT (no error filled): none. */
int config_dir_open(const struct runtime_source *source, struct brig_error *err);
/* Names of the runtimes in it, in order: NAME of each NAME.json. */
int config_dir_names(int dir_fd, struct strlist *ret, struct brig_error *err);
/* The text of NAME.json; -ENOENT (no error filled): not found. */
int config_file_read(const struct runtime_source *source, int dir_fd, const char *name,
		     struct buf *ret, struct brig_error *err);
#endif
