/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of WASI that brig replaces, and the way from them to the engine's own. The engine looks
 * for the memory in the exports of the module that calls. A call from here has none; so it goes
 * through a second module, which has the program's memory.
 */
#include <string.h>

#include "wasm_host/wasm_host.h"

static void make_type(const char *parameters, struct abi_functype **ret)
{
	struct abi_valtype *list[16], *one[] = { wasmtime.wasm_valtype_new(ABI_TYPE_I32) };
	struct abi_valtypes in, out;
	size_t count = strlen(parameters);

	for (size_t i = 0; i < count; i++) {
		list[i] = wasmtime.wasm_valtype_new(parameters[i] == 'l' ? ABI_TYPE_I64
									 : ABI_TYPE_I32);
	}
	wasmtime.wasm_valtype_vec_new(&in, count, list);
	wasmtime.wasm_valtype_vec_new(&out, 1, one);
	*ret = wasmtime.wasm_functype_new(&in, &out);
}

void wasi_replace(const struct host_command *command, const char *name, const char *parameters,
		  abi_callback function, void *user)
{
	struct abi_functype *type = NULL;

	make_type(parameters, &type);
	wasmtime.wasmtime_linker_allow_shadowing(command->linker, true);
	struct abi_error *error = wasmtime.wasmtime_linker_define_func_unchecked(
		command->linker, WASI_MODULE, strlen(WASI_MODULE), name, strlen(name), type,
		function, user, NULL);

	if (error) {
		report_failure(WASM_END_ENGINE, "a function cannot be replaced", error);
	}
}

static void check(const struct abi_error *error, const struct abi_trap *trap)
{
	if (error || trap) {
		report_failure(WASM_END_ENGINE, "the second module is not usable", error);
	}
}

static struct abi_module *compile(const struct host_command *command, const char *text, size_t size)
{
	struct abi_bytes binary = { 0 };
	struct abi_module *module = NULL;

	check(wasmtime.wasmtime_wat2wasm(text, size, &binary), NULL);
	check(wasmtime.wasmtime_module_new(command->engine, (const uint8_t *)binary.data,
					   binary.size, &module),
	      NULL);
	return module;
}

struct abi_instance wasi_second_module(const struct host_command *command,
				       const struct abi_instance *program, const char *text,
				       size_t size)
{
	struct abi_linker *linker = wasmtime.wasmtime_linker_new(command->engine);
	struct abi_instance instance = { 0 };
	struct abi_extern memory = { 0 };
	struct abi_trap *trap = NULL;

	if (!wasmtime.wasmtime_instance_export_get(command->context, program, "memory", 6,
						   &memory)) {
		report_failure(WASM_END_INVALID, "the interpreter exports no memory", NULL);
	}
	check(wasmtime.wasmtime_linker_define_wasi(linker), NULL);
	check(wasmtime.wasmtime_linker_define(linker, command->context, "brig", 4, "memory", 6,
					      &memory),
	      NULL);
	check(wasmtime.wasmtime_linker_instantiate(linker, command->context,
						   compile(command, text, size), &instance, &trap),
	      trap);
	return instance;
}

struct abi_func wasi_function(const struct host_command *command,
			      const struct abi_instance *instance, const char *name)
{
	struct abi_extern item = { 0 };

	if (!wasmtime.wasmtime_instance_export_get(command->context, instance, name, strlen(name),
						   &item)) {
		report_failure(WASM_END_ENGINE, "the second module is not usable", NULL);
	}
	return item.of.func;
}

struct abi_trap *wasi_forward(struct abi_caller *caller, const struct abi_func *function,
			      union abi_value *values, size_t count)
{
	struct abi_trap *trap = NULL;
	struct abi_error *error = wasmtime.wasmtime_func_call_unchecked(
		wasmtime.wasmtime_caller_context(caller), function, values, count, &trap);

	if (error) {
		report_failure(WASM_END_ENGINE, "a function of WASI failed", error);
	}
	return trap;
}
