/* SPDX-License-Identifier: Apache-2.0 */
/* Adds a program and its libraries to a closure. */
#ifndef BRIG_RUNTIME_CLOSURE_PROGRAM_H
#define BRIG_RUNTIME_CLOSURE_PROGRAM_H

#include "runtime/closure/closure_set.h"

enum program_kind { PROGRAM_STATIC, PROGRAM_DYNAMIC, PROGRAM_SCRIPT };

/*
 * Adds the program (but not one in a directory that closures never include, such as /tmp), the
 * interpreters of its #! line, the loader, and each library that no directory of the set covers
 * already. A library that cannot be found is left out: the loader will report it. The libraries of
 * a covered library are assumed to be covered too.
 */
int closure_add_program(struct closure_set *set, const char *program, enum program_kind *ret_kind,
			struct brig_error *err);
#endif
