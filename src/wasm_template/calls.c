/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WASI's functions for files and streams, which an interpreter calls when it initialises itself.
 * The engine carries them out in threads of its own, and a process with threads cannot be cloned.
 * So in the template they are answered here: there are no files, and three streams. In a clone that
 * has its order each call goes on to the engine, but for writes to the output (streams.c).
 *
 * Such a call goes through a second module (wasm_host/wasi_calls.c), which has a function for each.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wasm_template/wasm_template.h"

#define FILESTAT_SIZE 64
#define FDSTAT_SIZE   24
#define FDSTAT_RIGHTS 8
#define RIGHT_READ    0x02
#define RIGHT_WRITE   0x40
/* The lowest of them; none is used. */
#define RIGHTS_DIRECTORY 0xff
#define KIND_DIRECTORY   3
#define LAST_DIRECTORY   6
#define TEXT_BYTES       8192

static int no_file(struct abi_caller *caller, const union abi_value *values)
{
	(void)caller;
	(void)values;
	return WASI_NOENT;
}

static int no_descriptor(struct abi_caller *caller, const union abi_value *values)
{
	(void)caller;
	(void)values;
	return WASI_BADF;
}

static int no_position(struct abi_caller *caller, const union abi_value *values)
{
	(void)caller;
	(void)values;
	return WASI_SPIPE;
}

/* Of a stream: of no known kind, as the engine says it of a pipe. */
static int stream_facts(struct abi_caller *caller, const union abi_value *values)
{
	uint8_t *to = values[0].i32 >= 0 && values[0].i32 <= 2
			      ? guest_memory(caller, (uint32_t)values[1].i32, FILESTAT_SIZE)
			      : NULL;

	if (!to) {
		return WASI_BADF;
	}
	memset(to, 0, FILESTAT_SIZE);
	return WASI_OK;
}

/* Its state: a stream's kind is unknown here too; all others are directories. */
static int state(struct abi_caller *caller, const union abi_value *values)
{
	int fd = values[0].i32;
	uint8_t *to = fd >= 0 && fd <= LAST_DIRECTORY
			      ? guest_memory(caller, (uint32_t)values[1].i32, FDSTAT_SIZE)
			      : NULL;

	if (!to) {
		return WASI_BADF;
	}
	memset(to, 0, FDSTAT_SIZE);
	to[0] = fd <= 2 ? 0 : KIND_DIRECTORY;
	to[FDSTAT_RIGHTS] = fd == 0 ? RIGHT_READ : fd <= 2 ? RIGHT_WRITE : RIGHTS_DIRECTORY;
	return WASI_OK;
}

/* As of a name that is no link. */
static int no_link(struct abi_caller *caller, const union abi_value *values)
{
	(void)caller;
	(void)values;
	return WASI_INVAL;
}

/*
 * Parameters: i, of 32 bits; l, of 64. The result is an error number. `direct` is for a clone that
 * has its order: false means that the call goes on to the engine.
 */
static struct call {
	const char *name, *parameters;
	int (*answer)(struct abi_caller *caller, const union abi_value *values);
	bool (*direct)(struct abi_caller *caller, const union abi_value *values, int *ret_error);
	struct abi_func function; /* of the second module */
} calls[] = {
	{ "fd_close", "i", no_descriptor, stream_close, { 0 } },
	{ "fd_fdstat_get", "ii", state, NULL, { 0 } },
	{ "fd_filestat_get", "ii", stream_facts, NULL, { 0 } },
	{ "fd_read", "iiii", no_descriptor, NULL, { 0 } },
	{ "fd_readdir", "iiili", no_descriptor, NULL, { 0 } },
	{ "fd_renumber", "ii", no_descriptor, stream_renumber, { 0 } },
	{ "fd_seek", "ilii", no_position, NULL, { 0 } },
	{ "fd_tell", "ii", no_position, NULL, { 0 } },
	{ "fd_write", "iiii", no_descriptor, stream_write, { 0 } },
	{ "path_filestat_get", "iiiii", no_file, NULL, { 0 } },
	{ "path_open", "iiiiillii", no_file, NULL, { 0 } },
	{ "path_readlink", "iiiiii", no_link, NULL, { 0 } },
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

/* The program is in the engine's hands below; it cannot call these before it has its order. */
static struct abi_trap *take(void *user, struct abi_caller *caller, union abi_value *values,
			     size_t count)
{
	const struct call *call = user;
	int error = WASI_OK;

	if (!order_given()) {
		values[0].i32 = call->answer(caller, values);
		return NULL;
	}
	if (call->direct && call->direct(caller, values, &error)) {
		values[0].i32 = error;
		return NULL;
	}
	return wasi_forward(caller, &call->function, values, count);
}

void calls_define(const struct host_command *command)
{
	for (size_t i = 0; i < CALLS; i++) {
		wasi_replace(command, calls[i].name, calls[i].parameters, take, &calls[i]);
	}
}

/* --- the second module ------------------------------------------------------------------------ */

struct text {
	char data[TEXT_BYTES];
	size_t size;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	va_list args;
	size_t room = sizeof(text->data) - text->size;

	va_start(args, format);
	int n = vsnprintf(text->data + text->size, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room) {
		abort(); /* the table above is as it was built */
	}
	text->size += (size_t)n;
}

static void add_type(struct text *text, const char *parameters)
{
	add(text, " (param");
	for (; *parameters; parameters++) {
		add(text, *parameters == 'l' ? " i64" : " i32");
	}
	add(text, ") (result i32)");
}

static void write_module(struct text *text)
{
	add(text, "(module (import \"brig\" \"memory\" (memory 0)) (export \"memory\" (memory 0))");
	for (size_t i = 0; i < CALLS; i++) {
		add(text, "(import \"" WASI_MODULE "\" \"%s\" (func $%zu", calls[i].name, i);
		add_type(text, calls[i].parameters);
		add(text, "))");
	}
	for (size_t i = 0; i < CALLS; i++) {
		add(text, "(func (export \"%s\")", calls[i].name);
		add_type(text, calls[i].parameters);
		for (size_t k = 0; calls[i].parameters[k]; k++) {
			add(text, " local.get %zu", k);
		}
		add(text, " call $%zu)", i);
	}
	add(text, ")");
}

void calls_connect(const struct host_command *command, const struct abi_instance *program)
{
	static struct text text;

	write_module(&text);
	const struct abi_instance instance =
		wasi_second_module(command, program, text.data, text.size);
	for (size_t i = 0; i < CALLS; i++) {
		calls[i].function = wasi_function(command, &instance, calls[i].name);
	}
}
