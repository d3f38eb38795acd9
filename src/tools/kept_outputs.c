/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results that were cut for the model, so that the rest can be read: the newest ones, within a
 * limit of bytes for each tenant and for all, for a quarter of an hour.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tools/tools_internal.h"

#define KEEP_NS          (900 * UINT64_C(1000000000))
#define ALL_BYTES_MAX    (64u << 20)
#define TENANT_BYTES_MAX (16u << 20)

struct kept_entry {
	struct kept_entry *next;
	char *tenant;
	char id[27];
	struct kept_output output;
	size_t size;
	uint64_t until_ns;
};

struct kept_outputs {
	struct kept_entry *first; /* the newest */
	size_t bytes;
};

int kept_outputs_new(struct kept_outputs **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void drop(struct kept_outputs *kept, struct kept_entry **at)
{
	struct kept_entry *gone = *at;

	*at = gone->next;
	kept->bytes -= gone->size;
	output_positions_done(&gone->output.positions[0]);
	output_positions_done(&gone->output.positions[1]);
	block_unref(gone->output.result);
	free(gone->tenant);
	free(gone);
}

void kept_outputs_free(struct kept_outputs *kept)
{
	while (kept && kept->first) {
		drop(kept, &kept->first);
	}
	free(kept);
}

/* Drops entries above the limits: the oldest are last. */
static void trim(struct kept_outputs *kept, const char *tenant)
{
	uint64_t now = clock_now_ns();
	size_t all = 0, own = 0;

	for (struct kept_entry **at = &kept->first; *at;) {
		bool is_own = strcmp((*at)->tenant, tenant) == 0;
		all += (*at)->size;
		own += is_own ? (*at)->size : 0;
		if (all > ALL_BYTES_MAX || (is_own && own > TENANT_BYTES_MAX) ||
		    (*at)->until_ns < now) {
			all -= (*at)->size;
			own -= is_own ? (*at)->size : 0;
			drop(kept, at);
		} else {
			at = &(*at)->next;
		}
	}
}

void kept_outputs_add(struct kept_outputs *kept, const char *tenant, const char *id,
		      struct block *result)
{
	struct kept_entry *entry = calloc(1, sizeof(*entry));
	char *name = strdup(tenant);

	if (!entry || !name) {
		free(entry);
		free(name);
		return; /* then the rest cannot be read, and the reader gets a message */
	}
	*entry = (struct kept_entry){
		.next = kept->first,
		.tenant = name,
		.output.result = block_ref(result),
		.size = result->size,
		.until_ns = clock_now_ns() + KEEP_NS,
	};
	(void)strncat(entry->id, id, sizeof(entry->id) - 1);
	kept->first = entry;
	kept->bytes += entry->size;
	trim(kept, tenant);
}

void kept_outputs_each(struct kept_outputs *kept, const char *tenant,
		       void (*each)(void *user, const char *id, const struct block *result),
		       void *user)
{
	trim(kept, tenant);
	for (struct kept_entry *entry = kept->first; entry; entry = entry->next) {
		if (strcmp(entry->tenant, tenant) == 0) {
			each(user, entry->id, entry->output.result);
		}
	}
}

struct kept_output *kept_outputs_find(struct kept_outputs *kept, const char *tenant, const char *id)
{
	trim(kept, tenant);
	for (struct kept_entry *entry = kept->first; entry; entry = entry->next) {
		if (strcmp(entry->id, id) == 0 && strcmp(entry->tenant, tenant) == 0) {
			return &entry->output;
		}
	}
	return NULL;
}
