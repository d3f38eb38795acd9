/* SPDX-License-Identifier: Apache-2.0 */
/* A result out of its JSON: what the command line shows and writes of one. */
#ifndef BRIG_CLI_RUN_RESULT_READ_H
#define BRIG_CLI_RUN_RESULT_READ_H

#include <brig/brig.h>
#include <jansson.h>

/* Texts and files that do not fit are cut or left out, never believed. NULL: no memory. */
struct brig_result *result_read(json_t *json);
#endif
