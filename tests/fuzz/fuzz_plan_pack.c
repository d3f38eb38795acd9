/* SPDX-License-Identifier: Apache-2.0 */
/* A packed plan read from any bytes: refused, or every pointer leads into the block. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "native/plan/plan_pack.h"
#include "native/plan/step_members.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void within(const char *block, size_t size, const char *at, uint64_t length)
{
	if (at < block || at > block + size || length > (uint64_t)(block + size - at)) {
		abort();
	}
}

static void check_member(const char *block, size_t size, const struct step *step,
			 const struct step_member *member)
{
	if (member->type == MEMBER_FD) {
		return;
	}
	if (member->type == MEMBER_FLAG) {
		if (((const unsigned char *)step)[member->offset] > 1) {
			abort();
		}
		return;
	}
	const char *at = step_pointer(step, member);
	if (at) {
		within(block, size, at,
		       member->type == MEMBER_ITEMS ? step_items(step, member) * member->width
						    : strlen(at) + 1);
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
			const struct step_member *member = NULL;
			while ((member = step_member_next(step, member))) {
				check_member(block, size, step, member);
			}
		}
	}
	free(block);
	return 0;
}
