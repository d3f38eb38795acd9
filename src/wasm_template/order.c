/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The function of WASI by which the interpreter's driver waits for its order: random_get(). A
 * module can call only what it imports, and this function is whole without the engine's: outside
 * of the order it returns bytes of the kernel's generator. The engine's own generator would
 * continue in each clone where the template was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "template/serve.h"
#include "wasm_template/wasm_template.h"

/* Of the helper's arguments: helper MODE MEMORY INSTRUCTIONS MODULE ARGV... */
#define ARG_MEMORY  2
#define ARG_PROGRAM 5
#define ARG_SOURCE  6

/* A larger source is read by the interpreter itself. */
#define SOURCE_BYTES_MAX (1u << 20)

enum order_state {
	ORDER_NONE,
	ORDER_CLONED, /* in a cell, sealed; the interpreter gets ready */
	ORDER_READ,   /* the driver reads it */
	ORDER_DONE,
};

/* One template in one process. */
static struct {
	enum order_state state;
	struct host_command command;
	char *text;
	size_t size, at;
} waiting;

static void nothing(void)
{
}

/* Returns in a clone alone. */
static void become_template(void)
{
	/* Its interpreter has no driver for a rehearsal. */
	static const struct template_hooks hooks = { { nothing, nothing }, false };
	enum template_start start;

	close(TEMPLATE_ENGINE);
	close(TEMPLATE_MODULE);
	int r = template_serve(TEMPLATE_SOCKET, TEMPLATE_PLAN, TEMPLATE_NAME, &hooks, &start);
	if (r < 0) {
		fprintf(stderr, "brig: no template: %s\n", strerror(-r));
		_exit(1);
	}
	waiting.state = ORDER_CLONED;
}

static size_t list_size(const char *const *list)
{
	size_t size = 0;

	for (; *list; list++) {
		size += strlen(*list) + 1;
	}
	return size;
}

static char *add_list(char *at, const char *const *list)
{
	for (; *list; list++) {
		at = stpcpy(at, *list) + 1;
	}
	return at;
}

/*
 * The source of the program, in the file that its first argument names: the engine would start a
 * thread for reading it. NULL: it is another kind of file, or too large.
 */
static char *read_source(const struct assignment *assignment, size_t *ret_size)
{
	struct stat info;
	size_t size = 0;
	ssize_t n = 1;

	if (assignment->argc <= ARG_SOURCE) {
		return NULL;
	}
	int fd = open(assignment->argv[ARG_SOURCE],
		      O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) {
		return NULL;
	}
	bool fits =
		fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= SOURCE_BYTES_MAX;
	char *text = fits ? malloc((size_t)info.st_size + 1) : NULL;
	while (text && n > 0 && size < (size_t)info.st_size) {
		n = read(fd, text + size, (size_t)info.st_size - size);
		size += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (n < 0) {
		free(text);
		text = NULL;
	}
	*ret_size = size;
	return text;
}

/*
 * Two numbers, each argument, each variable, all of them with a NUL at the end; then the source.
 * The numbers: how many arguments, and the size of the source, or -1.
 */
static void write_order(const struct assignment *assignment)
{
	const char *const *argv = assignment->argv + ARG_PROGRAM;
	size_t source_size = 0;
	char *source = read_source(assignment, &source_size);
	size_t room = 64 + list_size(argv) + list_size(assignment->envp) + source_size;
	char *text = calloc(1, room);

	if (!text) {
		report_failure(WASM_END_ENGINE, "no memory for the arguments", NULL);
	}
	char *end = text;
	end += sprintf(end, "%llu", (unsigned long long)assignment->argc - ARG_PROGRAM) + 1;
	end += sprintf(end, "%lld", source ? (long long)source_size : -1ll) + 1;
	end = add_list(add_list(end, argv), assignment->envp);
	if (source) {
		end = mempcpy(end, source, source_size);
		free(source);
	}
	waiting.text = text;
	waiting.size = (size_t)(end - text);
	waiting.at = 0;
}

/* The size in digits, which the driver reads first. */
static void wait_for_order(char digits[ORDER_WAIT_BYTES + 1])
{
	struct template_assignment got;

	template_wait(&got);
	if (got.value_fd >= 0) {
		report_to(got.value_fd);
	}
	const struct assignment *assignment = &got.assignment;
	if (assignment->argc <= ARG_PROGRAM) {
		report_failure(WASM_END_ENGINE, "the assignment has no program", NULL);
	}
	const struct host_order order = {
		.memory_bytes = strtoull(assignment->argv[ARG_MEMORY], NULL, 10),
		.argv = (char **)(uintptr_t)(assignment->argv + ARG_PROGRAM),
		.argc = assignment->argc - ARG_PROGRAM,
	};
	command_assign(&waiting.command, &order);
	write_order(assignment);
	snprintf(digits, ORDER_WAIT_BYTES + 1, "%0*zu", ORDER_WAIT_BYTES, waiting.size);
	waiting.state = ORDER_READ;
}

/* True: the call was about the order. */
static bool take_call(uint8_t *to, size_t size)
{
	char digits[ORDER_WAIT_BYTES + 1];

	if (waiting.state == ORDER_NONE && size == ORDER_SERVE_BYTES) {
		become_template();
		return true;
	}
	if (waiting.state == ORDER_CLONED && size == ORDER_WAIT_BYTES) {
		wait_for_order(digits);
		memcpy(to, digits, ORDER_WAIT_BYTES);
		return true;
	}
	if (waiting.state != ORDER_READ) {
		return false;
	}
	size_t left = waiting.size - waiting.at, part = size < left ? size : left;
	memcpy(to, waiting.text + waiting.at, part);
	memset(to + part, 0, size - part);
	waiting.at += part;
	if (waiting.at == waiting.size) {
		waiting.state = ORDER_DONE;
		free(waiting.text);
	}
	return true;
}

static bool fill_random(uint8_t *to, size_t size)
{
	while (size) {
		ssize_t n = getrandom(to, size, 0);
		if (n < 0 && errno != EINTR) {
			return false;
		}
		to += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

uint8_t *guest_memory(struct abi_caller *caller, uint32_t at, uint32_t size)
{
	const struct abi_context *context = wasmtime.wasmtime_caller_context(caller);
	struct abi_extern memory = { 0 };

	if (!wasmtime.wasmtime_caller_export_get(caller, "memory", 6, &memory) ||
	    memory.kind != ABI_EXTERN_MEMORY) {
		return NULL;
	}
	uint64_t room = wasmtime.wasmtime_memory_data_size(context, &memory.of);
	return (uint64_t)at + size > room ? NULL
					  : wasmtime.wasmtime_memory_data(context, &memory.of) + at;
}

static struct abi_trap *random_get(void *user, struct abi_caller *caller, union abi_value *values,
				   size_t count)
{
	uint32_t size = (uint32_t)values[1].i32;
	uint8_t *to = guest_memory(caller, (uint32_t)values[0].i32, size);

	(void)user;
	(void)count;
	if (!to) {
		values[0].i32 = WASI_FAULT;
	} else {
		values[0].i32 = take_call(to, size) || fill_random(to, size) ? WASI_OK : WASI_IO;
	}
	return NULL;
}

bool order_given(void)
{
	return waiting.state >= ORDER_READ;
}

void order_define(const struct host_command *command)
{
	waiting.command = *command;
	wasi_replace(command, "random_get", "ii", random_get, NULL);
}
