/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that comes to the ledger, from a front that may be somebody else's by then. */
#ifndef BRIG_LEDGER_JSON_FACTS_H
#define BRIG_LEDGER_JSON_FACTS_H

#include <jansson.h>

/* An object without duplicate keys; -EPROTO, -ENOMEM. */
int json_facts_load(const char *text, size_t size, json_t **ret);
/* One spelling for each value: keys in order, no blanks. free() it; NULL: no memory. */
char *json_canonical(const json_t *value);
#endif
