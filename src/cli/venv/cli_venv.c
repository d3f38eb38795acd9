/* SPDX-License-Identifier: Apache-2.0 */
/* `brig venv`: makes virtualenvs for runs, lists those that have a name, and removes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/venv/venv_make.h"
#include "cli/venv/venv_store.h"
#include "runtime/venv/venv.h"

struct venv_args {
	bool json;
	const char *python, *requirements;
};

static void describe(struct json_out *json, const char *name, const char *path,
		     const struct venv *venv, const struct brig_error *error)
{
	json_open(json, NULL, '{');
	json_text(json, "name", name);
	json_text(json, "path", path);
	json_text(json, "version", venv ? venv->cfg.version : NULL);
	json_text(json, "error", venv || !error ? NULL : error->message);
	json_close(json, '}');
}

/* --- create ---------------------------------------------------------------------------------- */

static int make(const struct venv_args *args, const char *path, char **packages, struct venv *venv,
		struct brig_error *err)
{
	struct venv_order order = { .path = path,
				    .python = args->python,
				    .requirements = args->requirements,
				    .packages = (const char *const *)packages };
	struct stat info;

	if (lstat(path, &info) == 0) {
		error_set(err, BRIG_E_INPUT, EEXIST, "%s exists", path);
		error_remedy(err, "choose another name, or remove it: brig venv remove NAME");
		return -EEXIST;
	}
	int r = venv_store_make_parents(path, err);
	if (r < 0) {
		return r;
	}
	if (order.requirements || (packages && packages[0])) {
		report_line("packages are installed with your rights, outside of any cell: they "
			    "may run code of their own");
	}
	r = venv_make(&order, err);
	r = r < 0 ? r : venv_open(NULL, path, venv, err);
	if (r < 0 && lstat(path, &info) == 0) {
		struct brig_error unused = { 0 };
		venv_store_remove(path, &unused);
	}
	return r;
}

static int create(const struct venv_args *args, const char *word, char **packages)
{
	struct brig_error error = { 0 };
	_cleanup_free_ char *path = NULL;
	struct venv venv;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct json_out json = { .buf = &out };

	if (venv_store_path(word, &path, &error) < 0 ||
	    make(args, path, packages, &venv, &error) < 0) {
		return report_error(&error, args->json);
	}
	if (args->json) {
		describe(&json, strchr(word, '/') ? NULL : word, path, &venv, NULL);
		return report_json(out.failed ? NULL : out.data);
	}
	buf_addf(&out, "%s: Python %s; use it: brig run --venv %s\n", path, venv.cfg.version, word);
	return report_text(&out);
}

/* --- list and remove ------------------------------------------------------------------------- */

static void list_one(const struct venv_args *args, const char *name, struct json_out *json,
		     struct buf *out)
{
	struct brig_error error = { 0 };
	struct venv venv;
	_cleanup_free_ char *path = NULL;

	if (venv_store_path(name, &path, &error) < 0) {
		return;
	}
	bool usable = venv_open(NULL, path, &venv, &error) == 0;
	if (args->json) {
		describe(json, name, path, usable ? &venv : NULL, &error);
	} else {
		buf_addf(out, "%-20s %-10s %s\n", name, usable ? venv.cfg.version : "-",
			 usable ? path : error.message);
	}
}

static int list(const struct venv_args *args, const char *word, char **packages)
{
	struct brig_error error = { 0 };
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct json_out json = { .buf = &out };

	(void)word;
	(void)packages;
	if (venv_store_names(&names, &error) < 0) {
		return report_error(&error, args->json);
	}
	if (args->json) {
		json_open(&json, NULL, '[');
	}
	for (size_t i = 0; i < names.count; i++) {
		list_one(args, names.items[i], &json, &out);
	}
	if (args->json) {
		json_close(&json, ']');
		return report_json(out.failed ? NULL : out.data);
	}
	return report_text(&out);
}

static int remove_named(const struct venv_args *args, const char *word, char **packages)
{
	struct brig_error error = { 0 };
	_cleanup_free_ char *path = NULL;
	struct stat info;

	(void)packages;
	if (strchr(word, '/')) {
		error_set(&error, BRIG_E_INPUT, EINVAL, "%s is a path, not a name", word);
		error_remedy(&error, "remove it with rm -r; brig venv list has the names");
		return report_usage(&error, args->json);
	}
	if (venv_store_path(word, &path, &error) < 0) {
		return report_error(&error, args->json);
	}
	if (lstat(path, &info) < 0) {
		error_set(&error, BRIG_E_INPUT, ENOENT, "there is no virtualenv named %s", word);
		error_remedy(&error, "brig venv list has the names");
		return report_error(&error, args->json);
	}
	return venv_store_remove(path, &error) < 0 ? report_error(&error, args->json) : STATUS_OK;
}

/* --- the command ----------------------------------------------------------------------------- */

static const struct action {
	const char *word;
	bool named;
	int (*work)(const struct venv_args *args, const char *word, char **packages);
} actions[] = {
	{ "create", true, create },
	{ "list", false, list },
	{ "remove", true, remove_named },
};

static int act(void *into, const struct arguments *given)
{
	const struct venv_args *args = into;
	const char *word = given->operands_count ? given->operands[0] : "list";
	const char *name = given->operands_count > 1 ? given->operands[1] : NULL;
	struct brig_error error = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].word, word) == 0 && (name || !actions[i].named)) {
			return actions[i].work(args, name, given->rest);
		}
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "venv: %s%.64s",
		  given->operands_count ? "unknown action, or missing name: " : "missing action",
		  word);
	error_remedy(&error, "brig venv create NAME, brig venv list, brig venv remove NAME");
	return report_usage(&error, args->json);
}

static const struct option_info options[] = {
	OPTION_TEXT("--python", "PYTHON", &complete_file, offsetof(struct venv_args, python),
		    "the interpreter: a path, a name, or a version like 3.12"),
	OPTION_TEXT("-r", "FILE", &complete_file, offsetof(struct venv_args, requirements),
		    "install the packages of a requirements file"),
	OPTION_FLAG("--json", offsetof(struct venv_args, json), "print JSON"),
};

static const struct completion action_words = COMPLETE_COLUMN(actions, word);

const struct syntax venv_syntax = {
	.command = "venv",
	.usage = "venv create NAME|PATH [--python PYTHON] [-r FILE] [-- PACKAGE...]\n"
		 "venv [list] [--json]\nvenv remove NAME",
	.about = "Makes a virtualenv for brig run --venv, with uv if it is installed, else\n"
		 "with python3 -m venv. Packages are installed with your rights, outside of\n"
		 "any cell. One with a name is kept in your data directory.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 2,
	.operands = &action_words,
	.rest = true,
};

int command_venv(int argc, char **argv)
{
	struct venv_args args = { 0 };

	return command_work(&venv_syntax, argc, argv, &args, act);
}
