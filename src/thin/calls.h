/* SPDX-License-Identifier: Apache-2.0 */
/* System calls without the C library: they return -errno. */
#ifndef BRIG_THIN_CALLS_H
#define BRIG_THIN_CALLS_H

#include <sys/syscall.h>

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long call0(long number)
{
	return call6(number, 0, 0, 0, 0, 0, 0);
}

static inline long call3(long number, long a, long b, long c)
{
	return call6(number, a, b, c, 0, 0, 0);
}

static inline long call4(long number, long a, long b, long c, long d)
{
	return call6(number, a, b, c, d, 0, 0);
}

static inline long address(const void *pointer)
{
	return (long)pointer;
}
#endif
