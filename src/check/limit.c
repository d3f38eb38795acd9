/* SPDX-License-Identifier: Apache-2.0 */
/* Limits that a request sets, compared with the policy's ceiling. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "check/internal.h"

static const struct limit_info *find_limit(const char *text, size_t length, struct brig_error *err)
{
	struct suggestion best = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "%.*s", length < sizeof(name) ? (int)length : 31, text);
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		suggest(&best, name, limit_table[i].key);
		if (strcmp(name, limit_table[i].key) == 0) {
			return &limit_table[i];
		}
	}
	error_set(err, BRIG_E_INPUT, EINVAL, "\"%s\" is not a limit", name);
	error_remedy(err, "%s%s%swrite NAME=VALUE, such as memory=2G",
		     best.word ? "did you mean " : "", best.word ? best.word : "",
		     best.word ? "? " : "");
	return NULL;
}

int check_answer_limit(struct check *check, const char *text, struct check_answer *ret,
		       struct brig_error *err)
{
	size_t length = strcspn(text, "=");
	const char *value = text[length] ? text + length + 1 : "";
	struct brig_limits wanted = { 0 }, most = check->policy->ceiling, got;
	const struct limit_info *info = find_limit(text, length, err);
	struct brig_error why = { 0 };
	char ceiling[40];

	if (!info) {
		return -EINVAL;
	}
	uint64_t *asked = limit_of(&wanted, info);
	if (unit_parse(info->unit, value, asked) < 0 || *asked < info->least) {
		char least[40];
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%s\" is not %s", value,
				  unit_describe(info->unit));
		error_remedy(err, "write %s=VALUE, at least %s", info->key,
			     unit_format(info->unit, info->least, least, sizeof(least)));
		return r;
	}
	check_origin_limit(check, "ceiling", info, *limit_of(&most, info), &ret->origin);
	unit_format(info->unit, *limit_of(&most, info), ceiling, sizeof(ceiling));
	if (policy_limits(check->policy, &wanted, &got, &why) == 0) {
		check_set_answer(ret, CHECK_ALLOWED, "a run may request at most %s", ceiling);
		snprintf(ret->condition, sizeof(ret->condition), "%s %s", info->option, value);
		return 0;
	}
	char what[40];
	check_set_answer(ret, CHECK_REFUSED, "above the ceiling of %s", ceiling);
	snprintf(what, sizeof(what), "\"%s\"", value);
	if (ret->origin.kind == ORIGIN_FILE && check->trace.texts[TRACE_OPERATOR].place &&
	    strcmp(ret->origin.name, check->trace.texts[TRACE_OPERATOR].place) == 0) {
		snprintf(ret->repair, sizeof(ret->repair),
			 "the operator has to raise ceiling.%s in %s", info->key, ret->origin.name);
	} else {
		check_repair(check, ret, REPAIR_SET, "ceiling", info->key, what);
	}
	return 0;
}
