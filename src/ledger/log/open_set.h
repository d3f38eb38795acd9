/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executions that run now, as the ledger knows them without asking the store: a call for one of
 * these can be answered from the log. It is bounded; those that have no place are asked for in the
 * store.
 */
#ifndef BRIG_LEDGER_OPEN_SET_H
#define BRIG_LEDGER_OPEN_SET_H

#include <stdbool.h>

#define OPEN_SET_MAX   4096u
#define OPEN_SET_LISTS 1024u

struct open_id;

struct open_set {
	struct open_id *lists[OPEN_SET_LISTS]; /* owned */
	unsigned count;
};

bool open_set_has(const struct open_set *set, const char *id);
/* False: it is in the set, or there is no place for it. */
bool open_set_add(struct open_set *set, const char *id);
/* False: it was not in the set. */
bool open_set_remove(struct open_set *set, const char *id);
void open_set_done(struct open_set *set);
#endif
