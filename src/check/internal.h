/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the kinds of questions share. */
#ifndef BRIG_CHECK_INTERNAL_H
#define BRIG_CHECK_INTERNAL_H

#include "check/check.h"

/* Prepares the cell of a run under this policy: check->cell. 0 or -errno. */
int check_cell(struct check *check);
/* The language of the cell that files are looked up in. */
const char *check_language(const struct check *check);

/*
 * The error of a cell that was to answer, in words about the question: with the step exec, no
 * program at all can start under the policy.
 */
void check_explain_cell(const struct check *check, struct brig_error *err);

/* Where the value in force was set: the operator's ceiling may have made it stricter. */
void check_origin_word(const struct check *check, const char *section, const char *key,
		       const char *word, struct origin *ret);
/* The same for a limit. */
void check_origin_limit(const struct check *check, const char *section,
			const struct limit_info *info, uint64_t value, struct origin *ret);

void check_set_answer(struct check_answer *answer, enum check_verdict verdict, const char *format,
		      ...) __attribute__((format(printf, 3, 4)));
/* "add X to KEY (FILE:LINE)": for a list; or "set KEY to X". */
enum repair_kind { REPAIR_ADD, REPAIR_SET };
void check_repair(const struct check *check, struct check_answer *answer, enum repair_kind kind,
		  const char *section, const char *key, const char *what);

/* One decision of the policy's filter; arguments may be unknown. */
struct check_call {
	unsigned number;
	uint64_t args[6];
	bool known[6];
};
int check_call_parse(const char *text, struct check_call *ret, struct brig_error *err);
void check_call_decide(struct check *check, const struct check_call *call,
		       struct check_answer *ret);

int check_answer_call(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err);
int check_answer_net(struct check *check, const char *text, struct check_answer *ret,
		     struct brig_error *err);
int check_answer_read(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err);
int check_answer_write(struct check *check, const char *text, struct check_answer *ret,
		       struct brig_error *err);
int check_answer_exec(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err);
int check_answer_limit(struct check *check, const char *text, struct check_answer *ret,
		       struct brig_error *err);
int check_answer_language(struct check *check, const char *text, struct check_answer *ret,
			  struct brig_error *err);
int check_answer_env(struct check *check, const char *text, struct check_answer *ret,
		     struct brig_error *err);
int check_answer_module(struct check *check, const char *text, struct check_answer *ret,
			struct brig_error *err);
#endif
