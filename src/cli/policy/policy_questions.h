/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of `brig policy check`, in the order of the command line. */
#ifndef BRIG_CLI_POLICY_POLICY_QUESTIONS_H
#define BRIG_CLI_POLICY_POLICY_QUESTIONS_H

#include "check/check.h"

#define QUESTIONS_MAX 1024

struct questions {
	struct question {
		const struct check_kind *kind;
		const char *text;
	} * items; /* owned */
	size_t count;
};
void questions_done(struct questions *questions);
int questions_add(struct questions *questions, const struct check_kind *kind, const char *text,
		  struct brig_error *err);

/* Answers all of them. The exit status: 0 when everything is allowed, 1 when something is not. */
int questions_answer(const struct questions *questions, const char *config_dir, const char *policy,
		     const struct policy_given *given, bool json);
#endif
