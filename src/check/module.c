/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of Python, as the guard of the policy decides. The rule is that of data/guard/modules.py,
 * which a test compares with this one; the table is the same file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "check/internal.h"

#define TABLE      "guard/modules.json"
#define MODULE_MAX 128

struct modules {
	struct json_doc doc;
	json_t *known;   /* all modules that strict can allow */
	json_t *refused; /* modules that imports refuses */
};

static int modules_load(struct modules *ret, struct brig_error *err)
{
	for (size_t i = 0; i < embedded_files_count; i++) {
		const struct embedded_file *file = &embedded_files[i];
		if (strcmp(file->path, TABLE) == 0) {
			int r = json_doc_load(&ret->doc, TABLE, file->data, file->size, err);
			ret->known = json_object_get(ret->doc.root, "modules");
			ret->refused = json_object_get(ret->doc.root, "imports_refused");
			return r;
		}
	}
	return error_set(err, BRIG_E_SYSTEM, ENOENT, "brig has no %s", TABLE);
}

static void cleanup_modules(struct modules *modules)
{
	json_doc_done(&modules->doc);
}

static void table_origin(const struct modules *modules, const char *section, const char *name,
			 struct origin *ret)
{
	*ret = (struct origin){ .kind = ORIGIN_MODULES };
	snprintf(ret->name, sizeof(ret->name), "modules.json");
	snprintf(ret->key, sizeof(ret->key), "%s.%.128s", section, name);
	json_doc_locate(&modules->doc, ret->key, &ret->line, &ret->column);
}

/*
 * "a", "a.b", "a.b.c": the first of them that `has` accepts, in `ret`. Permission for a package
 * includes its contents.
 */
static bool find_part(const char *name, bool (*has)(const void *of, const char *part),
		      const void *of, char ret[MODULE_MAX + 1])
{
	for (const char *dot = strchrnul(name, '.');; dot = strchrnul(dot + 1, '.')) {
		snprintf(ret, MODULE_MAX + 1, "%.*s", (int)(dot - name), name);
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

static bool by_default(const void *of, const char *part)
{
	return json_is_true(json_object_get(json_object_get(of, part), "default"));
}

static void repair(const struct check *check, const char *name, struct check_answer *ret)
{
	char what[MODULE_MAX + 8];

	snprintf(what, sizeof(what), "\"%s\"", name);
	check_repair(check, ret, REPAIR_ADD, "guard", "allowed_modules", what);
}

static void by_list(const struct check *check, const char *name, struct check_answer *ret)
{
	const struct strlist *list = &check->policy->guard.modules;
	char part[MODULE_MAX + 1];

	if (!find_part(name, in_list, list, part)) {
		policy_trace_key(&check->trace, "guard", "allowed_modules", &ret->origin);
		check_set_answer(ret, CHECK_REFUSED, "it is not among the allowed modules");
		repair(check, name, ret);
		return;
	}
	size_t i = 0;
	while (strcmp(list->items[i], part) != 0) {
		i++;
	}
	policy_trace_item(&check->trace, "guard", "allowed_modules", i, &ret->origin);
	check_set_answer(ret, CHECK_ALLOWED, "\"%s\" is among the allowed modules", part);
}

static void by_imports(const struct check *check, const struct modules *modules, const char *name,
		       struct check_answer *ret)
{
	char part[MODULE_MAX + 1];

	if (!find_part(name, in_object, modules->refused, part)) {
		check_origin_word(check, "guard", "mode", "imports", &ret->origin);
		check_set_answer(ret, CHECK_ALLOWED,
				 "the guard's mode imports refuses only the modules of its list");
		return;
	}
	table_origin(modules, "imports_refused", part, &ret->origin);
	check_set_answer(ret, CHECK_REFUSED, "the guard's mode imports refuses %s: it %s", part,
			 json_string_value(json_object_get(modules->refused, part)));
	snprintf(ret->repair, sizeof(ret->repair),
		 "list all modules that may be imported, with %s, as guard.allowed_modules", name);
}

static void by_strict(const struct check *check, const struct modules *modules, const char *name,
		      struct check_answer *ret)
{
	char part[MODULE_MAX + 1];

	if (!json_object_get(modules->known, name)) {
		check_origin_word(check, "guard", "mode", "strict", &ret->origin);
		check_set_answer(ret, CHECK_REFUSED,
				 "the module is not in the table of the guard's mode strict");
		snprintf(
			ret->repair, sizeof(ret->repair),
			"answer the three questions for it in data/guard/modules.json, and rebuild "
			"brig; or use the mode imports");
		return;
	}
	if (check->policy->guard.own_modules) {
		by_list(check, name, ret);
		return;
	}
	table_origin(modules, "modules", name, &ret->origin);
	if (find_part(name, by_default, modules->known, part)) {
		check_set_answer(ret, CHECK_ALLOWED,
				 "the guard's mode strict allows it by default");
		return;
	}
	json_t *files = json_object_get(json_object_get(modules->known, name), "files");
	check_set_answer(
		ret, CHECK_REFUSED,
		"the guard's mode strict allows it only for policies that list it (files: %s)",
		json_string_value(files) ? json_string_value(files) : "?");
	repair(check, name, ret);
}

static bool is_module(const char *name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
	size_t length = strlen(name);

	return length > 0 && length <= MODULE_MAX && strspn(name, letters) == length &&
	       name[0] != '.' && name[length - 1] != '.' && !strstr(name, "..");
}

int check_answer_module(struct check *check, const char *text, struct check_answer *ret,
			struct brig_error *err)
{
	const struct policy_guard *guard = &check->policy->guard;
	_cleanup_(cleanup_modules)
	struct modules modules = { 0 };
	int r = modules_load(&modules, err);

	if (r == 0 && !is_module(text)) {
		r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%.64s\" is not a valid module name",
			      text);
		error_remedy(err, "write it in full, such as json or os.path");
	}
	if (r < 0) {
		return r;
	}
	if (guard->mode == GUARD_OFF) {
		check_origin_word(check, "guard", "mode", "off", &ret->origin);
		check_set_answer(
			ret, CHECK_ALLOWED,
			"the guard is off: all modules are allowed, and the cell is the boundary");
	} else if (guard->mode == GUARD_STRICT) {
		by_strict(check, &modules, text, ret);
	} else if (guard->own_modules) {
		by_list(check, text, ret);
	} else {
		by_imports(check, &modules, text, ret);
	}
	return 0;
}
