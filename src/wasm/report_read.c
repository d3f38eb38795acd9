/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the record that the helper leaves about the end of a program (wasm_host/wasm_report.h). An
 * engine that was taken over can write what it likes there: about its own run, and never more.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/run.h"
#include "wasm/wasm.h"

/* NOLINTNEXTLINE(misc-redundant-expression): equal, as they must be */
_Static_assert(WASM_REPORT_AT == RUN_GUARD_BYTES + RUN_VALUE_BYTES, "behind the value");
_Static_assert(sizeof(struct wasm_report) <= RUN_END_BYTES, "it fits");

static enum guest_end guest_end_of(const struct wasm_report *report)
{
	switch ((enum wasm_end)report->end) {
	case WASM_END_TRAP:
		return report->trap == WASM_TRAP_FUEL ? GUEST_INSTRUCTIONS : GUEST_TRAP;
	case WASM_END_INVALID:
		return GUEST_INVALID;
	case WASM_END_ENGINE:
		return GUEST_ENGINE;
	default:
		return GUEST_NONE;
	}
}

/* The exit code of the helper that goes with such a record. */
static int code_of(enum guest_end end)
{
	return end == GUEST_TRAP || end == GUEST_INSTRUCTIONS ? WASM_EXIT_TRAP : WASM_EXIT_FAILED;
}

static bool read_record(int fd, struct wasm_report *ret)
{
	return fd >= 0 && pread(fd, ret, sizeof(*ret), WASM_REPORT_AT) == (ssize_t)sizeof(*ret) &&
	       ret->magic == WASM_REPORT_MAGIC && ret->end < WASM_ENDS &&
	       memchr(ret->text, '\0', sizeof(ret->text));
}

static void take_text(struct facts *facts, const struct wasm_report *report)
{
	const char *text = report->text;

	if (facts->guest == GUEST_TRAP) {
		text = wasm_trap_name(report->trap);
	}
	for (size_t i = 0; text[i] && i + 1 < sizeof(facts->guest_text); i++) {
		facts->guest_text[i] = text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
		facts->guest_text[i + 1] = '\0';
	}
}

void wasm_take_report(int fd, struct facts *facts)
{
	struct wasm_report report;

	if (!facts->exited || facts->end_code != CLD_EXITED || !read_record(fd, &report)) {
		return;
	}
	facts->instructions = report.instructions;
	enum guest_end end = guest_end_of(&report);
	/* The exit code was seen from outside: both must agree. */
	if (end != GUEST_NONE && facts->end_status == code_of(end)) {
		facts->guest = end;
		take_text(facts, &report);
	}
}
