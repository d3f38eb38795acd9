/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of the public functions as locals that own them: _cleanup_(brig_run_freep). */
#ifndef BRIG_LIB_OWNED_H
#define BRIG_LIB_OWNED_H

#include <brig/brig.h>

#include "base/cleanup.h"

static inline void brig_context_freep(struct brig_context **context)
{
	brig_context_free(*context);
}

static inline void brig_run_freep(struct brig_run **run)
{
	brig_run_free(*run);
}

static inline void brig_result_freep(struct brig_result **result)
{
	brig_result_free(*result);
}
#endif
