/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts that a policy was read from, kept to find the deciding line: its own, the one that it
 * extends, and the operator's ceiling.
 */
#ifndef BRIG_POLICY_TRACE_H
#define BRIG_POLICY_TRACE_H

#include "base/json/json_in.h"
#include "policy/origin.h"
#include "policy/source.h"

enum trace_level { TRACE_OWN, TRACE_PARENT, TRACE_OPERATOR, TRACE_LEVELS };

struct policy_trace {
	struct trace_text {
		char *place; /* owned */
		bool built_in;
		char name[65];
		struct json_doc doc; /* without a root: no such text */
	} texts[TRACE_LEVELS];
};
void policy_trace_done(struct policy_trace *trace);

/* For the loader. */
int policy_trace_add(struct policy_trace *trace, enum trace_level level, const char *name,
		     const struct policy_text *text, struct brig_error *err);

/*
 * Where SECTION.KEY is set, `key` may be NULL: by the policy itself, else by the one that it
 * extends. false: by neither, and the origin is ORIGIN_UNSAID.
 */
bool policy_trace_key(const struct policy_trace *trace, const char *section, const char *key,
		      struct origin *ret);
/* The same for an element of its list. */
bool policy_trace_item(const struct policy_trace *trace, const char *section, const char *key,
		       size_t index, struct origin *ret);
/* Where the operator's ceiling sets it; returns the value. */
json_t *policy_trace_ceiling(const struct policy_trace *trace, const char *section, const char *key,
			     struct origin *ret);
/* For a rule of the policy's filter. false: it comes from no text. */
bool policy_trace_rule(const struct policy_trace *trace, const struct policy *policy,
		       const struct filter_rule *rule, struct origin *ret);
#endif
