/* SPDX-License-Identifier: Apache-2.0 */
/* Run ids: ULIDs, 26 characters of Crockford base32, sortable by time, 80 random bits. */
#ifndef BRIG_BASE_ID_H
#define BRIG_BASE_ID_H

#include <stdbool.h>
#include <stdint.h>

int id_make(char id[27]);        /* 0 or -errno (no random bytes) */
bool id_valid(const char *text); /* exactly such an id, canonical upper case */
bool id_name_valid(
	const char *
		/* a policy, runtime or mount name: [A-Za-z0-9._-]{1,64}, no leading . or - */
		text);
#endif
