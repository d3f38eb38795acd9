/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of Python: the guard itself decides, in a cell of the policy. A session is opened, and
 * each question is a program for its checker: a function that would import the module, and that
 * nothing calls. The tables of modules are read here only to name the line behind the answer.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "check/internal.h"

#define TABLE         "guard/modules.json"
#define STATEMENT_MAX 300
#define NAME_MAX_SIZE 128

/* "import a.b", or "from a.b import c". */
struct import {
	char module[NAME_MAX_SIZE + 1];
	char name[NAME_MAX_SIZE + 1]; /* or "" */
};

static bool is_module(const char *name, const char *letters)
{
	size_t length = strlen(name);

	return length > 0 && length <= NAME_MAX_SIZE && strspn(name, letters) == length &&
	       name[0] != '.' && name[length - 1] != '.' && !strstr(name, "..");
}

static int import_parse(const char *text, struct import *ret, struct brig_error *err)
{
	static const char letters[] =
		".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	static const char from[] = "from ", import[] = " import ";
	const char *middle = strstr(text, import);
	bool two = strncmp(text, from, strlen(from)) == 0 && middle;
	const char *module = two ? text + strlen(from) : text;
	int length = two ? (int)(middle - module) : (int)strnlen(text, NAME_MAX_SIZE + 1);

	*ret = (struct import){ 0 };
	snprintf(ret->module, sizeof(ret->module), "%.*s", length < 0 ? 0 : length, module);
	if (two) {
		snprintf(ret->name, sizeof(ret->name), "%s", middle + strlen(import));
	}
	bool whole = strlen(ret->module) == (size_t)length &&
		     (!two || strlen(ret->name) == strlen(middle + strlen(import)));
	if (length > 0 && whole && is_module(ret->module, letters) &&
	    (!two || is_module(ret->name, letters + 1))) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%.64s\" is not a valid module name", text);
	error_remedy(err, "write it in full, such as json or os.path, or \"from os import path\"");
	return r;
}

/* --- the guard's answer -------------------------------------------------------------------- */

static int open_guard(struct check *check, struct brig_error *err)
{
	const struct brig_request request = {
		.size = sizeof(request),
		.policy = check->policy->name,
		.language = "python",
		.consent = true,
	};

	return check->guard ? 0 : brig_session_open(check->context, &request, &check->guard, err);
}

/* The result of one question; for brig_result_free(). */
static int ask_guard(struct check *check, const struct import *import, struct brig_result **ret,
		     struct brig_error *err)
{
	char code[STATEMENT_MAX];
	const struct brig_request request = { .size = sizeof(request), .code = code };
	struct brig_run *run = NULL;

	snprintf(code, sizeof(code), "def question():\n    %s%s%s%s\n",
		 import->name[0] ? "from " : "import ", import->module,
		 import->name[0] ? " import " : "", import->name);
	int r = open_guard(check, err);
	r = r < 0 ? r : brig_session_start(check->guard, &request, &run, err);
	r = r < 0 ? r : brig_run_wait(run, err);
	if (r == 0) {
		*ret = brig_run_take_result(run);
	}
	brig_run_free(run);
	if (r < 0) {
		check_explain_cell(check, err);
	}
	return r;
}

/* --- the line behind it -------------------------------------------------------------------- */

/*
 * The shortest of "a", "a.b", "a.b.c" that `has` accepts, in `ret`: an entry for a package is one
 * for its contents.
 */
static bool find_part(const char *name, bool (*has)(const void *of, const char *part),
		      const void *of, char ret[NAME_MAX_SIZE + 1])
{
	for (const char *dot = strchrnul(name, '.');; dot = strchrnul(dot + 1, '.')) {
		snprintf(ret, NAME_MAX_SIZE + 1, "%.*s", (int)(dot - name), name);
		if (has(of, ret)) {
			return true;
		}
		if (*dot == '\0') {
			return false;
		}
	}
}

static bool in_object(const void *of, const char *part)
{
	return json_object_get(of, part) != NULL;
}

static bool in_list(const void *of, const char *part)
{
	return strlist_has(of, part);
}

/* The line of the guard's own table. false: it has none for this module. */
static bool trace_table(const char *section, const char *name, struct origin *ret)
{
	const struct embedded_file *file = embedded_find(TABLE);
	struct json_doc doc = { 0 };
	struct brig_error unused = { 0 };
	char part[NAME_MAX_SIZE + 1];
	bool found = file && json_doc_load(&doc, TABLE, file->data, file->size, &unused) == 0 &&
		     find_part(name, in_object, json_object_get(doc.root, section), part);

	if (found) {
		*ret = (struct origin){ .kind = ORIGIN_MODULES };
		snprintf(ret->name, sizeof(ret->name), "modules.json");
		snprintf(ret->key, sizeof(ret->key), "%s.%.128s", section, part);
		json_doc_locate(&doc, ret->key, &ret->line, &ret->column);
	}
	json_doc_done(&doc);
	return found;
}

/* The entry of the policy's own list, or the list. */
static void trace_list(const struct check *check, const char *name, struct origin *ret)
{
	const struct strlist *list = &check->policy->guard.modules;
	char part[NAME_MAX_SIZE + 1];
	size_t i = 0;

	if (!find_part(name, in_list, list, part)) {
		policy_trace_key(&check->trace, "guard", "allowed_modules", ret);
		return;
	}
	while (strcmp(list->items[i], part) != 0) {
		i++;
	}
	policy_trace_item(&check->trace, "guard", "allowed_modules", i, ret);
}

static void trace_module(const struct check *check, const char *name, struct origin *ret)
{
	const struct policy_guard *guard = &check->policy->guard;
	bool strict = guard->mode == GUARD_STRICT;
	bool known = trace_table(strict ? "modules" : "imports_refused", name, ret);

	if (guard->own_modules && (known || !strict)) {
		trace_list(check, name, ret);
	} else if (!known) {
		check_origin_word(check, "guard", "mode", guard_mode_names[guard->mode], ret);
	}
}

static void explain_refusal(const struct check *check, const struct import *import,
			    const struct brig_result *result, struct check_answer *ret)
{
	char what[NAME_MAX_SIZE + 8];

	check_set_answer(ret, CHECK_REFUSED, "the guard (%s) answers: %s",
			 guard_mode_names[check->policy->guard.mode], result->refusal.reason);
	if (strcmp(result->refusal.rule, "risk") == 0) {
		policy_trace_key(&check->trace, "auto_run", NULL, &ret->origin);
	}
	if (strcmp(ret->origin.key, "guard.allowed_modules") == 0) {
		snprintf(what, sizeof(what), "\"%s\"", import->module);
		check_repair(check, ret, REPAIR_ADD, "guard", "allowed_modules", what);
		return;
	}
	snprintf(ret->repair, sizeof(ret->repair), "%s",
		 result->operator_remedy[0] ? result->operator_remedy : result->remedy);
}

static int explain(const struct check *check, const struct import *import,
		   const struct brig_result *result, struct check_answer *ret,
		   struct brig_error *err)
{
	if (result->status != BRIG_OK && result->status != BRIG_REJECTED) {
		/* A word of the language: the guard leaves mistakes to the interpreter. */
		bool mistake = result->status == BRIG_FAILED;
		return error_set(err, mistake ? BRIG_E_INPUT : BRIG_E_HOST, mistake ? EINVAL : EIO,
				 mistake ? "python does not accept the import of \"%s\""
					 : "the guard's cell ended without an answer about \"%s\"",
				 import->module);
	}
	trace_module(check, import->module, &ret->origin);
	if (result->status == BRIG_REJECTED) {
		explain_refusal(check, import, result, ret);
		return 0;
	}
	check_set_answer(ret, CHECK_ALLOWED, "the guard (%s) allows it",
			 guard_mode_names[check->policy->guard.mode]);
	return 0;
}

int check_answer_module(struct check *check, const char *text, struct check_answer *ret,
			struct brig_error *err)
{
	struct brig_result *result = NULL;
	struct import import;
	int r = import_parse(text, &import, err);

	if (r < 0) {
		return r;
	}
	if (check->policy->guard.mode == GUARD_OFF) {
		check_origin_word(check, "guard", "mode", "off", &ret->origin);
		check_set_answer(ret, CHECK_ALLOWED, "the guard is off: all modules are allowed%s",
				 provider_can(check->policy->provider, ABILITY_OWN_ROOT)
					 ? ", and the cell is the boundary"
					 : "");
		return 0;
	}
	/* A policy that runs nothing has no cell for the guard; consent is considered last. */
	if (check->policy->auto_run == AUTO_RUN_NEVER) {
		check_set_answer(ret, CHECK_ALLOWED, "not decided");
		return 0;
	}
	r = ask_guard(check, &import, &result, err);
	if (r == 0) {
		r = explain(check, &import, result, ret, err);
	}
	brig_result_free(result);
	return r;
}
