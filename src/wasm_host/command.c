/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a WASI program: its directories, streams, arguments, limits, and its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "wasm_host/wasm_host.h"

#define TABLE_ELEMENTS 10000000 /* of 8 bytes: the memory limit of the cell comes first */

extern char **environ;

/*
 * The directories of the cell that the program sees, and their names in it. Their mounts decide
 * what can be written. A relative path is one in /sandbox.
 */
static const struct {
	const char *path, *name;
} directories[] = {
	{ "/sandbox", "." },
	{ "/sandbox", "/sandbox" },
	{ "/tmp", "/tmp" },
	{ "/mnt", "/mnt" },
};

static void add_directories(struct abi_wasi *wasi, const struct host_order *order)
{
	struct stat info;

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		const char *path = order->stand_in ? order->stand_in : directories[i].path;
		if (stat(path, &info) < 0) {
			continue;
		}
		if (!wasmtime.wasi_config_preopen_dir(wasi, path, directories[i].name, true)) {
			report_failure(WASM_END_ENGINE, "a directory cannot be opened", NULL);
		}
	}
}

static void add_environment(struct abi_wasi *wasi)
{
	size_t count = 0, used = 0;

	while (environ[count]) {
		count++;
	}
	const char **names = calloc(count + 1, sizeof(*names));
	const char **values = calloc(count + 1, sizeof(*values));
	for (size_t i = 0; names && values && i < count; i++) {
		const char *equals = strchr(environ[i], '=');
		bool own = strncmp(environ[i], WASM_THREADS_VARIABLE "=",
				   sizeof(WASM_THREADS_VARIABLE)) == 0;
		if (equals && !own) {
			names[used] = strndup(environ[i], (size_t)(equals - environ[i]));
			values[used++] = equals + 1;
		}
	}
	if (!names || !values || !wasmtime.wasi_config_set_env(wasi, used, names, values)) {
		report_failure(WASM_END_INVALID, "a variable is not valid UTF-8", NULL);
	}
}

static struct abi_wasi *make_wasi(const struct host_order *order)
{
	struct abi_wasi *wasi = wasmtime.wasi_config_new();

	if (!wasmtime.wasi_config_set_argv(wasi, order->argc, order->argv)) {
		report_failure(WASM_END_INVALID, "an argument is not valid UTF-8", NULL);
	}
	add_environment(wasi);
	add_directories(wasi, order);
	wasmtime.wasi_config_inherit_stdin(wasi);
	wasmtime.wasi_config_inherit_stdout(wasi);
	wasmtime.wasi_config_inherit_stderr(wasi);
	return wasi;
}

static void limit(struct abi_store *store, struct abi_context *context,
		  const struct host_order *order)
{
	struct abi_error *error = NULL;

	/* One instance and one memory, as a WASI program has; more tables are of no use to it. */
	wasmtime.wasmtime_store_limiter(store, (int64_t)order->memory_bytes, TABLE_ELEMENTS,
					order->connect ? 2 : 1, 16, 1);
	if (order->instructions) {
		error = wasmtime.wasmtime_context_set_fuel(context, order->instructions);
	}
	if (error) {
		report_failure(WASM_END_ENGINE, "instructions cannot be counted", error);
	}
}

static uint64_t executed(struct abi_context *context, const struct host_order *order)
{
	uint64_t left = 0;

	if (!order->instructions || wasmtime.wasmtime_context_get_fuel(context, &left)) {
		return 0;
	}
	return order->instructions - left;
}

static int end_by_trap(const struct abi_trap *trap, uint64_t instructions)
{
	struct abi_bytes message = { 0 };
	uint8_t code = UINT8_MAX;

	if (!wasmtime.wasmtime_trap_code(trap, &code)) {
		code = UINT8_MAX;
	}
	wasmtime.wasm_trap_message(trap, &message);
	report_end(WASM_END_TRAP, code, instructions, message.data ? message.data : "",
		   message.size);
	return WASM_EXIT_TRAP;
}

static struct abi_func start_of(struct abi_context *context, const struct abi_instance *instance)
{
	struct abi_extern item = { 0 };

	if (!wasmtime.wasmtime_instance_export_get(context, instance, "_start", 6, &item) ||
	    item.kind != ABI_EXTERN_FUNC) {
		report_failure(WASM_END_INVALID,
			       "the module is no WASI program: it exports no function _start",
			       NULL);
	}
	return item.of.func;
}

/* The end of a call: by a return, by proc_exit(), by a trap, or by an error of the engine. */
static int conclude(struct abi_context *context, const struct host_order *order,
		    const struct abi_error *error, const struct abi_trap *trap)
{
	uint64_t instructions = executed(context, order);
	int status = 0;

	if (trap) {
		return end_by_trap(trap, instructions);
	}
	if (error && !wasmtime.wasmtime_error_exit_status(error, &status)) {
		report_failure(WASM_END_INVALID, "the program was ended", error);
	}
	report_end(WASM_END_EXIT, 0, instructions, "", 0);
	return status;
}

void command_assign(const struct host_command *command, const struct host_order *order)
{
	struct abi_error *error =
		wasmtime.wasmtime_context_set_wasi(command->context, make_wasi(order));

	if (error) {
		report_failure(WASM_END_ENGINE, "WASI cannot be set up", error);
	}
	limit(command->store, command->context, order);
}

static struct host_command prepare_command(struct abi_engine *engine,
					   const struct host_order *order)
{
	struct host_command command = {
		.engine = engine,
		.linker = wasmtime.wasmtime_linker_new(engine),
		.store = wasmtime.wasmtime_store_new(engine, NULL, NULL),
	};
	struct abi_error *error = wasmtime.wasmtime_linker_define_wasi(command.linker);

	if (error) {
		report_failure(WASM_END_ENGINE, "WASI cannot be set up", error);
	}
	command.context = wasmtime.wasmtime_store_context(command.store);
	command_assign(&command, order);
	return command;
}

int command_run(struct abi_engine *engine, struct abi_module *module,
		const struct host_order *order)
{
	struct host_command command = prepare_command(engine, order);
	struct abi_context *context = command.context;
	struct abi_instance instance = { 0 };
	struct abi_trap *trap = NULL;

	if (order->define) {
		order->define(&command);
	}
	struct abi_error *error = wasmtime.wasmtime_linker_instantiate(command.linker, context,
								       module, &instance, &trap);
	if (error) {
		report_failure(WASM_END_INVALID, "the module cannot be started", error);
	}
	if (trap) {
		return conclude(context, order, NULL, trap);
	}
	if (order->connect) {
		order->connect(&command, &instance);
	}
	struct abi_func start = start_of(context, &instance);
	error = wasmtime.wasmtime_func_call(context, &start, NULL, 0, NULL, 0, &trap);
	return conclude(context, order, error, trap);
}
