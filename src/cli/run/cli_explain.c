/* SPDX-License-Identifier: Apache-2.0 */
/* `brig explain`: the plan of a run, step by step, without running it; or timed, by running it. */
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "check/rules.h"
#include "cli/cli.h"
#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/run/explain_measure.h"
#include "cli/run/run_options.h"
#include "native/native.h"

struct explanation {
	struct prepared program;
	struct prepared compile;
	bool compiled; /* `compile` is filled: the language has a compiler */
	struct phase phase;
	struct plan program_plan;
	struct plan compile_plan;
	struct policy_trace trace;
	struct run_rules rules;
};

static void explanation_done(struct explanation *e)
{
	phase_done(&e->phase);
	plan_done(&e->program_plan);
	plan_done(&e->compile_plan);
	prepared_done(&e->program);
	prepared_done(&e->compile);
	policy_trace_done(&e->trace);
	run_rules_done(&e->rules);
}

static bool has_plan(const struct explanation *e)
{
	return provider_can(e->program.spec.provider, ABILITY_PLAN);
}

/* Without one nothing is planned: the provider names its steps itself. */
static int make_plan(const struct spec *spec, struct plan *ret, struct brig_error *err)
{
	return provider_can(spec->provider, ABILITY_PLAN) ? plan_make(spec, ret, err) : 0;
}

static const struct plan *program_plan(const struct explanation *e)
{
	return e->phase.run && has_plan(e) ? native_plan(e->phase.run) : &e->program_plan;
}

static int explain(struct brig_context *context, const struct brig_request *request, bool time,
		   struct explanation *e, struct brig_error *err)
{
	context->policies.trace = &e->trace;
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
		r = make_plan(&e->compile.spec, &e->compile_plan, err);
	}
	if (r == 0 && time && e->compiled) {
		r = explain_build(context, request, &e->compile, &e->program, err);
	}
	if (r == 0) {
		r = time ? explain_measure(context, &e->program, &e->phase, err)
			 : make_plan(&e->program.spec, &e->program_plan, err);
	}
	context->policies.trace = NULL;
	if (r == 0) {
		run_rules_find(&e->program, program_plan(e), &e->trace, &e->rules);
	}
	return r;
}

static const uint64_t *program_times(const struct explanation *e)
{
	return e->phase.run && has_plan(e) ? native_times(e->phase.run) : NULL;
}

static void print_plan(const struct spec *spec, const struct plan *plan, const uint64_t *took_ns,
		       bool json, struct buf *out)
{
	if (spec->provider->explain) {
		spec->provider->explain(spec, json, out);
	} else if (json) {
		plan_print_json(plan, took_ns, out);
	} else {
		plan_print(plan, took_ns, out);
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
		print_plan(&e->compile.spec, &e->compile_plan, NULL, false, out);
	}
	buf_adds(out, "\nThe program's cell:\n");
	print_plan(&p->spec, program_plan(e), program_times(e), false, out);
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
		print_plan(&e->compile.spec, &e->compile_plan, NULL, true, &plan);
		json_raw(&json, "compile", plan.data ? plan.data : "null");
	} else {
		json_nil(&json, "compile");
	}
	plan.size = 0;
	print_plan(&p->spec, program_plan(e), program_times(e), true, &plan);
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

int command_explain(int argc, char **argv)
{
	struct option_info options[RUN_OPTIONS_MAX];
	struct syntax syntax = {
		.command = "explain",
		.usage = "explain [OPTIONS] FILE | - | -c CODE [-- ARGS...]\n"
			 "explain [OPTIONS] -- CMD [ARGS...]",
		.about = "Shows the plan of a run: every step that builds its cell, in order,\n"
			 "with the process that carries it out (the warden outside, init inside,\n"
			 "the payload process that becomes the program), its subject and its\n"
			 "reason; then the rules behind the plan, each with its line in the\n"
			 "policy and the steps that enforce it. Nothing runs, unless --time is\n"
			 "given.",
		.options = options,
		.options_count = run_options(RUN_COMMAND_EXPLAIN, options),
		.operands_max = 1,
		.rest = true,
	};
	struct run_args args = { 0 };
	struct brig_error error = { 0 };
	int status;

	if (options_parse(&syntax, argc, argv, &args, &args.given, &error) < 0) {
		status = report_usage(&error, options_mention(argc, argv, "--json"));
	} else if (args.given.help) {
		status = report_help(&syntax);
	} else {
		status = explain_line(&args);
	}
	run_args_done(&args);
	return status;
}
