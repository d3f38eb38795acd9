/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "I am done": the last system call of a program whose end need not be waited for.
 *
 * It is sysinfo(2), which the built-in filters hand to the warden, with arguments that mean nothing
 * to the kernel. The caller sleeps in it, and after the warden has received it only a kill can
 * wake it. When nobody but brig-init is in the cell besides, no code of the cell will ever run
 * again: the warden takes the result and kills it, and nobody waits for its address space to go.
 * Otherwise the call fails, and the program ends as ever. Where a policy treats the call in another
 * way, or allows what goes on while its caller sleeps (spec.parks), nobody says it, and nobody is
 * believed.
 */
#ifndef BRIG_NATIVE_DONE_H
#define BRIG_NATIVE_DONE_H

#include <stdbool.h>
#include <stdint.h>

/* The first argument is NULL: a kernel that is asked after all answers EFAULT. */
#define DONE_MAGIC 0x656e6f642d676972ull

/* Pure: is it such a call, and with which exit status? */
static inline bool done_is(const uint64_t args[6], int *ret_status)
{
	*ret_status = (int)(args[2] & 0xff);
	return args[0] == 0 && args[1] == DONE_MAGIC;
}
#endif
