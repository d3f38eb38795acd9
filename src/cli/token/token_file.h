/* SPDX-License-Identifier: Apache-2.0 */
/* The token file, replaced as a whole: readers see the old one or the new one. */
#ifndef BRIG_CLI_TOKEN_TOKEN_FILE_H
#define BRIG_CLI_TOKEN_TOKEN_FILE_H

#include <jansson.h>

#include "base/error.h"

/* Adds an entry; -EEXIST: the name exists. A new file has mode 0600. */
int token_file_add(const char *path, json_t *entry, struct brig_error *err);
/* The whole of it: {"tokens":[...]}; json_decref() it. */
int token_file_read(const char *path, json_t **ret, struct brig_error *err);
/* Removes all entries of that name; -ENOENT: not found. */
int token_file_remove(const char *path, const char *name, struct brig_error *err);
#endif
