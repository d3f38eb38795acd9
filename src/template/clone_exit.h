/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exit of a clone: as C programs exit, and then without waiting for the kernel
 * (native/calls/done_call.h).
 */
#ifndef BRIG_TEMPLATE_CLONE_EXIT_H
#define BRIG_TEMPLATE_CLONE_EXIT_H

#include <stdbool.h>

bool template_is_single_threaded(void);
/* In the template, before anything is loaded that may have exit handlers. */
void template_exit_register(void);
/* In the template, after everything is loaded. */
void template_exit_prepare(void);
/* In a payload. `parks`: its filter lets it report that it is done. */
void template_exit_begin(bool parks);
/* In a child of the template that is no payload: its end, in place of the report of a program. */
void template_exit_by(void (*end)(void));
/* Ends the process with all that exit(3) does. */
_Noreturn void template_exit(int status);
#endif
