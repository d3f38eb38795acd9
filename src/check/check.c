/* SPDX-License-Identifier: Apache-2.0 */
/* Answers questions about a policy: see check.h. */
#include "check/check.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "check/internal.h"
#include "lib/prepare/choice.h"

const char *const check_verdict_names[] = {
	[CHECK_ALLOWED] = "allowed",
	[CHECK_REFUSED] = "refused",
	[CHECK_ASK] = "ask",
	[CHECK_DEPENDS] = "depends",
};

const struct check_kind check_kinds[] = {
	{ "call", "--call", "CALL", "a system call: ptrace, 'socket(AF_INET, SOCK_STREAM)'", 0,
	  check_answer_call },
	{ "net", "--net", "HOST[:PORT]", "a connection by TCP (port 443)", 0, check_answer_net },
	{ "read", "--read", "PATH", "reading a file of the cell", PROBER_READ, check_answer_read },
	{ "write", "--write", "PATH", "writing a file of the cell", PROBER_WRITE,
	  check_answer_write },
	{ "exec", "--exec", "PATH", "executing a file of the cell", PROBER_EXEC,
	  check_answer_exec },
	{ "limit", "--limit", "NAME=VALUE", "requesting a limit: memory=2G", 0,
	  check_answer_limit },
	{ "language", "--language", "NAME", "running code of a language", 0,
	  check_answer_language },
	{ "env", "--env", "NAME", "setting a variable", 0, check_answer_env },
	{ "module", "--module", "NAME", "importing a module in python", 0, check_answer_module },
};
const size_t check_kinds_count = ARRAY_SIZE(check_kinds);

int check_open(struct check *check, const char *config_dir, const char *policy,
	       const struct policy_given *given, struct brig_error *err)
{
	struct brig_context_options options = { .size = sizeof(options), .config_dir = config_dir };

	*check = (struct check){ .cell = { .ids = -1, .workdir_fd = -1 } };
	check->cell.spec.devices = check->cell.spec.gate = -1;
	int r = brig_context_new(&options, &check->context, err);
	if (r < 0) {
		return r;
	}
	struct policy_source *source = &check->context->policies;
	source->given = given;
	source->trace = &check->trace;
	r = policy_load(source, policy, &check->policy, err);
	/* Preparing a cell reads the same policy again, without a trace. */
	source->trace = NULL;
	if (r < 0) {
		return r;
	}
	const struct brig_request request = { .size = sizeof(request) };
	const struct choice choice = { check->policy, &request, PURPOSE_RUN };
	return choice_make(check->context, &choice, &check->policy->provider, err);
}

void check_done(struct check *check)
{
	probes_done(&check->probes);
	brig_session_close(check->guard);
	prepared_done(&check->cell);
	policy_trace_done(&check->trace);
	policy_free(check->policy);
	brig_context_free(check->context);
	*check = (struct check){ 0 };
}

/* Python, unless the policy allows only others. */
const char *check_language(const struct check *check)
{
	const struct strlist *runtimes = &check->policy->runtimes;

	if (check->language) {
		return check->language;
	}
	return runtimes->count && !strlist_has(runtimes, "python") ? runtimes->items[0] : "python";
}

int check_cell(struct check *check)
{
	const struct brig_request request = {
		.size = sizeof(request),
		.policy = check->policy->name,
		.language = check_language(check),
		.code = "0",
		.consent = true,
	};

	if (check->tried) {
		return check->failed;
	}
	check->tried = true;
	check->failed = prepare(check->context, &request, PURPOSE_RUN, &check->cell, &check->why);
	return check->failed;
}

void check_explain_cell(const struct check *check, struct brig_error *err)
{
	if (strcmp(err->step, "exec") != 0) {
		error_wrap(err, "no cell can be built to ask in: ");
		return;
	}
	const char *name = strerrorname_np(err->errnum);
	error_set(err, BRIG_E_POLICY, err->errnum,
		  "nothing can be asked: no program can start under policy %s (execve: %s)",
		  check->policy->name, name ? name : "refused");
	error_remedy(err, "its filter has to allow what every program needs, such as @process");
}

static void see_to_consent(const struct check *check, struct check_answer *answer)
{
	static const char *const words[] = {
		[AUTO_RUN_YES] = "yes",
		[AUTO_RUN_ASK] = "ask",
		[AUTO_RUN_NEVER] = "never",
	};
	enum auto_run auto_run = check->policy->auto_run;

	if (answer->verdict != CHECK_ALLOWED || auto_run == AUTO_RUN_YES) {
		return;
	}
	check_origin_word(check, "auto_run", NULL, words[auto_run], &answer->origin);
	if (auto_run == AUTO_RUN_ASK) {
		size_t used = strlen(answer->reason);
		answer->verdict = CHECK_ASK;
		snprintf(answer->reason + used, sizeof(answer->reason) - used,
			 "; and the policy requires consent for every run");
		snprintf(answer->repair, sizeof(answer->repair),
			 "give consent: brig run --yes, or consent in the request");
		return;
	}
	check_set_answer(answer, CHECK_REFUSED, "the policy never runs code (auto_run: never)");
	check_repair(check, answer, REPAIR_SET, "auto_run", NULL, "\"ask\"");
}

int check_expect(struct check *check, const struct check_kind *kind, const char *text,
		 struct brig_error *err)
{
	size_t unused;

	return kind->wish ? probes_add(&check->probes, kind->wish, text, &unused, err) : 0;
}

int check_ask(struct check *check, const struct check_kind *kind, const char *text,
	      struct check_answer *ret, struct brig_error *err)
{
	*ret = (struct check_answer){ 0 };
	int r = kind->answer(check, text, ret, err);

	if (r == 0) {
		see_to_consent(check, ret);
	}
	return r;
}
