/* SPDX-License-Identifier: Apache-2.0 */
/* System calls: how the policy's filter decides about one. */
#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "check/internal.h"

#define OUTCOMES_MAX 64

/* The possible results of a call with unknown arguments: in the order of the rules. */
struct outcomes {
	const struct filter_rule *rules[OUTCOMES_MAX]; /* NULL: no rule applies */
	unsigned count;
};

enum holds { HOLDS_NOT, HOLDS_PERHAPS, HOLDS };

static enum holds test_holds(const struct filter_test *test, const struct check_call *call)
{
	uint64_t width = test->wide ? UINT64_MAX : UINT32_MAX;
	uint64_t value = call->args[test->arg] & test->mask & width;
	bool found = false;

	if (!call->known[test->arg]) {
		return HOLDS_PERHAPS;
	}
	for (unsigned i = 0; i < test->values_count; i++) {
		found |= value == (test->values[i] & width);
	}
	return found != test->negate ? HOLDS : HOLDS_NOT;
}

static enum holds rule_holds(const struct filter_rule *rule, const struct check_call *call)
{
	enum holds all = HOLDS;

	for (unsigned i = 0; i < rule->tests_count; i++) {
		enum holds one = test_holds(&rule->tests[i], call);
		if (one == HOLDS_NOT) {
			return HOLDS_NOT;
		}
		all = one == HOLDS_PERHAPS ? HOLDS_PERHAPS : all;
	}
	return all;
}

static void find_outcomes(const struct filter *filter, const struct check_call *call,
			  struct outcomes *ret)
{
	ret->count = 0;
	for (unsigned i = 0; i < filter->count && ret->count < OUTCOMES_MAX - 1; i++) {
		const struct filter_rule *rule = &filter->rules[i];
		enum holds holds = rule->call == call->number ? rule_holds(rule, call) : HOLDS_NOT;
		if (holds != HOLDS_NOT) {
			ret->rules[ret->count++] = rule;
		}
		if (holds == HOLDS) {
			return;
		}
	}
	ret->rules[ret->count++] = NULL;
}

/* A rule that returns 0 without effect is not a refusal that a program could see. */
static bool lets(const struct filter_rule *rule)
{
	return rule && (rule->action == FILTER_ALLOW ||
			(rule->action == FILTER_ERRNO && rule->errnum == 0));
}

static const char *error_name(unsigned errnum)
{
	const char *name = strerrorname_np((int)errnum);

	return name ? name : "an error";
}

/* "@socket, @unix": the groups with a rule that allows it. */
static void groups_with(const char *name, struct buf *out)
{
	char start[48];
	int length = snprintf(start, sizeof(start), "%s|allow|", name);

	for (size_t i = 0; i < embedded_files_count; i++) {
		const struct embedded_file *file = &embedded_files[i];
		const char *dot = strrchr(file->path, '.'), *slash = strchr(file->path, '/');
		if (!dot || !slash || strcmp(dot, ".rules") != 0) {
			continue;
		}
		for (const char *at = file->data; at < file->data + file->size;
		     at += strlen(at) + 1) {
			if (strncmp(at, start, (size_t)length) == 0) {
				buf_addf(out, "%s\"@%.*s\"", out->size ? " or " : "",
					 (int)(dot - slash - 1), slash + 1);
				break;
			}
		}
	}
}

static void repair_call(const struct check *check, const char *name, bool unknown,
			struct check_answer *answer)
{
	_cleanup_(buf_done)
	struct buf what = { 0 };

	if (unknown) {
		groups_with(name, &what);
	}
	buf_addf(&what, "%s\"%s\"", what.size ? ", or by its name " : "", name);
	check_repair(check, answer, REPAIR_ADD, "syscalls", NULL, what.data ? what.data : name);
}

static void decide_by(const struct check *check, const struct check_call *call,
		      const struct filter_rule *rule, bool any, struct check_answer *ret)
{
	const char *name = syscall_name(call->number);

	if (!rule) {
		policy_trace_key(&check->trace, "syscalls", NULL, &ret->origin);
		check_set_answer(ret, CHECK_REFUSED,
				 any ? "no rule applies to these arguments: EPERM, and recorded"
				     : "the call is not in the list: ENOSYS");
		repair_call(check, name, !any, ret);
		return;
	}
	policy_trace_rule(&check->trace, check->policy, rule, &ret->origin);
	if (rule->action == FILTER_ALLOW) {
		check_set_answer(ret, CHECK_ALLOWED, "%s", rule->reason);
		return;
	}
	if (rule->action == FILTER_KILL) {
		check_set_answer(ret, CHECK_REFUSED, "ends the program: %s", rule->reason);
	} else if (rule->errnum == 0) {
		check_set_answer(ret, CHECK_ALLOWED, "succeeds and does nothing: %s", rule->reason);
		return;
	} else {
		check_set_answer(ret, CHECK_REFUSED, "%s (%s%s)", rule->reason,
				 error_name(rule->errnum),
				 rule->action == FILTER_DENY ? ", recorded" : "");
	}
	if (rule->remedy) {
		snprintf(ret->repair, sizeof(ret->repair), "%s", rule->remedy);
	} else {
		repair_call(check, name, false, ret);
	}
}

/* Some arguments are allowed and others not: one line of each kind is named. */
static void depends(const struct check *check, const struct outcomes *outcomes,
		    struct check_answer *ret)
{
	const struct filter_rule *yes = NULL, *no = NULL;
	struct origin other = { 0 };
	_cleanup_(buf_done)
	struct buf place = { 0 };

	for (unsigned i = 0; i < outcomes->count; i++) {
		const struct filter_rule *rule = outcomes->rules[i];
		yes = lets(rule) && !yes ? rule : yes;
		no = !lets(rule) && !no ? rule : no;
	}
	if (yes) {
		policy_trace_rule(&check->trace, check->policy, yes, &ret->origin);
	}
	if (no) {
		policy_trace_rule(&check->trace, check->policy, no, &other);
		origin_print(&other, &place);
	}
	check_set_answer(ret, CHECK_DEPENDS,
			 "by its arguments: allowed here (%s); refused %s%s%s%s",
			 yes ? yes->reason : "", no ? "by " : "when no rule applies",
			 no && place.data ? place.data : "", no ? ": " : "", no ? no->reason : "");
	snprintf(ret->repair, sizeof(ret->repair),
		 "ask with arguments: CALL(ARGUMENT, ...), where _ is any value");
}

void check_call_decide(struct check *check, const struct check_call *call, struct check_answer *ret)
{
	/*
	 * If a cell can be prepared, its filter is used: a host may lack something that a rule
	 * needs.
	 */
	const struct filter *filter =
		check_cell(check) == 0 ? &check->cell.policy->filter : &check->policy->filter;
	struct outcomes outcomes;
	bool all = true;
	unsigned letting = 0;

	if (check->policy->filter.count == 0) {
		policy_trace_key(&check->trace, "provider", NULL, &ret->origin);
		check_set_answer(ret, CHECK_ALLOWED, "the provider local filters no system call");
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(call->known); i++) {
		all &= call->known[i];
	}
	find_outcomes(filter, call, &outcomes);
	for (unsigned i = 0; i < outcomes.count; i++) {
		letting += lets(outcomes.rules[i]);
	}
	if (!all && letting > 0 && letting < outcomes.count) {
		depends(check, &outcomes, ret);
		return;
	}
	bool any = false;
	for (unsigned i = 0; i < filter->count; i++) {
		any |= filter->rules[i].call == call->number;
	}
	const struct filter_rule *rule =
		all ? filter_decide(filter, AUDIT_ARCH_X86_64, call->number, call->args).rule
		    : outcomes.rules[0];
	decide_by(check, call, rule, any, ret);
}

int check_answer_call(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err)
{
	struct check_call call;
	int r = check_call_parse(text, &call, err);

	if (r == 0) {
		check_call_decide(check, &call, ret);
	}
	return r;
}
