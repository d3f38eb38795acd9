/* SPDX-License-Identifier: Apache-2.0 */
/* S1: the filter applies to the first instructions of a program. There is no start-up code. */
/* flags: -nostdlib -nostartfiles */
__asm__(".globl _start\n"
	"_start:\n"
	"	mov $272, %eax\n"        /* unshare */
	"	mov $0x10000000, %edi\n" /* CLONE_NEWUSER */
	"	syscall\n"
	"	neg %eax\n"
	"	mov %eax, %edi\n" /* exit status: its errno */
	"	mov $60, %eax\n"
	"	syscall\n"
	"	hlt\n");
