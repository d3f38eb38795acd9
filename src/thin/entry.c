/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's entry point: the attempt first, with the stack as the kernel has made it, then the
 * C library's own entry point with all registers as they were.
 */
__asm__(".text\n"
	".globl thin_entry\n"
	".hidden thin_entry\n"
	".type thin_entry, @function\n"
	"thin_entry:\n"
	"	endbr64\n"
	"	mov %rdx, %r13\n"
	"	mov %rsp, %r12\n"
	"	mov %rsp, %rdi\n"
	"	xor %ebp, %ebp\n"
	"	and $-16, %rsp\n"
	"	call thin_attempt\n"
	"	mov %r12, %rsp\n"
	"	mov %r13, %rdx\n"
	"	jmp _start\n"
	".size thin_entry, . - thin_entry\n");
