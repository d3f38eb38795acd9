/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-wasm-template: an interpreter for WebAssembly that is cloned into cells.
 *
 * Theory of operation. The keeper (native/keeper/keeper.h) starts it with the engine, the native
 * code of an interpreter, and the plan of a cell. It loads both, and runs the interpreter with a
 * driver (data/drivers/wasm.py), which imports what the operator wants, and calls random_get() with
 * a size that means: serve (order.c). That call is the template's loop (template/serve.h). In a
 * clone, sealed in its cell, it returns, and the driver goes on; a second such call waits for the
 * assignment, and returns the arguments and variables of the run. Only then has the program
 * directories: those of its cell.
 *
 * brig-wasm-template ARGV...     of the interpreter
 *
 * One thread: the engine starts another with the first access to a file or stream, which the driver
 * avoids until it has its order.
 */
#include <stdlib.h>

#include "template/clone_exit.h"
#include "wasm_template/wasm_template.h"

/* In the template's view of the host it is empty. */
#define STAND_IN "/tmp"
/* Until the run's own limit is known: more than an interpreter needs to initialise itself. */
#define TEMPLATE_BYTES (256ull << 20)

static void define(const struct host_command *command)
{
	calls_define(command);
	order_define(command);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		return WASM_EXIT_FAILED;
	}
	const struct host_order order = {
		.memory_bytes = TEMPLATE_BYTES,
		.prepared = true,
		.module = "/proc/self/fd/6",
		.argv = argv + 1,
		.argc = (size_t)argc - 1,
		.stand_in = STAND_IN,
		.define = define,
		.connect = calls_connect,
	};

	_Static_assert(TEMPLATE_ENGINE == 4 && TEMPLATE_MODULE == 6, "the paths");
	setenv(WASM_THREADS_VARIABLE, "1", 1);
	template_exit_register();
	engine_load("/proc/self/fd/4");
	struct abi_engine *engine = engine_new(false, true);
	template_exit(command_run(engine, module_load(engine, &order), &order));
}
