/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of runtimes and policies: see inventory.h. */
#include "lib/prepare/inventory.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json/json_out.h"

int listing_load_runtimes(struct brig_context *context, struct runtime ***ret, size_t *ret_count,
			  struct brig_error *err)
{
	int r = runtime_load_all(&context->runtimes, ret, ret_count, err);

	for (size_t i = 0; r == 0 && i < *ret_count; i++) {
		/* A runtime that is missing, or has no known version, is still listed. */
		if (!(*ret)[i]->generic && runtime_find((*ret)[i], NULL) == 0) {
			runtime_version((*ret)[i], context->cache_dir, &context->versions, NULL);
		}
	}
	return r;
}

void listing_free_runtimes(struct runtime **all, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		runtime_free(all[i]);
	}
	free(all);
}

void listing_print_runtimes(struct runtime *const *all, size_t count, struct buf *out)
{
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_open(&json, "runtimes", '[');
	for (size_t i = 0; i < count; i++) {
		const struct runtime *runtime = all[i];

		if (runtime->generic) {
			continue;
		}
		json_open(&json, NULL, '{');
		json_text(&json, "name", runtime->name);
		json_bool(&json, "installed", runtime->program != NULL);
		json_text(&json, "version", runtime->version[0] ? runtime->version : NULL);
		json_text(&json, "program", runtime->program);
		json_text(&json, "package", runtime->package_hint);
		json_bool(&json, "compiled", runtime->compile.count > 0);
		json_bool(&json, "sessions", runtime->session_driver[0] != '\0');
		json_list(&json, "aliases", &runtime->aliases);
		json_list(&json, "extensions", &runtime->extensions);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
}

static void add_policy(const struct policy_source *source, const char *name, struct json_out *json)
{
	struct brig_error error = { 0 };
	struct policy *policy = NULL;

	/* One bad file must not hide the others. */
	int r = policy_load(source, name, &policy, &error);
	json_open(json, NULL, '{');
	json_text(json, "name", name);
	json_bool(json, "valid", r == 0);
	json_text(json, "description",
		  r < 0                 ? error.message
		  : policy->description ? policy->description
					: "");
	json_close(json, '}');
	policy_free(policy);
}

int listing_print_policies(const struct policy_source *source, struct buf *out,
			   struct brig_error *err)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	struct json_out json = { .buf = out };
	int r = policy_names(source, &names, err);

	if (r < 0) {
		return r;
	}
	json_open(&json, NULL, '{');
	json_open(&json, "policies", '[');
	for (size_t i = 0; i < names.count; i++) {
		add_policy(source, names.items[i], &json);
	}
	json_close(&json, ']');
	json_close(&json, '}');
	return 0;
}
