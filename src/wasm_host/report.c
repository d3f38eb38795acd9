/* SPDX-License-Identifier: Apache-2.0 */
/* The record about the end: see wasm_report.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wasm_host/wasm_host.h"

static int record = WASM_REPORT_FD;

void report_to(int fd)
{
	record = fd;
}

/* The first line, without control characters: the engine quotes parts of the module. */
static void take_text(char *to, size_t room, const char *text, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < size && n + 1 < room; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '\n' && n > 0) {
			break;
		}
		to[n++] = c < 0x20 || c >= 0x7f ? '?' : (char)c;
	}
	to[n] = '\0';
}

void report_end(enum wasm_end end, uint32_t trap, uint64_t instructions, const char *text,
		size_t size)
{
	struct wasm_report report = {
		.magic = WASM_REPORT_MAGIC, .end = end, .trap = trap, .instructions = instructions
	};

	take_text(report.text, sizeof(report.text), text, size);
	/* Without the file, as in the cell of a translation, stderr alone has it. */
	ssize_t n = pwrite(record, &report, sizeof(report), WASM_REPORT_AT);
	(void)n;
	if (end != WASM_END_EXIT) {
		fprintf(stderr, "brig: %.*s\n", (int)(size < 4096 ? size : 4096), text);
	}
}

void report_failure(enum wasm_end end, const char *about, const struct abi_error *error)
{
	struct abi_bytes message = { 0 };
	char *text = NULL;
	int size = -1;

	if (error) {
		wasmtime.wasmtime_error_message(error, &message);
	}
	size = asprintf(&text, "%s%s%.*s", about, error ? ": " : "",
			(int)(message.size < 4096 ? message.size : 4096),
			message.data ? message.data : "");
	report_end(end, 0, 0, size < 0 ? about : text, size < 0 ? strlen(about) : (size_t)size);
	free(text);
	exit(WASM_EXIT_FAILED);
}
