/* SPDX-License-Identifier: Apache-2.0 */
/* JSON input of the ledger: see json_facts.h. */
#include "ledger/store/json_facts.h"

#include <errno.h>

#include "base/json/json_bounded.h"

int json_facts_load(const char *text, size_t size, json_t **ret)
{
	static const struct json_bounds bounds = {
		.depth = 16,
		.values = 65536, /* each takes some forty bytes */
		.allow_nul = true,
	};
	struct json_refusal why;
	json_t *root = json_bounded_load(text, size, &bounds, &why);

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

char *json_canonical(const json_t *value)
{
	return json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
}
