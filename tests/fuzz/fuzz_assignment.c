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
	if (assignment_read(block, size, &assignment) == 0) {
		for (uint64_t i = 0; i < assignment.argc; i++) {
			within(block, size, assignment.argv[i], strlen(assignment.argv[i]) + 1);
		}
		for (uint64_t i = 0; i < assignment.envc; i++) {
			within(block, size, assignment.envp[i], strlen(assignment.envp[i]) + 1);
		}
		for (uint64_t i = 0; i < assignment.inputs_count; i++) {
			within(block, size, assignment.inputs[i].name,
			       strlen(assignment.inputs[i].name) + 1);
			within(block, size, assignment.inputs[i].data, assignment.inputs[i].size);
		}
		within(block, size, assignment.rlimits,
		       assignment.rlimits_count * sizeof(assignment.rlimits[0]));
	}
	free(block);
	return 0;
}
