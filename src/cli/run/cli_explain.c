/* SPDX-License-Identifier: Apache-2.0 */
/* `brig explain`: the plan of a run, step by step, without running it; or timed, by running it. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "check/rules.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/exit_status.h"
#include "cli/run/explain_measure.h"
#include "cli/run/run_options.h"

struct explanation {
	struct prepared program;
	struct prepared compile;
	bool compiled; /* `compile` is filled: the language has a compiler */
	struct phase phase;
	struct policy_trace trace;
	struct run_rules rules;
};

static void explanation_done(struct explanation *e)
{
	phase_done(&e->phase);
	prepared_done(&e->program);
	prepared_done(&e->compile);
	policy_trace_done(&e->trace);
	run_rules_done(&e->rules);
}

static int make_all(struct brig_context *context, const struct brig_request *request, bool time,
		    struct explanation *e, struct brig_error *err)
{
	int r = prepare(context, request, PURPOSE_RUN, &e->program, err);

	if (r < 0) {
		return r;
	}
	if (e->program.runtime && e->program.runtime->compile.count > 0) {
		r = prepare(context, request, PURPOSE_COMPILE, &e->compile, err);
		if (r < 0) {
			return r;
		}
		e->compiled = true;
	}
	if (!time) {
		return 0;
	}
	if (e->compiled) {
		r = explain_build(context, request, &e->compile, &e->program, err);
	}
	return r < 0 ? r : explain_measure(context, &e->program, &e->phase, err);
}

static int explain(struct brig_context *context, const struct brig_request *request, bool time,
		   struct explanation *e, struct brig_error *err)
{
	context->policies.trace = &e->trace;
	int r = make_all(context, request, time, e, err);
	context->policies.trace = NULL;
	if (r < 0) {
		return r;
	}
	run_rules_find(&e->program, &e->trace, &e->rules);
	return 0;
}

static void print_steps(const struct spec *spec, bool json, struct buf *out)
{
	if (spec->provider->explain) {
		spec->provider->explain(spec, json, out);
	}
}

static void print_program(const struct explanation *e, bool json, struct buf *out)
{
	const struct spec *spec = &e->program.spec;

	if (e->phase.run && spec->provider->explain_run) {
		spec->provider->explain_run(e->phase.run, json, out);
	} else {
		print_steps(spec, json, out);
	}
}

static void print_text(const struct explanation *e, struct buf *out)
{
	const struct prepared *p = &e->program;
	char layers[512];

	layer_list(p->spec.layers, layers, sizeof(layers));
	buf_addf(out, "policy    %s\nprovider  %s\nlanguage  %s\nlayers    %s\n", p->policy->name,
		 p->spec.provider->name, p->runtime ? p->runtime->name : "command",
		 layers[0] ? layers : "none");
	if (e->compiled) {
		buf_adds(out, "\nThe compiler's cell, unless the build cache has the program:\n");
		print_steps(&e->compile.spec, false, out);
	}
	buf_adds(out, "\nThe program's cell:\n");
	print_program(e, false, out);
	buf_adds(out, "\nThe rules behind it:\n");
	run_rules_print(&e->rules, out);
}

static void print_json(const struct explanation *e, struct buf *out)
{
	const struct prepared *p = &e->program;
	struct json_out json = { .buf = out };

	json_open(&json, NULL, '{');
	json_text(&json, "policy", p->policy->name);
	json_text(&json, "provider", p->spec.provider->name);
	json_text(&json, "language", p->runtime ? p->runtime->name : "command");
	json_open(&json, "layers", '[');
	for (int i = 0; i < LAYER_COUNT; i++) {
		if (p->spec.layers & LAYER_BIT(i)) {
			json_text(&json, NULL, layer_table[i].name);
		}
	}
	json_close(&json, ']');
	_cleanup_(buf_done)
	struct buf plan = { 0 };
	if (e->compiled) {
		print_steps(&e->compile.spec, true, &plan);
		json_raw(&json, "compile", plan.data ? plan.data : "null");
	} else {
		json_nil(&json, "compile");
	}
	plan.size = 0;
	print_program(e, true, &plan);
	json_raw(&json, "program", plan.data ? plan.data : "null");
	run_rules_print_json(&e->rules, "rules", &json);
	json_close(&json, '}');
	out->failed |= plan.failed;
}

static int explain_line(const struct run_args *args)
{
	struct brig_error error = { 0 };
	struct run_request request;
	struct brig_context *context = NULL;
	struct explanation e = {
		.program = { .ids = -1, .workdir_fd = -1, .spec = { .devices = -1 } },
		.compile = { .ids = -1, .workdir_fd = -1, .spec = { .devices = -1 } }
	};
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = args->config,
						.no_cache = args->no_cache };
	_cleanup_(buf_done)
	struct buf out = { 0 };
	int status;

	if (run_request_make(args, &request, &error) < 0) {
		return report_usage(&error, args->json);
	}
	if (brig_context_new(&options, &context, &error) < 0 ||
	    explain(context, &request.request, args->time, &e, &error) < 0) {
		status = report_error(&error, args->json);
	} else if (args->json) {
		print_json(&e, &out);
		status = report_json(out.failed ? NULL : out.data);
	} else {
		print_text(&e, &out);
		status = report_text(&out);
	}
	explanation_done(&e);
	brig_context_free(context);
	run_request_done(&request);
	return status;
}

static size_t make_options(struct option_info ret[OPTIONS_MAX])
{
	return run_options(RUN_COMMAND_EXPLAIN, ret);
}

const struct syntax explain_syntax = {
	.command = "explain",
	.usage = "explain [OPTIONS] FILE | - | -c CODE [-- ARGS...]\n"
		 "explain [OPTIONS] -- CMD [ARGS...]",
	.about = "Shows the plan of a run: every step that builds its cell, in order,\n"
		 "with the process that carries it out (the warden outside, init inside,\n"
		 "the payload process that becomes the program), its subject and its\n"
		 "reason; then the rules behind the plan, each with its line in the\n"
		 "policy and the steps that enforce it. Nothing runs, unless --time is\n"
		 "given.",
	.make_options = make_options,
	.operands_max = 1,
	.operands = &complete_file,
	.rest = true,
};

int command_explain(int argc, char **argv)
{
	struct run_args args = { 0 };
	struct brig_error error = { 0 };
	int status;

	if (options_parse(&explain_syntax, argc, argv, &args, &args.given, &error) < 0) {
		status = report_usage(&error, options_mention(argc, argv, "--json"));
	} else if (args.given.help) {
		status = report_help(&explain_syntax);
	} else {
		status = explain_line(&args);
	}
	run_args_done(&args);
	return status;
}
