/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the template: see main.c. */
#ifndef BRIG_WASM_TEMPLATE_WASM_TEMPLATE_H
#define BRIG_WASM_TEMPLATE_WASM_TEMPLATE_H

#include "wasm_host/wasm_host.h"

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

/* That part of the calling program's memory; NULL: it is not in it. */
uint8_t *guest_memory(struct abi_caller *caller, uint32_t at, uint32_t size);
#endif
