/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of serve.json, of policies and of runtime files. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"
#include "runtime/runtime_keys.h"
#include "serve/config.h"
#include "tables/tables.h"

/* Defaults that depend on the host or on other keys. */
static const struct {
	const char *name, *text;
} relative[] = {
	{ "http.connections_per_peer", "7/8 of them" },
	{ "http.tenant_answer_bytes", "64M" }, /* and one byte */
	{ "http.tenant_body_bytes", "64M" },
	{ "runs.max", "2 for each processor" },
	{ "runs.per_tenant", "all" },
	{ "warm.cells", "4 for each processor" },
};

static const char *relative_default(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(relative); i++) {
		if (strcmp(relative[i].name, name) == 0) {
			return relative[i].text;
		}
	}
	return NULL;
}

/* NULL: it has none. */
static const char *default_of(const struct serve_config *config, const struct config_key *key,
			      char *text, size_t size)
{
	const char *field = (const char *)config + key->offset;
	uint64_t number = 0;

	if (relative_default(key->name)) {
		return relative_default(key->name);
	}
	switch (key->kind) {
	case CONFIG_NUMBER:
		memcpy(&number, field, sizeof(number));
		return unit_format(key->unit, number, text, size);
	case CONFIG_MODE:
		memcpy(&number, field, sizeof(number));
		snprintf(text, size, "%04o", (unsigned)number);
		return text;
	case CONFIG_LEVEL:
		memcpy(&number, field, sizeof(number));
		return role_level_name((enum role_level)number);
	case CONFIG_FLAG:
		return *(const bool *)field ? "true" : "false";
	case CONFIG_TEXT:
	case CONFIG_LIST:
		break;
	}
	return NULL;
}

void tables_config_keys(struct json_out *out)
{
	struct serve_config config;
	char text[32];

	config_init(&config);
	config_complete(&config);
	json_open(out, "config_keys", '[');
	for (size_t i = 0; i < config_keys_count; i++) {
		const struct config_key *key = &config_keys[i];

		if (key->internal) {
			continue;
		}
		json_open(out, NULL, '{');
		json_text(out, "name", key->name);
		json_text(out, "usual", default_of(&config, key, text, sizeof(text)));
		json_text(out, "about", key->about);
		json_close(out, '}');
	}
	json_close(out, ']');
	config_done(&config);
}

void tables_policy_keys(struct json_out *out)
{
	json_open(out, "policy_keys", '[');
	for (size_t i = 0; i < policy_keys_count; i++) {
		json_text(out, NULL, policy_keys[i].name);
	}
	json_close(out, ']');
}

static void add_runtime_keys(struct json_out *out, const char *parent,
			     const struct runtime_key *keys)
{
	for (; keys->name; keys++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", parent, *parent ? "." : "", keys->name);
		if (keys->kind == KEY_OBJECT) {
			add_runtime_keys(out, name, keys->keys);
		} else {
			json_text(out, NULL, name);
		}
	}
}

void tables_runtime_keys(struct json_out *out)
{
	json_open(out, "runtime_keys", '[');
	add_runtime_keys(out, "", runtime_keys);
	json_close(out, ']');
}
