/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: what Python code is checked by, inside its cell, before it runs. Here is the outside
 * of it: whether a request is guarded, what the driver is told, and what it has to say. The guard
 * itself is data/guard/; it is a policy in front of the walls, and no wall.
 */
#ifndef BRIG_LIB_GUARD_GUARD_H
#define BRIG_LIB_GUARD_GUARD_H

#include <brig/brig.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strlist.h"
#include "policy/policy.h"
#include "runtime/runtime.h"

/* The word in front of an order, where a source's path would be. */
#define GUARD_MARK "/etc/brig/guard"

struct guard {
	bool on; /* the driver looks at the code, if only for its risk */
	enum guard_mode mode;
	bool check;                     /* and does no more */
	uint64_t operations, recursion; /* its limits; 0: none */
	char *instructions;             /* owned: JSON for the driver */
	char *text;                     /* owned: the guard's own code with a driver's behind it */
	size_t text_size;
};

/* `runtime` is NULL for a command. */
int guard_decide(const struct policy *policy, const struct brig_request *request,
		 const struct runtime *runtime, struct guard *ret, struct brig_error *err);
/* Puts the order in front of the word at `at`. 0 or -ENOMEM. */
int guard_add_instructions(const struct guard *guard, struct strlist *argv, size_t at);
/* The driver's text behind the guard's: for free(). */
char *guard_text(const char *driver, size_t size, size_t *ret_size);
/* For the part that a driver itself does not have: the same as a list, "guard/names.py" first. */
extern const char *const guard_files[];
void guard_done(struct guard *guard);

/*
 * What the driver has left in the run's memory file. It seals the first part, whichever way it
 * decides, before the program's first instruction: the guard's own words are taken from there, and
 * from nowhere else. Of the program's end only a rule and a line are taken, since the program can
 * write them as well; what brig says of these is brig's own text.
 */
void guard_read(const struct guard *guard, int fd, struct brig_result *result);
/* The same for a session, whose checker is a process that has run nobody's code. */
void guard_take_refused(const struct guard *guard, const char *text, size_t size,
			struct brig_result *result);
void guard_take_stopped(const struct guard *guard, const char *text, size_t size,
			struct brig_result *result);
#endif
