/* SPDX-License-Identifier: Apache-2.0 */
/* The engine: its library, its functions, its settings. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wasm_host/wasm_host.h"

/* Less than the stack that a cell's program has (8 MiB). */
#define STACK_BYTES (2u << 20)

struct wasmtime wasmtime;

static void fail(const char *why)
{
	report_end(WASM_END_ENGINE, 0, 0, why, strlen(why));
	exit(WASM_EXIT_FAILED);
}

/* A cast from an object pointer is what dlsym() is made for, and what ISO C does not have. */
static void find(void *library, const char *name, void *function)
{
	void *at = dlsym(library, name);
	char text[120];

	if (!at) {
		snprintf(text, sizeof(text), "the engine has no function %s", name);
		fail(text);
	}
	memcpy(function, &at, sizeof(at));
}

void engine_load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fail(dlerror());
	}
#define X(result, name, parameters) find(library, #name, &wasmtime.name);
	WASMTIME_FUNCTIONS(X)
#undef X
}

struct abi_engine *engine_new(bool counts, bool prepared)
{
	struct abi_config *config = wasmtime.wasm_config_new();

	wasmtime.wasmtime_config_consume_fuel_set(config, counts);
	/* One thread: the filter of the cell has no call that makes another. */
	wasmtime.wasmtime_config_parallel_compilation_set(config, false);
	wasmtime.wasmtime_config_max_wasm_stack_set(config, STACK_BYTES);
	wasmtime.wasmtime_config_wasm_threads_set(config, false);
	/* Of a module in memory, the engine would make a memory file for this. */
	wasmtime.wasmtime_config_memory_init_cow_set(config, prepared);
	struct abi_engine *engine = wasmtime.wasm_engine_new_with_config(config);
	if (!engine) {
		fail("the engine does not start");
	}
	return engine;
}
