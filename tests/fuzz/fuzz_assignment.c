/* SPDX-License-Identifier: Apache-2.0 */
/* An assignment read from any bytes: refused, or every pointer leads into the block. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "native/messages/assignment.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void within(const char *block, size_t size, const void *at, uint64_t length)
{
	const char *p = at;

	if (p < block || p > block + size || length > (uint64_t)(block + size - p)) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct assignment assignment;
	char *block = malloc(size ? size : 1);

	memcpy(block, data, size);
	if (assignment_read(block, size, &order) == 0) {
		for (uint64_t i = 0; i < order.argc; i++) {
			within(block, size, order.argv[i], strlen(order.argv[i]) + 1);
		}
		for (uint64_t i = 0; i < order.envc; i++) {
			within(block, size, order.envp[i], strlen(order.envp[i]) + 1);
		}
		for (uint64_t i = 0; i < order.inputs_count; i++) {
			within(block, size, order.inputs[i].name, strlen(order.inputs[i].name) + 1);
			within(block, size, order.inputs[i].data, order.inputs[i].size);
		}
		within(block, size, order.rlimits, order.rlimits_count * sizeof(order.rlimits[0]));
	}
	free(block);
	return 0;
}
