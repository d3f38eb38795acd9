/* SPDX-License-Identifier: Apache-2.0 */
/* JSON input of the ledger, from a front that may have been compromised. */
#ifndef BRIG_LEDGER_JSON_FACTS_H
#define BRIG_LEDGER_JSON_FACTS_H

#include <jansson.h>

/* An object without duplicate keys; -EPROTO, -ENOMEM. */
int json_facts_load(const char *text, size_t size, json_t **ret);
/* One representation for each value: sorted keys, no blanks. free() it; NULL: no memory. */
char *json_canonical(const json_t *value);
#endif
