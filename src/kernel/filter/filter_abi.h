/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of the kernel's entry points, shared by the table, the compiler and the proof. */
#ifndef BRIG_KERNEL_FILTER_FILTER_ABI_H
#define BRIG_KERNEL_FILTER_FILTER_ABI_H

/*
 * x32 calls have AUDIT_ARCH_X86_64 and this bit in the number. No x86_64 call is, or will be, that
 * high, so all numbers from here on are foreign.
 */
#define FILTER_X32_BIT 0x40000000u
#endif
