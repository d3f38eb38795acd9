/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the helper: see main.c. */
#ifndef BRIG_WASM_HOST_WASM_HOST_H
#define BRIG_WASM_HOST_WASM_HOST_H

#include "wasm_host/wasm_report.h"
#include "wasm_host/wasmtime_abi.h"

/* The name is the engine's. */
#define WASM_THREADS_VARIABLE "TOKIO_WORKER_THREADS"

extern struct wasmtime wasmtime;

struct host_command {
	struct abi_engine *engine;
	struct abi_linker *linker;
	struct abi_store *store;
	struct abi_context *context;
};

struct host_order {
	uint64_t memory_bytes; /* of the program's linear memory */
	uint64_t instructions; /* 0: not counted */
	bool prepared;         /* the module is native code that brig has made before */
	const char *module;    /* path */
	char **argv;           /* of the program */
	size_t argc;
	/* A template alone: the directory in place of the cell's, which it does not have yet. */
	const char *stand_in;
	/* Replaces functions of WASI; NULL: none. */
	void (*define)(const struct host_command *command);
	/* The program exists, and has not begun; NULL: there is nothing to do. */
	void (*connect)(const struct host_command *command, const struct abi_instance *program);
};

/* Loads the engine's library and finds its functions; on failure it ends the process. */
void engine_load(const char *path);
/* `prepared`: modules are mapped from their file. */
struct abi_engine *engine_new(bool counts, bool prepared);

/* On failure these end the process, after a report. */
struct abi_module *module_load(struct abi_engine *engine, const struct host_order *order);
/* Writes the native code to standard output. */
int module_translate(const char *path, bool counts);

/* Runs the program; returns the exit code of the process. */
int command_run(struct abi_engine *engine, struct abi_module *module,
		const struct host_order *order);

/* Gives the program new arguments, variables, directories and limits: those of the process. */
void command_assign(const struct host_command *command, const struct host_order *order);

/* --- functions of WASI that brig replaces: wasi_calls.c --------------------------------------- */

#define WASI_MODULE "wasi_snapshot_preview1"

/* Parameters: i, of 32 bits; l, of 64. The result is an error number. */
void wasi_replace(const struct host_command *command, const char *name, const char *parameters,
		  abi_callback function, void *user);
/* Makes an instance of this text, which imports WASI's functions and the program's memory. */
struct abi_instance wasi_second_module(const struct host_command *command,
				       const struct abi_instance *program, const char *text,
				       size_t size);
struct abi_func wasi_function(const struct host_command *command,
			      const struct abi_instance *instance, const char *name);
/* Calls a function of the second module instead. */
struct abi_trap *wasi_forward(struct abi_caller *caller, const struct abi_func *function,
			      union abi_value *values, size_t count);

/* A write of several parts writes all of them: whole_writes.c. */
void whole_writes_define(const struct host_command *command);
void whole_writes_connect(const struct host_command *command, const struct abi_instance *program);

/* The descriptor for the record, if it is not WASM_REPORT_FD. */
void report_to(int fd);
/* Leaves the record, and prints it on stderr if the program itself has not ended by an exit. */
void report_end(enum wasm_end end, uint32_t trap, uint64_t instructions, const char *text,
		size_t size);
_Noreturn void report_failure(enum wasm_end end, const char *about, const struct abi_error *error);
#endif
