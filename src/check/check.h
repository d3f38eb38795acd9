/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Would this be allowed, and by which line?": questions about a policy, answered by the code that
 * decides in a run. One file for each kind of question. Files are asked for in a real cell, modules
 * of the guard in its own; no program of anybody is run.
 */
#ifndef BRIG_CHECK_CHECK_H
#define BRIG_CHECK_CHECK_H

#include "check/cell_probe.h"
#include "lib/prepare/prepare.h"
#include "policy/trace.h"

enum check_verdict {
	CHECK_ALLOWED,
	CHECK_REFUSED,
	CHECK_ASK,     /* it would be, with a person's consent */
	CHECK_DEPENDS, /* on details that the question leaves open */
};
extern const char *const check_verdict_names[];

struct check_answer {
	enum check_verdict verdict;
	struct origin origin; /* of the line that decides */
	char reason[640];
	char condition[440]; /* the option that the run needs, such as "--ro data"; or "" */
	char repair[640];    /* the key to change, and where; or "" */
};

struct check {
	struct brig_context *context; /* owned */
	struct policy *policy;        /* owned */
	struct policy_trace trace;
	/* of the cell that files are looked up in; NULL: chosen automatically */
	const char *language;

	/* Prepared by the first question that needs it. */
	bool tried;
	int failed; /* -errno, and the reason */
	struct brig_error why;
	struct prepared cell;

	struct probes probes;
	struct brig_session *guard; /* owned: answers about modules; NULL: not asked yet */
};

/* `given` replaces `policy` if it has that name; both are borrowed. */
int check_open(struct check *check, const char *config_dir, const char *policy,
	       const struct policy_given *given, struct brig_error *err);
void check_done(struct check *check);

/* A kind of question. */
struct check_kind {
	const char *name;   /* "call" */
	const char *option; /* "--call" */
	const char *value;
	const char *about;
	enum prober_wish wish; /* 0: it is not about a file */
	/* -EINVAL with an error: the question is invalid. */
	int (*answer)(struct check *check, const char *text, struct check_answer *ret,
		      struct brig_error *err);
};
extern const struct check_kind check_kinds[];
extern const size_t check_kinds_count;

/* Announces a question, so that the cell of the first one answers it as well. */
int check_expect(struct check *check, const struct check_kind *kind, const char *text,
		 struct brig_error *err);
/* Answers, and considers whether code may run without a person's consent. */
int check_ask(struct check *check, const struct check_kind *kind, const char *text,
	      struct check_answer *ret, struct brig_error *err);

/* For people: a few lines; for programs: an object. */
void check_print(const struct check_kind *kind, const char *text, const struct check_answer *answer,
		 struct buf *out);
void check_print_json(const struct check *check, const struct check_kind *kind, const char *text,
		      const struct check_answer *answer, struct json_out *out);
#endif
