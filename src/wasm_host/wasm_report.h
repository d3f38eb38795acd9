/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of the helper, its exit codes, and the record that it leaves about the end of a
 * program, in the memory file of the run (run/run.h), behind the part for a value. A WASI program
 * has no way to that file.
 */
#ifndef BRIG_WASM_HOST_WASM_REPORT_H
#define BRIG_WASM_HOST_WASM_REPORT_H

#include <stdint.h>

#define WASM_REPORT_FD    3
#define WASM_REPORT_AT    (8192 + 65536) /* = RUN_GUARD_BYTES + RUN_VALUE_BYTES */
#define WASM_REPORT_MAGIC UINT32_C(0x6d736177)

/* Where the engine is in a cell, and modules that were translated before. */
#define WASM_ENGINE_PATH   "/brig/engine.so"
#define WASM_PREPARED_PATH "/brig/module.cwasm"
#define WASM_HOST_PATH     "/brig/wasm-host"
#define WASM_MODULE_PATH   "/brig/module.wasm" /* that is translated */

#define WASM_TRAP_FUEL 11 /* the engine's number: the instructions are used up */

/* Exit codes for ends that are not the program's own; the record has the details. */
#define WASM_EXIT_TRAP   134 /* as a program that abort() has ended, in a shell */
#define WASM_EXIT_FAILED 125

enum wasm_end {
	WASM_END_NONE,    /* the helper was killed */
	WASM_END_EXIT,    /* the program ended by itself */
	WASM_END_TRAP,    /* by a trap: its code is in `trap` */
	WASM_END_INVALID, /* the module is not valid, or not a WASI program */
	WASM_END_ENGINE,  /* the engine cannot be used */
	WASM_ENDS,
};

struct wasm_report {
	uint32_t magic;
	uint32_t end;  /* enum wasm_end */
	uint32_t trap; /* the engine's number */
	uint32_t unused;
	uint64_t instructions; /* executed, if they were counted */
	char text[200];        /* of the engine, for people; NUL-terminated */
};
#endif
