/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as one block of bytes, for a template, which carries out the same steps as a cold cell,
 * but in a separate process that does not have the spec.
 */
#ifndef BRIG_NATIVE_PLAN_PLAN_PACK_H
#define BRIG_NATIVE_PLAN_PLAN_PACK_H

#include "native/plan/plan.h"

/*
 * The fd of a sealed memory file, or -errno. It includes the warden's steps, to keep the indices.
 */
int plan_pack(const struct plan *plan);

/* The sizes of a program's usual arguments and environment, as /proc shows them. */
struct plan_sizes {
	size_t args, env;
};

/*
 * Checks a block and turns its offsets into pointers, in place; the block must stay mapped. `spec`
 * gets the fields that the steps themselves read. 0, -ENOMEM or -EPROTO.
 */
int plan_unpack(void *block, size_t size, struct plan *ret, struct plan_sizes *sizes,
		struct spec *spec);
#endif
