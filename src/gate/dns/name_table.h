/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns a made-up address to each name, in one cell. */
#ifndef BRIG_GATE_NAME_TABLE_H
#define BRIG_GATE_NAME_TABLE_H

#include "net/address.h"
#include "net/name.h"

#define NAME_TABLE_MAX 1024

struct name_table {
	char (*list)[NET_NAME_MAX + 1]; /* owned; the index gives the address */
	unsigned count;
};

/* The address of a name, the same each time. -ENOSPC: too many names; -ENOMEM. */
int name_table_assign(struct name_table *names, const char *name, struct net_address *ret);
/* NULL: the address was never assigned. */
const char *name_table_find(const struct name_table *names, const struct net_address *address);
#endif
