/* SPDX-License-Identifier: Apache-2.0 */
/* Executions that run now: see open_set.h. */
#include "ledger/log/open_set.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct open_id {
	struct open_id *next;
	char id[27];
};

/* The end of a ULID is random. A front that makes others gets one long list, of bounded length. */
static unsigned list_of(const char *id)
{
	uint32_t hash = 2166136261u;

	for (; *id; id++) {
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	}
	return hash % OPEN_SET_LISTS;
}

static struct open_id **place_of(const struct open_set *set, const char *id)
{
	struct open_id **place = (struct open_id **)(uintptr_t)&set->lists[list_of(id)];

	while (*place && strcmp((*place)->id, id) != 0) {
		place = &(*place)->next;
	}
	return place;
}

bool open_set_has(const struct open_set *set, const char *id)
{
	return *place_of(set, id) != NULL;
}

bool open_set_add(struct open_set *set, const char *id)
{
	struct open_id **place = place_of(set, id);

	if (*place || set->count >= OPEN_SET_MAX) {
		return false;
	}
	*place = calloc(1, sizeof(**place));
	if (!*place) {
		return false;
	}
	(void)strncat((*place)->id, id, sizeof((*place)->id) - 1);
	set->count++;
	return true;
}

bool open_set_remove(struct open_set *set, const char *id)
{
	struct open_id **place = place_of(set, id);
	struct open_id *found = *place;

	if (!found) {
		return false;
	}
	*place = found->next;
	free(found);
	set->count--;
	return true;
}

void open_set_done(struct open_set *set)
{
	for (unsigned i = 0; i < OPEN_SET_LISTS; i++) {
		while (set->lists[i]) {
			(void)open_set_remove(set, set->lists[i]->id);
		}
	}
}
