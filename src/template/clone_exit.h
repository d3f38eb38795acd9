/* SPDX-License-Identifier: Apache-2.0 */
/* How a clone ends: as C programs do, and then without waiting for the kernel (native/done.h). */
#ifndef BRIG_TEMPLATE_CLONE_EXIT_H
#define BRIG_TEMPLATE_CLONE_EXIT_H

#include <stdbool.h>

bool template_is_single_threaded(void);
/* In the template, before anything is loaded that might have to do something at the end. */
void template_exit_register(void);
/* In the template, when all is loaded. */
void template_leave_prepare(void);
/* In a payload. `parks`: its filter lets it say that it is done. */
void template_leave_begin(bool parks);
/* Ends the process with all that exit(3) does. */
_Noreturn void template_leave(int status);
#endif
