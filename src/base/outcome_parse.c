/* SPDX-License-Identifier: Apache-2.0 */
/* A result without its long parts, parsed: see outcome.h. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/json/json_bounded.h"
#include "base/outcome.h"

int outcome_parse(const struct outcome *outcome, const char *json, json_t **ret)
{
	static const struct json_bounds bounds = { .depth = 16,
						   .values = OUTCOME_SKELETON_VALUES,
						   .allow_nul = true };
	_cleanup_(buf_done)
	struct buf text = { 0 };
	struct json_refusal why;

	outcome_skeleton(outcome, json, &text);
	if (text.failed) {
		return -ENOMEM;
	}
	json_t *root = json_bounded_load(text.data, text.size, &bounds, &why);
	if (!root) {
		return why.kind == JSON_NO_MEMORY ? -ENOMEM : -EPROTO;
	}
	if (!json_is_object(root)) {
		json_decref(root);
		return -EPROTO;
	}
	*ret = root;
	return 0;
}
