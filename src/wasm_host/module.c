/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: from a file in WebAssembly's binary or text form, or prepared by brig. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wasm_host/wasm_host.h"

static const char magic[4] = { '\0', 'a', 's', 'm' };

static _Noreturn void cannot_read(const char *path)
{
	char text[300];

	snprintf(text, sizeof(text), "cannot read the module %.200s: %s", path, strerror(errno));
	report_failure(WASM_END_INVALID, text, NULL);
}

/* The whole file, before the program begins: it may write to it. */
static struct abi_bytes read_whole(const char *path)
{
	struct stat info;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &info) < 0) {
		cannot_read(path);
	}
	struct abi_bytes bytes = { 0, malloc((size_t)info.st_size + 1) };
	if (!bytes.data) {
		cannot_read(path);
	}
	while (bytes.size < (size_t)info.st_size) {
		ssize_t n = read(fd, bytes.data + bytes.size, (size_t)info.st_size - bytes.size);
		if (n < 0) {
			cannot_read(path);
		}
		if (n == 0) {
			break;
		}
		bytes.size += (size_t)n;
	}
	close(fd);
	return bytes;
}

/* The engine itself also takes native code here or there: only these two forms reach it. */
static struct abi_bytes read_module(const char *path)
{
	struct abi_bytes bytes = read_whole(path), binary = { 0 };

	if (bytes.size >= sizeof(magic) && memcmp(bytes.data, magic, sizeof(magic)) == 0) {
		return bytes;
	}
	struct abi_error *error = wasmtime.wasmtime_wat2wasm(bytes.data, bytes.size, &binary);
	if (error) {
		report_failure(WASM_END_INVALID, "the module is not valid", error);
	}
	free(bytes.data);
	return binary;
}

static struct abi_module *compile(struct abi_engine *engine, const char *path)
{
	struct abi_bytes bytes = read_module(path);
	struct abi_module *module = NULL;
	struct abi_error *error = wasmtime.wasmtime_module_new(engine, (const uint8_t *)bytes.data,
							       bytes.size, &module);

	if (error) {
		report_failure(WASM_END_INVALID, "the module is not valid", error);
	}
	return module;
}

struct abi_module *module_load(struct abi_engine *engine, const struct host_order *order)
{
	struct abi_module *module = NULL;

	if (!order->prepared) {
		return compile(engine, order->module);
	}
	struct abi_error *error =
		wasmtime.wasmtime_module_deserialize_file(engine, order->module, &module);
	if (error) {
		report_failure(WASM_END_ENGINE, "the prepared module cannot be used", error);
	}
	return module;
}

static int write_whole(const struct abi_bytes *bytes)
{
	for (size_t at = 0; at < bytes->size;) {
		ssize_t n = write(STDOUT_FILENO, bytes->data + at, bytes->size - at);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int module_translate(const char *path, bool counts)
{
	struct abi_engine *engine = engine_new(counts, true);
	struct abi_module *module = compile(engine, path);
	struct abi_bytes native = { 0 };
	struct abi_error *error = wasmtime.wasmtime_module_serialize(module, &native);

	if (error) {
		report_failure(WASM_END_ENGINE, "the module cannot be translated", error);
	}
	int r = write_whole(&native);
	if (r < 0) {
		fprintf(stderr, "brig: cannot write the native code: %s\n", strerror(-r));
		return WASM_EXIT_FAILED;
	}
	return 0;
}
