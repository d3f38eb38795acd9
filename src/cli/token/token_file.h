/* SPDX-License-Identifier: Apache-2.0 */
/* The file of tokens, changed as a whole: other readers see the old one or the new one. */
#ifndef BRIG_CLI_TOKEN_TOKEN_FILE_H
#define BRIG_CLI_TOKEN_TOKEN_FILE_H

#include <jansson.h>

#include "base/error.h"

/* Adds an entry; -EEXIST: there is one of that name. A new file has mode 0600. */
int token_file_add(const char *path, json_t *entry, struct brig_error *err);
/* The whole of it: {"tokens":[...]}; json_decref() it. */
int token_file_read(const char *path, json_t **ret, struct brig_error *err);
/* Takes out all entries of that name; -ENOENT: there is none. */
int token_file_remove(const char *path, const char *name, struct brig_error *err);
#endif
