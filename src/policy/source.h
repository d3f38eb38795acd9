/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of policies: the operator's directory first, then built-in texts. */
#ifndef BRIG_POLICY_SOURCE_H
#define BRIG_POLICY_SOURCE_H

#include "policy/policy.h"

struct policy_text {
	char *place;      /* owned; for messages: the file's path */
	char *owned;      /* owned; NULL when built in */
	const char *data; /* not NULL */
	size_t size;
	bool built_in;
};
void policy_text_done(struct policy_text *text);

/*
 * `file` is relative to the source's config_dir, which is set: "policies/x.json", "ceiling.json".
 * 1: read; 0: not found. A file or directory that others can change is an error: its content cannot
 * be trusted.
 */
int policy_text_configured(const struct policy_source *source, const char *file,
			   struct policy_text *ret, struct brig_error *err);
/* The policy that the source was given. 1, 0 (it has another name) or -ENOMEM. */
int policy_text_given(const struct policy_source *source, const char *name, struct policy_text *ret,
		      struct brig_error *err);
/* The same for built-in texts: 1 or 0, or -ENOMEM. */
int policy_text_built_in(const char *file, struct policy_text *ret, struct brig_error *err);
/* Names in config_dir/policies, sorted into `ret` by the caller. */
int policy_names_configured(const struct policy_source *source, struct strlist *ret,
			    struct brig_error *err);
#endif
