/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard checks Python code inside its cell, before it runs. This is the part outside of the
 * cell: it decides whether a request is guarded, makes the instructions for the driver, and reads
 * its report. The guard itself is data/guard/; it is a policy in front of the walls, and no wall.
 */
#ifndef BRIG_LIB_GUARD_GUARD_H
#define BRIG_LIB_GUARD_GUARD_H

#include <brig/brig.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strlist.h"
#include "policy/policy.h"
#include "runtime/runtime.h"

/* The argument in front of the instructions, in the place of a source's path. */
#define GUARD_MARK "/etc/brig/guard"

struct guard {
	bool on; /* the driver examines the code, if only for its risk */
	enum guard_mode mode;
	bool check;                     /* the code is examined, and not run */
	uint64_t operations, recursion; /* its limits; 0: none */
	char *instructions;             /* owned: JSON for the driver */
	char *text;                     /* owned: the guard's code, then a driver's */
	size_t text_size;
};

/* `runtime` is NULL for a command. */
int guard_decide(const struct policy *policy, const struct brig_request *request,
		 const struct runtime *runtime, struct guard *ret, struct brig_error *err);
/* Inserts the instructions in front of the argument at `at`. 0 or -ENOMEM. */
int guard_add_instructions(const struct guard *guard, struct strlist *argv, size_t at);
/* The guard's text, then the driver's: for free(). */
char *guard_text(const char *driver, size_t size, size_t *ret_size);
/* The files of the guard's text, in order, "guard/names.py" first. */
extern const char *const guard_files[];
void guard_done(struct guard *guard);

/*
 * Reads the driver's report from the run's memory file. The driver seals the first part, whatever
 * it decides, before the program's first instruction: the guard's own texts are read only from
 * there. From the report of the program's end only a rule and a line are read, since the program
 * can write them as well; the texts about these are brig's own.
 */
void guard_read(const struct guard *guard, int fd, struct brig_result *result);
/* The same for a session, whose checker is a process that has run no code of any tenant. */
void guard_take_refused(const struct guard *guard, const char *text, size_t size,
			struct brig_result *result);
void guard_take_stopped(const struct guard *guard, const char *text, size_t size,
			struct brig_result *result);
#endif
