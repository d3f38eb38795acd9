/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of a program that it is done: its last system call, so that brig need not wait for its
 * end.
 *
 * It is sysinfo(2), which the built-in filters pass to the warden, with arguments that mean nothing
 * to the kernel. The caller sleeps in it, and after the warden has received it only a kill can wake
 * it. If brig-init is the only other process in the cell, no code of the cell will ever run again:
 * the warden takes the result and kills the cell, and does not wait until its address space is
 * freed. Otherwise the call fails, and the program ends as usual. Where a policy treats the call in
 * another way, or allows calls that go on while their caller sleeps (spec.parks), drivers do not
 * make it, and the warden ignores it.
 */
#ifndef BRIG_NATIVE_CALLS_DONE_CALL_H
#define BRIG_NATIVE_CALLS_DONE_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* The first argument is NULL: if the call reaches the kernel after all, it answers EFAULT. */
#define DONE_CALL_MAGIC 0x656e6f642d676972ull

/* Pure: is this a report of being done, and with which exit status? */
static inline bool done_call_is(const uint64_t args[6], int *ret_status)
{
	*ret_status = (int)(args[2] & 0xff);
	return args[0] == 0 && args[1] == DONE_CALL_MAGIC;
}
#endif
