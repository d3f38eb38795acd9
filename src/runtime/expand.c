/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the argv of a run from an argv template and the run's values. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/placeholder.h"
#include "runtime/runtime.h"

#define MIB (1024u * 1024u)
/* The value of {memory_mb} without a memory limit. */
#define UNLIMITED_BYTES (1024u * (uint64_t)MIB)
/*
 * The share of the memory for an interpreter's heap: its own code, stacks and caches need the rest.
 */
#define HEAP_PERCENT 60

static int expand_args(const struct runtime_values *values, struct strlist *ret)
{
	for (const char *const *arg = values->args; arg && *arg; arg++) {
		int r = strlist_add(ret, *arg);

		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int expand_item(const char *text, const char *const *words, struct strlist *ret,
		       struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf item = { 0 };
	enum placeholder missing = PLACEHOLDER_COUNT;
	int r = placeholder_expand(text, words, &item, &missing);

	if (r == -ENOENT) {
		return error_set(err, BRIG_E_RUNTIME, EINVAL, "\"%s\": no value for {%s}", text,
				 placeholder_name(missing));
	}
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot expand \"%s\"", text);
	}
	r = strlist_add(ret, item.data ? item.data : "");
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot expand \"%s\"", text) : 0;
}

int runtime_expand(const struct strlist *argv, const struct runtime_values *values,
		   struct strlist *ret, struct brig_error *err)
{
	_cleanup_(strlist_done)
	struct strlist list = { 0 };
	uint64_t memory = values->memory_bytes ? values->memory_bytes : UNLIMITED_BYTES;
	uint64_t heap = memory / 100 * HEAP_PERCENT;
	char memory_mb[24], heap_mb[24];
	const char *words[PLACEHOLDER_COUNT] = {
		[PLACEHOLDER_PROGRAM] = values->program, [PLACEHOLDER_PREFIX] = values->prefix,
		[PLACEHOLDER_SOURCE] = values->source,   [PLACEHOLDER_OUTPUT] = values->output,
		[PLACEHOLDER_MAIN] = values->main,       [PLACEHOLDER_MEMORY_MB] = memory_mb,
		[PLACEHOLDER_HEAP_MB] = heap_mb,         [PLACEHOLDER_DRIVER] = values->driver,
	};

	(void)snprintf(memory_mb, sizeof(memory_mb), "%" PRIu64, memory < MIB ? 1 : memory / MIB);
	(void)snprintf(heap_mb, sizeof(heap_mb), "%" PRIu64, heap < MIB ? 1 : heap / MIB);
	for (size_t i = 0; i < argv->count; i++) {
		int r;

		if (strcmp(argv->items[i], "{args}") == 0) {
			r = expand_args(values, &list);
			if (r < 0) {
				return error_errno(err, BRIG_E_SYSTEM, -r,
						   "cannot add the arguments");
			}
			continue;
		}
		r = expand_item(argv->items[i], words, &list, err);
		if (r < 0) {
			return r;
		}
	}
	*ret = list;
	list = (struct strlist){ 0 };
	return 0;
}
