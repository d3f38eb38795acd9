/* SPDX-License-Identifier: Apache-2.0 */
/* `brig runtimes`: which languages there are, and which of them this host has. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_out.h"
#include "cli/cli.h"
#include "cli/exit_status.h"
#include "cli/report.h"
#include "lib/context.h"

struct line {
	bool json;
	const char *config;
};

static void print_text(struct runtime *const *all, size_t count, struct buf *out)
{
	buf_addf(out, "%-12s %-12s %s\n", "LANGUAGE", "VERSION", "PROGRAM");
	for (size_t i = 0; i < count; i++) {
		const struct runtime *runtime = all[i];

		if (runtime->generic) {
			continue;
		}
		if (runtime->program) {
			buf_addf(out, "%-12s %-12s %s\n", runtime->name,
				 runtime->version[0] ? runtime->version : "?", runtime->program);
		} else {
			buf_addf(out, "%-12s %-12s not here; to install it: apt-get install %s\n",
				 runtime->name, "-",
				 runtime->package_hint ? runtime->package_hint : runtime->name);
		}
	}
}

static void add_list(struct json_out *json, const char *key, const struct strlist *list)
{
	json_open(json, key, '[');
	for (size_t i = 0; i < list->count; i++) {
		json_text(json, NULL, list->items[i]);
	}
	json_close(json, ']');
}

static void print_json(struct runtime *const *all, size_t count, struct buf *out)
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
		add_list(&json, "aliases", &runtime->aliases);
		add_list(&json, "extensions", &runtime->extensions);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
}

static int list(const struct line *line)
{
	struct brig_error error = { 0 };
	struct brig_context *context = NULL;
	struct runtime **all = NULL;
	size_t count = 0;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = line->config };
	int status;

	if (brig_context_new(&options, &context, &error) < 0 ||
	    runtime_load_all(&context->runtimes, &all, &count, &error) < 0) {
		status = report_error(&error, line->json);
	} else {
		for (size_t i = 0; i < count; i++) {
			/* One that is missing, or hides its version, is still listed. */
			if (!all[i]->generic && runtime_find(all[i], NULL) == 0) {
				runtime_version(all[i], context->cache_dir, NULL);
			}
		}
		if (line->json) {
			print_json(all, count, &out);
			status = report_json(out.failed ? NULL : out.data);
		} else {
			print_text(all, count, &out);
			status = report_text(&out);
		}
	}
	for (size_t i = 0; i < count; i++) {
		runtime_free(all[i]);
	}
	free(all);
	brig_context_free(context);
	return status;
}

int command_runtimes(int argc, char **argv)
{
	static const struct option_info options[] = {
		{ "--json", NULL, "print JSON", option_take_flag, offsetof(struct line, json),
		  NULL },
		{ "--config", "DIR", "the operator's runtimes (/etc/brig)", option_take_text,
		  offsetof(struct line, config), NULL },
	};
	static const struct syntax syntax = {
		.command = "runtimes",
		.usage = "runtimes [OPTIONS]",
		.about = "Lists the languages that brig knows, with the version and the program "
			 "that this\n"
			 "host has for each, or how to install it.",
		.options = options,
		.options_count = ARRAY_SIZE(options),
	};
	struct line line = { 0 };
	struct arguments given;
	struct brig_error error = { 0 };

	if (options_parse(&syntax, argc, argv, &line, &given, &error) < 0) {
		return report_usage(&error, options_mention(argc, argv, "--json"));
	}
	return given.help ? report_help(&syntax) : list(&line);
}
