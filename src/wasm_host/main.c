/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-wasm-host: runs one WASI program, or translates one module, in a cell.
 *
 * Theory of operation. The provider `wasm` makes a native cell whose program is this one. It loads
 * the engine's library from a fixed place in the cell, reads the module, and calls its _start
 * function. The program has the directories of the cell, its arguments, variables and streams, and
 * nothing else: WASI (preview 1) has no processes, threads or sockets. Limits on time, memory and
 * files are the cell's; the engine itself limits the program's memory and counts its instructions.
 * Its end is reported in a file that the program cannot reach (wasm_report.h).
 *
 * run MEMORY INSTRUCTIONS MODULE ARGV...        a module of the request
 * prepared MEMORY INSTRUCTIONS MODULE ARGV...   native code that brig has made before
 * translate INSTRUCTIONS MODULE                 makes that code, on standard output
 *
 * Only the second form executes native code that it is given: brig decides it, never the module.
 *
 * Privileges: those of any program in the cell; of system calls only those of
 * data/syscalls/wasm.rules.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wasm_host/wasm_host.h"

static int usage(void)
{
	fputs("brig: the helper for WebAssembly has wrong arguments\n", stderr);
	return WASM_EXIT_FAILED;
}

static int translate(int argc, char **argv)
{
	if (argc != 4) {
		return usage();
	}
	engine_load(WASM_ENGINE_PATH);
	return module_translate(argv[3], strtoull(argv[2], NULL, 10) != 0);
}

static int run(int argc, char **argv, bool prepared)
{
	if (argc < 6) {
		return usage();
	}
	const struct host_order order = {
		.memory_bytes = strtoull(argv[2], NULL, 10),
		.instructions = strtoull(argv[3], NULL, 10),
		.prepared = prepared,
		.module = argv[4],
		.argv = argv + 5,
		.argc = (size_t)argc - 5,
		.define = prepared ? whole_writes_define : NULL,
		.connect = prepared ? whole_writes_connect : NULL,
	};
	engine_load(WASM_ENGINE_PATH);
	struct abi_engine *engine = engine_new(order.instructions != 0, prepared);
	return command_run(engine, module_load(engine, &order), &order);
}

int main(int argc, char **argv)
{
	/* Of the engine's threads for files; the program does not get it. */
	setenv(WASM_THREADS_VARIABLE, "1", 1);
	if (argc > 1 && strcmp(argv[1], "translate") == 0) {
		return translate(argc, argv);
	}
	if (argc > 1 && (strcmp(argv[1], "run") == 0 || strcmp(argv[1], "prepared") == 0)) {
		return run(argc, argv, strcmp(argv[1], "prepared") == 0);
	}
	return usage();
}
