/* SPDX-License-Identifier: Apache-2.0 */
/* Timing the steps of a cell: see explain_measure.h. */
#include "cli/run/explain_measure.h"

#include <errno.h>
#include <poll.h>

#include "base/cleanup.h"
#include "lib/build/build_cache.h"
#include "lib/owned.h"

static int run_once(struct brig_context *context, const struct brig_request *request,
		    struct brig_error *err)
{
	_cleanup_(brig_run_freep)
	struct brig_run *run = NULL;
	int r = brig_run_start(context, request, &run, err);

	return r < 0 ? r : brig_run_wait(run, err);
}

int explain_build(struct brig_context *context, const struct brig_request *request,
		  const struct prepared *compile, struct prepared *program, struct brig_error *err)
{
	char key[65];
	int r = build_key(compile, key);

	if (r < 0) {
		return error_errno(err, BRIG_E_INPUT, -r, "cannot read the input files");
	}
	r = build_cache_load(context->cache_dir, key, program, err);
	if (r != 0) {
		return r < 0 ? r : 0;
	}
	/* An ordinary run compiles and leaves the program in the cache. */
	r = run_once(context, request, err);
	if (r < 0) {
		return r;
	}
	r = build_cache_load(context->cache_dir, key, program, err);
	if (r == 0) {
		r = error_set(err, BRIG_E_INPUT, ENOENT,
			      "the code did not compile, or there is no build cache");
		error_remedy(err,
			     "run brig run to see the compiler's errors, and leave out --no-cache");
	}
	return r < 0 ? r : 0;
}

int explain_measure(struct brig_context *context, struct prepared *program, struct phase *ret,
		    struct brig_error *err)
{
	struct phase_options options = { .measure = true };
	int r = phase_start(ret, context, program, &options, err);

	while (r == 0 || r == PHASE_RESTARTED) {
		struct pollfd ready = { .fd = ret->run->epoll, .events = POLLIN };
		poll(&ready, 1, -1);
		r = phase_step(ret, err);
	}
	return r < 0 ? r : 0;
}
