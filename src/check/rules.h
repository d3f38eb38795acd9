/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules behind a prepared run: their values, the lines that set them, and the steps that
 * enforce them.
 */
#ifndef BRIG_CHECK_RULES_H
#define BRIG_CHECK_RULES_H

#include "lib/prepare/prepare.h"
#include "policy/trace.h"

#define RULE_STEPS_MAX 64

struct run_rule {
	char name[80];   /* "limits.memory" */
	char value[400]; /* "256M" */
	bool asked;      /* by the request, within the limit of the line */
	struct origin origin;
	unsigned steps[RULE_STEPS_MAX]; /* numbers in the plan, from 1, where there is one */
	unsigned steps_count;
};

struct run_rules {
	struct run_rule *items; /* owned */
	size_t count, room;
	bool failed; /* no memory: incomplete */
};
void run_rules_done(struct run_rules *rules);

/* `trace` is of the policy that `p` was prepared with. */
void run_rules_find(const struct prepared *p, const struct policy_trace *trace,
		    struct run_rules *ret);
void run_rules_print(const struct run_rules *rules, struct buf *out);
void run_rules_print_json(const struct run_rules *rules, const char *key, struct json_out *out);
#endif
