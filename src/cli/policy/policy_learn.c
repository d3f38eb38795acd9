/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of `brig policy learn`: see policy_learn.h. */
#include "cli/policy/policy_learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/context.h"
#include "lib/owned.h"
#include "lib/prepare/prepare.h"

#define PROPOSED   "learned"
#define MOUNTS_MAX 32 /* the most that a run can have */

/* Always cold, and compiled again: steps that a cache saves would be missing in the record. */
static int new_context(const struct learn_args *args, struct brig_context **ret,
		       struct brig_error *err)
{
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = args->run.config,
						.no_cache = true };

	return brig_context_new(&options, ret, err);
}

static int execute(struct brig_context *context, const struct brig_request *request,
		   struct brig_result **ret, struct brig_error *err)
{
	_cleanup_(brig_run_freep)
	struct brig_run *run = NULL;
	int r = brig_run_start(context, request, &run, err);

	if (r < 0) {
		return r;
	}
	r = brig_run_wait(run, err);
	if (r < 0) {
		return r;
	}
	*ret = brig_run_take_result(run);
	return *ret ? 0 : error_set(err, BRIG_E_SYSTEM, EIO, "the run ended without a result");
}

static void describe_program(const struct brig_request *request, struct buf *out)
{
	const char *const *words = request->command;

	if (request->file) {
		buf_adds(out, request->file);
		words = request->args;
	} else if (request->code) {
		buf_adds(out, "code of the command line or stdin");
		words = request->args;
	}
	for (; words && *words; words++) {
		buf_addf(out, "%s%.200s", out->size ? " " : "", *words);
	}
}

static int propose(struct learn_session *session, struct brig_context *context,
		   struct brig_error *err)
{
	const char *language = session->result->language;
	_cleanup_(runtime_freep)
	struct runtime *runtime = NULL;
	_cleanup_(buf_done)
	struct buf program = { 0 };
	struct policy *parsed = NULL;

	if (strcmp(language, "command") != 0) {
		runtime_load(&context->runtimes, language, &runtime, NULL);
	}
	describe_program(&session->request.request, &program);
	struct learn_origin origin = {
		.program = program.data ? program.data : "",
		.base = session->under->name,
		.under = session->under,
		.extended = session->extended,
		.request = &session->request.request,
		.result = session->result,
		.compiled = runtime && runtime->compile.count > 0,
		.least_memory_bytes = runtime ? runtime->least_memory_bytes : 0,
		.least_processes = runtime ? runtime->least_processes : 0,
	};
	if (learn_propose(&session->learn, &origin, &session->text) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the policy");
	}
	int r = policy_parse(PROPOSED, session->text.data, session->text.size, &parsed, err);
	policy_free(parsed);
	if (r < 0) {
		error_wrap(err, "the learned rules are not a valid policy: ");
	}
	return r;
}

/* Did it try to resolve a host name? Without a network the C library gives up after this file. */
static bool wanted_names(const struct learn *learn)
{
	for (size_t i = 0; i < learn->paths_count; i++) {
		if (strcmp(learn->paths[i].path, "/etc/hosts") == 0) {
			return true;
		}
	}
	return learn->names.count > 0;
}

/*
 * Runs it again, unwatched, with a gate that allows nothing: the gate receives the queries, and its
 * log has the names. A failure here only makes the record shorter.
 */
static void ask_names(struct learn_session *session, struct brig_context *context)
{
	static const char *const nobody[] = { "nobody.invalid:1", NULL };
	struct brig_request request = session->request.request;
	struct brig_result *result = NULL;
	struct learn *learn = &session->learn;

	if ((request.network && request.network[0]) || session->result->networked ||
	    session->under->network.caller == CALLER_NETWORK_NONE || !wanted_names(learn)) {
		return;
	}
	request.network = nobody;
	request.network_own = true;
	if (execute(context, &request, &result, NULL) == 0) {
		learn_take_connections(learn, result);
	}
	brig_result_free(result);
}

int learn_session_run(struct learn_session *session, struct brig_error *err)
{
	struct brig_request *request = &session->request.request;
	_cleanup_(brig_context_freep)
	struct brig_context *context = NULL;
	int r = new_context(session->args, &context, err);

	if (r < 0) {
		return r;
	}
	r = policy_load(&context->policies, request->policy ? request->policy : "default",
			&session->under, err);
	if (r < 0) {
		return r;
	}
	learn_init(&session->learn);
	context->watch = &session->learn.watch;
	request->start = BRIG_START_COLD;
	request->stdin_data = session->input.data;
	request->stdin_size = session->input.size;
	r = execute(context, request, &session->result, err);
	context->watch = NULL;
	if (r < 0) {
		return r;
	}
	ask_names(session, context);
	if (session->extended) {
		learn_extend(&session->learn, session->extended);
	}
	if (learn_take_result(&session->learn, session->result) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the record");
	}
	return propose(session, context, err);
}

/* Under the proposal directories are requested by name, as far as it has them. */
static void ask_by_name(const struct learn_session *session, const struct policy *policy,
			struct brig_mount *mounts)
{
	const struct brig_request *request = &session->request.request;

	for (size_t i = 0; i < request->mounts_count; i++) {
		mounts[i] = request->mounts[i];
		mounts[i].name = mounts[i].path = prepare_mount_name(&request->mounts[i]);
		for (size_t k = 0; k < policy->mounts_count; k++) {
			if (strcmp(policy->mounts[k].name, mounts[i].name) == 0) {
				mounts[i].writable &= policy->mounts[k].writable;
			}
		}
	}
}

static int verify(struct learn_session *session, struct brig_error *err)
{
	struct brig_request request = session->request.request;
	struct brig_mount mounts[MOUNTS_MAX] = { 0 };
	_cleanup_(brig_context_freep)
	struct brig_context *context = NULL;
	struct policy *policy = NULL;

	if (request.mounts_count > MOUNTS_MAX) {
		return error_set(err, BRIG_E_INPUT, E2BIG, "more than %d mounts", MOUNTS_MAX);
	}
	int r = new_context(session->args, &context, err);
	if (r < 0) {
		return r;
	}
	const struct policy_given proposed = {
		.name = PROPOSED,
		.place = PROPOSED,
		.text = session->text.data,
		.size = session->text.size,
	};
	request.policy = PROPOSED;
	request.venv = NULL; /* the proposal has it */
	context->policies.given = &proposed;
	r = policy_load(&context->policies, PROPOSED, &policy, err);
	if (r < 0) {
		return r;
	}
	ask_by_name(session, policy, mounts);
	policy_free(policy);
	request.mounts = request.mounts_count ? mounts : NULL;
	/* All permissions are in the policy: nothing else is requested. */
	request.network = NULL;
	request.network_own = false;
	request.limits = (struct brig_limits){ 0 };
	return execute(context, &request, &session->again, err);
}

void learn_session_verify(struct learn_session *session)
{
	session->verified = true;
	if (verify(session, &session->refusal) < 0 && session->refusal.code == 0) {
		error_set(&session->refusal, BRIG_E_SYSTEM, EIO, "the second run failed");
	}
}

bool learn_session_same(const struct learn_session *session)
{
	const struct brig_result *a = session->result, *b = session->again;

	return a && b && a->status == b->status && a->exit_code == b->exit_code &&
	       a->signal == b->signal;
}

void learn_session_done(struct learn_session *session)
{
	run_request_done(&session->request);
	buf_done(&session->input);
	buf_done(&session->text);
	policy_free(session->under);
	policy_free(session->extended);
	learn_done(&session->learn);
	brig_result_free(session->result);
	brig_result_free(session->again);
}
