/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a run. */
#include "base/cleanup.h"
#include "base/limits.h"
#include "cli/exit_status.h"
#include "run/watch/verdict.h"
#include "tables/tables.h"

static const char *const units[] = {
	[UNIT_COUNT] = "count",
	[UNIT_BYTES] = "bytes",
	[UNIT_TIME] = "time",
	[UNIT_MILLICORES] = "millicores",
};

static void add_value(struct json_out *out, const char *key, const struct limit_info *info,
		      uint64_t value)
{
	char text[32];

	json_text(out, key, unit_format(info->unit, value, text, sizeof(text)));
}

static void add_verdict(struct json_out *out, const struct limit_info *info)
{
	struct brig_result result = { .signal = 0 };

	if (verdict_of_limit(info->key, &result.status)) {
		json_text(out, "status", brig_status_name(result.status));
		json_int(out, "exit_status", exit_status_of(&result));
	} else {
		json_nil(out, "status");
		json_nil(out, "exit_status");
	}
}

void tables_limits(struct json_out *out)
{
	json_open(out, "limits", '[');
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];

		json_open(out, NULL, '{');
		json_text(out, "key", info->key);
		json_text(out, "name", info->name);
		json_text(out, "option", info->option);
		json_text(out, "unit", units[info->unit]);
		json_u64(out, "least", info->least / limit_scale(info));
		json_bool(out, "zero_is_unset", info->usual != 0);
		add_value(out, "least_text", info, info->least);
		add_value(out, "usual_text", info, info->usual);
		json_text(out, "about", info->about);
		json_text(out, "effect", info->effect);
		json_bool(out, "of_compiler", info->of_compiler);
		add_verdict(out, info);
		json_close(out, '}');
	}
	json_close(out, ']');
}
