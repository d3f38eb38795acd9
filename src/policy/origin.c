/* SPDX-License-Identifier: Apache-2.0 */
/* Origins for people and for programs: see origin.h. */
#include "policy/origin.h"

static const char *const kinds[] = {
	[ORIGIN_UNSAID] = "brig", [ORIGIN_FILE] = "file",       [ORIGIN_POLICY] = "policy",
	[ORIGIN_GROUP] = "group", [ORIGIN_MODULES] = "modules",
};

void origin_print(const struct origin *origin, struct buf *out)
{
	switch (origin->kind) {
	case ORIGIN_FILE:
		buf_addf(out, "%s:%d:%d", origin->name, origin->line, origin->column);
		return;
	case ORIGIN_POLICY:
		buf_addf(out, "built-in policy %s, line %d", origin->name, origin->line);
		return;
	case ORIGIN_GROUP:
		buf_addf(out, "%s, %s.rules line %d", origin->name, origin->name + 1, origin->line);
		return;
	case ORIGIN_MODULES:
		buf_addf(out, "the guard's %s, line %d", origin->name, origin->line);
		return;
	case ORIGIN_UNSAID:
		buf_adds(out, "brig itself");
		return;
	}
}

void origin_print_json(const struct origin *origin, const char *key, struct json_out *out)
{
	if (origin->kind == ORIGIN_UNSAID) {
		json_nil(out, key);
		return;
	}
	json_open(out, key, '{');
	json_text(out, "kind", kinds[origin->kind]);
	json_text(out, "name", origin->name);
	json_text(out, "key", origin->key[0] ? origin->key : NULL);
	json_u64(out, "line", (uint64_t)origin->line);
	json_u64(out, "column", (uint64_t)origin->column);
	json_close(out, '}');
}
