/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for a context's pools. */
#include <errno.h>

#include "lib/context.h"
#include "lib/warm/warm.h"

int brig_context_warm(struct brig_context *context, const struct brig_request *like, unsigned cells,
		      struct brig_error *error)
{
	if (!context->warm) {
		return error_set(error, BRIG_E_INPUT, ENOTSUP, "the context has no pools");
	}
	if (cells > WARM_CELLS_MAX) {
		return error_set(error, BRIG_E_INPUT, ERANGE, "a pool holds at most %d cells",
				 WARM_CELLS_MAX);
	}
	struct warm_pool *pool = warm_pool_for(context->warm, like, error);
	return pool ? warm_pool_wait(pool, cells, error) : -ENOTSUP;
}

int brig_context_fd(const struct brig_context *context)
{
	return context->warm ? context->warm->epoll : -1;
}

void brig_context_step(struct brig_context *context)
{
	if (context->warm) {
		warm_step(context->warm, WARM_ALL_PIECES);
	}
}
