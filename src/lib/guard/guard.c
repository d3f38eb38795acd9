/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a request is guarded, and makes the driver's instructions: see guard.h. */
#include "lib/guard/guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/json/json_out.h"

/* Each file only defines names; a file comes after the files that it uses. */
const char *const guard_files[] = {
	"guard/names.py",   "guard/refusal.py", "guard/walk.py",     "guard/rewrite.py",
	"guard/modules.py", "guard/facades.py", "guard/tables.py",   "guard/prepare.py",
	"guard/risk.py",    "guard/owned.py",   "guard/builtins.py", "guard/instead.py",
	"guard/limits.py",  "guard/audit.py",   "guard/detach.py",   "guard/guard.py",
	"guard/report.py",  "guard/checker.py", "guard/program.py",  NULL,
};
#define TABLE "guard/modules.json"

char *guard_text(const char *driver, size_t size, size_t *ret_size)
{
	const struct embedded_file *table = embedded_find(TABLE);
	struct buf text = { 0 };

	if (table) {
		/* A test checks that it has no backslash and no quotes of this kind. */
		buf_addf(&text, "GUARD_TABLE = '''");
		buf_add(&text, table->data, table->size);
		buf_addf(&text, "'''\n");
	}
	for (const char *const *path = guard_files; *path; path++) {
		const struct embedded_file *file = embedded_find(*path);
		if (!file || !table) {
			buf_done(&text);
			return NULL;
		}
		buf_add(&text, file->data, file->size);
	}
	buf_add(&text, driver, size);
	*ret_size = text.size;
	return buf_take(&text);
}

/* The guard is part of a driver in the cell: a provider without drivers has no guard. */
static int no_driver(const struct policy *policy, const char *what, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_POLICY, ENOTSUP,
			  "provider %s has no guard: code cannot be %s", policy->provider->name,
			  what);
	error_remedy(err, "use a policy with provider \"native\", such as default");
	return r;
}

static int no_guard(const struct policy *policy, enum guard_mode mode, const char *language,
		    struct brig_error *err)
{
	if (!provider_can(policy->provider, ABILITY_VALUE)) {
		return no_driver(policy, "guarded", err);
	}
	int r = error_set(
		err, BRIG_E_POLICY, ENOTSUP,
		"code is to be guarded (%s) under policy %s, and there is no guard for %s",
		guard_mode_names[mode], policy->name, language);
	error_remedy(err, policy->guard.mode == GUARD_OFF
				  ? "use python, or leave the guard out"
				  : "use python, or a policy with guard \"off\"");
	return r;
}

/* There is no risk score for this language, so a person has to give consent. */
static int no_score(const struct policy *policy, const struct brig_request *request,
		    const char *language, struct brig_error *err)
{
	if (policy->risk.ask + policy->risk.refuse == 0 || request->consent) {
		return 0;
	}
	int r = error_set(err, BRIG_E_CONSENT, EACCES,
			  "policy %s decides by the risk of code, which is not known for %s",
			  policy->name, language);
	error_remedy(err,
		     "a person has to give consent: brig run --yes, or consent in the request");
	return r;
}

static int make_instructions(const struct policy *policy, const struct brig_request *request,
			     struct guard *guard)
{
	const struct policy_guard *rules = &policy->guard;
	struct buf buf = { 0 };
	struct json_out out = { .buf = &buf };

	json_open(&out, NULL, '{');
	json_text(&out, "mode", guard_mode_names[guard->mode]);
	if (rules->own_modules) {
		json_list(&out, "modules", &rules->modules);
	}
	json_u64(&out, "operations", rules->operations);
	json_u64(&out, "recursion", rules->recursion);
	json_u64(&out, "ask", request->consent ? 0 : policy->risk.ask);
	json_u64(&out, "refuse", policy->risk.refuse);
	json_int(&out, "score", policy->risk.ask || policy->risk.refuse || request->check);
	json_int(&out, "check", request->check);
	json_int(&out, "value", request->want_value);
	json_close(&out, '}');
	guard->instructions = buf_take(&buf);
	return guard->instructions ? 0 : -ENOMEM;
}

int guard_decide(const struct policy *policy, const struct brig_request *request,
		 const struct runtime *runtime, struct guard *ret, struct brig_error *err)
{
	const char *language = runtime ? runtime->name : "commands";
	bool able = runtime && strcmp(runtime->name, "python") == 0 && runtime->value_driver[0] &&
		    provider_can(policy->provider, ABILITY_VALUE);
	struct guard guard = { .check = request->check,
			       .operations = policy->guard.operations,
			       .recursion = policy->guard.recursion };
	int r = policy_guard_mode(policy, request->guard, &guard.mode, err);

	if (r < 0) {
		return r;
	}
	if (!able) {
		if (request->check && !provider_can(policy->provider, ABILITY_VALUE)) {
			r = no_driver(policy, "checked", err);
		} else if (request->check) {
			r = error_set(err, BRIG_E_INPUT, ENOTSUP,
				      "only python can be checked, not %s", language);
		} else if (guard.mode != GUARD_OFF) {
			r = no_guard(policy, guard.mode, language, err);
		} else {
			r = no_score(policy, request, language, err);
		}
		*ret = guard;
		return r;
	}
	guard.on = guard.mode != GUARD_OFF || request->check || policy->risk.ask ||
		   policy->risk.refuse;
	if (guard.on && make_instructions(policy, request, &guard) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	*ret = guard;
	return 0;
}

int guard_add_instructions(const struct guard *guard, struct strlist *argv, size_t at)
{
	int r = strlist_insert(argv, at, GUARD_MARK);

	return r < 0 ? r : strlist_insert(argv, at + 1, guard->instructions);
}

void guard_done(struct guard *guard)
{
	free(guard->instructions);
	free(guard->text);
	*guard = (struct guard){ 0 };
}
