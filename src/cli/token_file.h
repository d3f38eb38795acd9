/* SPDX-License-Identifier: Apache-2.0 */
/* The file of tokens, changed as a whole: other readers see the old one or the new one. */
#ifndef BRIG_CLI_TOKEN_FILE_H
#define BRIG_CLI_TOKEN_FILE_H

#include <jansson.h>

#include "base/error.h"

/* Adds an entry; -EEXIST: there is one of that name. The file gets mode 0600. */
int token_file_add(const char *path, json_t *entry, struct brig_error *err);
#endif
