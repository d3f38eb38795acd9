/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the template: see main.c. */
#ifndef BRIG_WASM_TEMPLATE_WASM_TEMPLATE_H
#define BRIG_WASM_TEMPLATE_WASM_TEMPLATE_H

#include "wasm_host/wasm_host.h"

/* WASI's error numbers, those that are used. */
#define WASI_OK    0
#define WASI_AGAIN 6
#define WASI_BADF  8
#define WASI_FAULT 21
#define WASI_INVAL 28
#define WASI_IO    29
#define WASI_NOENT 44
#define WASI_NOSPC 51
#define WASI_PIPE  64
#define WASI_SPIPE 70

/* Its descriptors: the keeper has put them there. */
enum {
	TEMPLATE_SOCKET = 3,
	TEMPLATE_ENGINE,
	TEMPLATE_PLAN,
	TEMPLATE_MODULE,
};

/* The name of the process: that of the helper in a cold cell. */
#define TEMPLATE_NAME "wasm-host"

/*
 * Replaces WASI's random_get(). Until the order is complete, two lengths that nothing else asks for
 * have a meaning:
 *
 * 17 bytes: the process is a template from here on; its clones return.
 * 19 bytes: waits for the order, and returns its size in digits; the next bytes are the order.
 */
#define ORDER_SERVE_BYTES 17
#define ORDER_WAIT_BYTES  19

void order_define(const struct host_command *command);
/* Does the clone have its order? */
bool order_given(void);

/* The functions for files and streams: calls.c. */
void calls_define(const struct host_command *command);
void calls_connect(const struct host_command *command, const struct abi_instance *program);

/*
 * Standard output and error, which a clone writes itself: streams.c. Values are those of WASI's
 * function of that name. False: the call is for the engine.
 */
bool stream_write(struct abi_caller *caller, const union abi_value *values, int *ret_error);
bool stream_close(struct abi_caller *caller, const union abi_value *values, int *ret_error);
bool stream_renumber(struct abi_caller *caller, const union abi_value *values, int *ret_error);

/* That part of the calling program's memory; NULL: it is not in it. */
uint8_t *guest_memory(struct abi_caller *caller, uint32_t at, uint32_t size);
#endif
