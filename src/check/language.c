/* SPDX-License-Identifier: Apache-2.0 */
/* Languages: by the policy's list, its guard, and its rule for code of unknown risk. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check/internal.h"

static void cleanup_runtime(struct runtime **runtime)
{
	runtime_free(*runtime);
}

static size_t index_of(const struct strlist *list, const char *name)
{
	size_t i = 0;

	while (i < list->count && strcmp(list->items[i], name) != 0) {
		i++;
	}
	return i;
}

static void by_guard(const struct check *check, const struct runtime *runtime,
		     struct check_answer *ret)
{
	const struct brig_request asked = { .size = sizeof(asked) };
	struct guard guard = { 0 };
	struct brig_error why = { 0 };
	const enum guard_mode mode = check->policy->guard.mode;

	if (guard_decide(check->policy, &asked, runtime, &guard, &why) < 0) {
		bool ask = why.code == BRIG_E_CONSENT;
		if (ask) {
			policy_trace_key(&check->trace, "auto_run", NULL, &ret->origin);
		} else {
			check_origin_word(check, "guard", "mode", guard_mode_names[mode],
					  &ret->origin);
		}
		check_set_answer(ret, ask ? CHECK_ASK : CHECK_REFUSED, "%s", why.message);
		snprintf(ret->repair, sizeof(ret->repair), "%s", why.remedy);
	}
	guard_done(&guard);
}

int check_answer_language(struct check *check, const char *text, struct check_answer *ret,
			  struct brig_error *err)
{
	const struct strlist *runtimes = &check->policy->runtimes;
	_cleanup_(cleanup_runtime)
	struct runtime *runtime = NULL;
	struct brig_error why = { 0 };
	int r = runtime_load(&check->context->runtimes, text, &runtime, err);

	if (r < 0) {
		return r;
	}
	policy_trace_key(&check->trace, "runtimes", NULL, &ret->origin);
	if (!policy_runtime_allowed(check->policy, runtime->name)) {
		char what[48];
		check_set_answer(ret, CHECK_REFUSED, "%s is not in the list", runtime->name);
		snprintf(what, sizeof(what), "\"%s\"", runtime->name);
		check_repair(check, ret, REPAIR_ADD, "runtimes", NULL, what);
		return 0;
	}
	if (runtimes->count) {
		policy_trace_item(&check->trace, "runtimes", NULL,
				  index_of(runtimes, runtime->name), &ret->origin);
	}
	check_set_answer(ret, CHECK_ALLOWED, "%s",
			 runtimes->count ? "it is in the list"
					 : "the list is empty: all languages");
	by_guard(check, runtime, ret);
	if (ret->verdict == CHECK_ALLOWED && !runtime->generic && runtime_find(runtime, &why) < 0) {
		size_t used = strlen(ret->reason);
		snprintf(ret->reason + used, sizeof(ret->reason) - used, "; but %s", why.message);
	}
	return 0;
}
