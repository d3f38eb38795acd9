/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a result from its JSON: the parts that the command line shows and writes. */
#ifndef BRIG_CLI_RUN_RESULT_READ_H
#define BRIG_CLI_RUN_RESULT_READ_H

#include <brig/brig.h>
#include <jansson.h>

/* Texts and files that do not fit are cut or left out, never trusted. NULL: no memory. */
struct brig_result *result_read(json_t *json);
#endif
