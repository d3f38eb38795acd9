/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as one block of bytes, for a template: it carries out the same steps as a cell that is
 * made cold, but in a process of its own, which has never seen the spec.
 */
#ifndef BRIG_NATIVE_PLAN_PACK_H
#define BRIG_NATIVE_PLAN_PACK_H

#include "native/plan.h"

/* The fd of a sealed memory file, or -errno. Steps of the warden come along, for their indices. */
int plan_pack(const struct plan *plan);

/* Of a program's usual arguments and environment: what /proc shows of it. */
struct plan_sizes {
	size_t args, env;
};

/*
 * Checks a block and turns its offsets into pointers, in place; the block must stay. `spec` gets
 * what the steps themselves ask of it. 0, -ENOMEM or -EPROTO.
 */
int plan_unpack(void *block, size_t size, struct plan *ret, struct plan_sizes *sizes,
		struct spec *spec);
#endif
