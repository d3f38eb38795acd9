/* SPDX-License-Identifier: Apache-2.0 */
/* `brig providers`: the technologies that can hold a run, and which of them this host can do. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/doctor/provider_survey.h"
#include "cli/exit_status.h"
#include "lib/owned.h"

#define COLUMNS 96

struct providers_args {
	bool json;
};

struct survey {
	struct probe_report report;
	struct provider_survey providers;
};

/* Adds a word to a line that is indented, and begins another one where it is full. */
static void add_word(struct buf *out, size_t *column, const char *lead, const char *word)
{
	size_t size = strlen(word) + 1;

	if (*column == 0 || *column + size > COLUMNS) {
		buf_addf(out, "%s  %-10s", *column ? "\n" : "", *column ? "" : lead);
		*column = 12;
	}
	buf_addf(out, " %s", word);
	*column += size;
}

static void put_abilities(const struct provider *provider, struct buf *out)
{
	size_t column = 0;

	for (int i = 0; i < ABILITY_COUNT; i++) {
		if (provider_can(provider, (enum ability)i)) {
			add_word(out, &column, "abilities", ability_table[i].name);
		}
	}
	buf_adds(out, column ? "\n" : "");
}

/* One line for the layers of each means, in the order of their first layers. */
static void put_layers(const struct provider_survey *survey, size_t at, struct buf *out)
{
	layer_set left = survey->layers[at];

	for (int i = 0; i < LAYER_COUNT; i++) {
		if (!(left & LAYER_BIT(i))) {
			continue;
		}
		const char *means = survey_means(survey, providers[at], (enum layer)i);
		size_t column = 0;
		for (int j = i; j < LAYER_COUNT; j++) {
			if ((left & LAYER_BIT(j)) &&
			    strcmp(survey_means(survey, providers[at], (enum layer)j), means) ==
				    0) {
				left &= ~LAYER_BIT(j);
				add_word(out, &column, "layers", layer_table[j].name);
			}
		}
		buf_addf(out, " (by %s)\n", means);
	}
}

static void print_text(const struct provider_survey *survey, struct buf *out)
{
	for (size_t i = 0; providers[i]; i++) {
		const struct probe_finding *found = &survey->found[i];
		buf_addf(out, "%s%-8s %-9s %s\n", i ? "\n" : "", providers[i]->name,
			 probe_state_name(found->state), providers[i]->about);
		if (found->detail[0]) {
			buf_addf(out, "  %-10s %s\n",
				 found->state == PROBE_MISSING ? "cause" : "detail", found->detail);
		}
		if (found->repair[0]) {
			buf_addf(out, "  %-10s %s\n", "repair", found->repair);
		}
		put_abilities(providers[i], out);
		put_layers(survey, i, out);
	}
}

static int list(void *into, const struct arguments *given)
{
	const struct providers_args *args = into;
	_cleanup_(brig_context_freep)
	struct brig_context *context = NULL;
	_cleanup_free_ struct survey *survey = NULL;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct brig_error error = { 0 };

	(void)given;
	if (brig_context_new(NULL, &context, &error) < 0) {
		return report_error(&error, args->json);
	}
	survey = calloc(1, sizeof(*survey));
	if (!survey) {
		report_line("no memory");
		return STATUS_ERROR;
	}
	probe_run(context->groups, &survey->report);
	survey_providers(context, &survey->report, &survey->providers);
	if (!args->json) {
		print_text(&survey->providers, &out);
		return report_text(&out);
	}
	struct json_out json = { .buf = &out };
	json_open(&json, NULL, '{');
	survey_put_json(&survey->providers, &json);
	json_close(&json, '}');
	return report_json(out.failed ? NULL : out.data);
}

static const struct option_info options[] = {
	OPTION_FLAG("--json", offsetof(struct providers_args, json), "print JSON"),
};

const struct syntax providers_syntax = {
	.command = "providers",
	.usage = "providers [--json]",
	.about = "Lists the technologies that can hold a run. Each is tried on this host: its\n"
		 "state, the cause and the repair if it is missing, its abilities, and the layers\n"
		 "that it enforces here, with the means of each.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
};

int command_providers(int argc, char **argv)
{
	struct providers_args args = { 0 };

	return command_work(&providers_syntax, argc, argv, &args, list);
}
