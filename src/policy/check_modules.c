/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the modules that a policy lists with those that the guard's strict mode knows. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "policy/policy_reader.h"

/* "numpy" may stand for itself, and for its submodules. */
static bool is_known(json_t *table, const char *name)
{
	size_t length = strlen(name);
	const char *key;
	json_t *entry;

	json_object_foreach(table, key, entry)
	{
		if (strncmp(key, name, length) == 0 && (!key[length] || key[length] == '.')) {
			return true;
		}
	}
	return false;
}

static int refuse(struct policy_reader *reader, size_t at)
{
	json_t *guard = json_object_get(reader->doc->root, "guard");
	char path[POLICY_PATH_MAX] = "guard";

	if (json_object_get(guard, "allowed_modules")) {
		snprintf(path, sizeof(path), "guard.allowed_modules[%zu]", at);
	}
	json_doc_error(reader->doc, guard ? path : "", BRIG_E_POLICY, reader->err,
		       "guard mode strict cannot allow the module \"%.64s\"",
		       reader->policy->guard.modules.items[at]);
	error_remedy(reader->err, "remove it from guard.allowed_modules, or set guard.mode to "
				  "\"imports\"; docs/guard.md lists the modules of strict");
	return -EINVAL;
}

int policy_check_modules(struct policy_reader *reader)
{
	const struct policy_guard *guard = &reader->policy->guard;
	const struct embedded_file *file = embedded_find("guard/modules.json");
	int r = 0;

	if (guard->mode != GUARD_STRICT || !guard->own_modules || !file) {
		return 0;
	}
	json_t *root = json_loadb(file->data, file->size, 0, NULL);
	for (size_t i = 0; r == 0 && i < guard->modules.count; i++) {
		if (!is_known(json_object_get(root, "modules"), guard->modules.items[i])) {
			r = refuse(reader, i);
		}
	}
	json_decref(root);
	return r;
}
