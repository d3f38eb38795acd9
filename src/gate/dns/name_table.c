/* SPDX-License-Identifier: Apache-2.0 */
/* Names and their addresses: see name_table.h. */
#include "gate/dns/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* 198.18.0.1 and on: the range for benchmarks of network devices, which is used nowhere else. */
#define FIRST 0xc6120001u

static void put(uint32_t number, struct net_address *ret)
{
	*ret = (struct net_address){ .family = 4,
				     .bytes = { (uint8_t)(number >> 24), (uint8_t)(number >> 16),
						(uint8_t)(number >> 8), (uint8_t)number } };
}

int name_table_assign(struct name_table *names, const char *name, struct net_address *ret)
{
	for (unsigned i = 0; i < names->count; i++) {
		if (strcmp(names->list[i], name) == 0) {
			put(FIRST + i, ret);
			return 0;
		}
	}
	if (names->count == NAME_TABLE_MAX) {
		return -ENOSPC;
	}
	if (names->count % 64 == 0) {
		void *list = reallocarray(names->list, names->count + 64, sizeof(*names->list));
		if (!list) {
			return -ENOMEM;
		}
		names->list = list;
	}
	memcpy(names->list[names->count], name, strlen(name) + 1);
	put(FIRST + names->count++, ret);
	return 0;
}

const char *name_table_find(const struct name_table *names, const struct net_address *address)
{
	uint32_t number = (uint32_t)address->bytes[0] << 24 | (uint32_t)address->bytes[1] << 16 |
			  (uint32_t)address->bytes[2] << 8 | address->bytes[3];

	if (address->family != 4 || number < FIRST || number - FIRST >= names->count) {
		return NULL;
	}
	return names->list[number - FIRST];
}
