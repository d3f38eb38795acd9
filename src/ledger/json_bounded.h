/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of a peer that may be hostile: bounded in depth and in what it takes in memory. */
#ifndef BRIG_LEDGER_JSON_BOUNDED_H
#define BRIG_LEDGER_JSON_BOUNDED_H

#include <jansson.h>

#define JSON_BOUNDED_DEPTH  80      /* a result's value may be 64 deep */
#define JSON_BOUNDED_VALUES 2000000 /* each takes some forty bytes */

/* An object without duplicate keys; -EPROTO, -ENOMEM. */
int json_bounded_load(const char *text, size_t size, json_t **ret);
/* One spelling for each value: keys in order, no blanks. free() it; NULL: no memory. */
char *json_canonical(const json_t *value);
#endif
