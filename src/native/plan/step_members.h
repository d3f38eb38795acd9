/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of each kind of step that are more than numbers: a plan is packed, searched and
 * checked by this table, without a case for each kind.
 */
#ifndef BRIG_NATIVE_PLAN_STEP_MEMBERS_H
#define BRIG_NATIVE_PLAN_STEP_MEMBERS_H

#include "native/plan/plan.h"

enum step_member_type {
	MEMBER_END,
	MEMBER_PATH,  /* the text that errors and questions name the step by; one at most */
	MEMBER_TEXT,  /* any other text, or NULL */
	MEMBER_ITEMS, /* a pointer to `width` bytes, as often as the number at `count` tells */
	MEMBER_FD,    /* one at most */
	MEMBER_FLAG,
};

struct step_member {
	enum step_member_type type;
	uint16_t offset; /* in struct step */
	uint16_t count;  /* ITEMS: the offset of their number, a uint64_t */
	uint16_t width;  /* ITEMS */
};

#define STEP_MEMBERS_MAX 4

/* MEMBER_END ends a list that is not full. */
extern const struct step_member step_members[STEP_KINDS][STEP_MEMBERS_MAX];

/* The member after `member`, or the first one for NULL; NULL: no more. */
const struct step_member *step_member_next(const struct step *step,
					   const struct step_member *member);

/* All members empty, the descriptor -1. */
void step_init(struct step *step, enum step_kind kind);
/* NULL: this kind has none. */
const char *step_path(const struct step *step);
/* -1: none. */
int step_fd(const struct step *step);
void step_set_fd(struct step *step, int fd);

/* A text or the items of a step. */
const void *step_pointer(const struct step *step, const struct step_member *member);
void step_set_pointer(struct step *step, const struct step_member *member, const void *to);
uint64_t step_items(const struct step *step, const struct step_member *member);
#endif
