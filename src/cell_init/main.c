/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-init as a program of its own: the pid 1 of a cell that was cloned from a template.
 *
 * It is executed when the cell is built and pid 1 has given up its privileges, while the payload
 * process gets ready in the memory that was pid 1's. Its descriptors are those of INIT_PROGRAM_*,
 * and no others. It reads nothing that the payload wrote but its reports, fixed records, until the
 * program begins.
 *
 * brig-init PAYLOAD STEPS STEP STATE, decimal: the payload's pid, the number of the plan's steps,
 * the step that is being carried out, and the state of the payload's reports.
 *
 * No C library: one that starts costs more than the program does.
 */
#include <errno.h>
#include <linux/prctl.h>
#include <stddef.h>

#include "kernel/sys.h"
#include "native/cell/init_program.h"
#include "native/cell/init_rest.h"

/* The compiler may call these two for a structure. */
void *memset(void *to, int byte, size_t size);
void *memcpy(void *restrict to, const void *restrict from, size_t size);

void *memset(void *to, int byte, size_t size)
{
	volatile unsigned char *at = to;

	while (size--) {
		*at++ = (unsigned char)byte;
	}
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
	volatile unsigned char *at = to;
	const unsigned char *source = from;

	while (size--) {
		*at++ = *source++;
	}
	return to;
}

static unsigned number(const char *text)
{
	unsigned value = 0;

	for (; *text >= '0' && *text <= '9'; text++) {
		value = value * 10 + (unsigned)(*text - '0');
	}
	return value;
}

static int run(const struct init_rest *rest, enum payload_report_state state)
{
	struct payload_report report = { 0 };

	while (state != PAYLOAD_REPORTS_READY) {
		int r = init_rest_report(rest, &state, &report);
		if (r != 1) {
			return r < 0 ? r : -ECHILD;
		}
		if (report.kind != PAYLOAD_REPORT_READY) {
			return -EPROTO; /* the listener was sent before */
		}
	}
	int r = init_rest_hold(rest);
	if (r < 0) {
		return r;
	}
	r = init_rest_start(rest);
	if (r < 0) {
		return r;
	}
	sys_raw(SYS_close, rest->reports, 0, 0);
	init_rest_run(rest);
}

/* The kernel leaves the number of arguments on the stack, then they. */
__attribute__((used, noreturn)) static void begin(char **stack)
{
	char **argv = stack + 1;
	struct init_rest rest = {
		.control = INIT_PROGRAM_CONTROL,
		.reports = INIT_PROGRAM_REPORTS,
		.payload_pidfd = -1,
	};

	/* Not traceable: exec has made it so. No earlier than that the payload goes on. */
	sys_raw(SYS_prctl, PR_SET_DUMPABLE, 0, 0);
	if (sys_raw(SYS_write, INIT_PROGRAM_LEFT, (long)"", 1) != 1) {
		init_rest_die(&rest, 0, EPIPE);
	}
	sys_raw(SYS_close, INIT_PROGRAM_LEFT, 0, 0);
	sys_raw(SYS_prctl, PR_SET_NAME, (long)"brig-init", 0);
	if (*(long *)(void *)stack != INIT_PROGRAM_ARGS) {
		init_rest_die(&rest, 0, EINVAL);
	}
	rest.payload = (int)number(argv[1]);
	rest.steps = number(argv[2]);
	rest.failed = number(argv[3]);
	init_rest_die(&rest, rest.failed, -run(&rest, (enum payload_report_state)number(argv[4])));
}

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	endbr64\n"
	"	xor %ebp, %ebp\n"
	"	mov %rsp, %rdi\n"
	"	and $-16, %rsp\n"
	"	call begin\n");
