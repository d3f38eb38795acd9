/* SPDX-License-Identifier: Apache-2.0 */
/* A packed plan read from any bytes: refused, or every pointer leads into the block. */
#include <linux/filter.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "native/plan/plan_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void within(const char *block, size_t size, const char *at, uint64_t length)
{
	if (at < block || at > block + size || length > (uint64_t)(block + size - at)) {
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct plan plan;
	struct plan_sizes sizes;
	struct spec spec;
	char *block = malloc(size ? size : 1);

	memcpy(block, data, size);
	if (plan_unpack(block, size, &plan, &sizes, &spec) == 0) {
		for (unsigned i = 0; i < plan.count; i++) {
			const struct step *step = &plan.steps[i];
			uint64_t width =
				step->kind == STEP_SECCOMP ? sizeof(struct sock_filter) : 1;
			if (step->path) {
				within(block, size, step->path, strlen(step->path) + 1);
			}
			if (step->text) {
				within(block, size, step->text, strlen(step->text) + 1);
			}
			if (step->data) {
				within(block, size, step->data, step->size * width);
			}
		}
	}
	free(block);
	return 0;
}
