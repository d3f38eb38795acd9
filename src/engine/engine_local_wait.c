/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run whose cell is being made waits for it, as starting another would take longer. The warden
 * has one thread for everybody: so the call waits here, not the thread in libbrig.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/block.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/engine_local.h"
#include "engine/engine_pack.h"
#include "lib/context.h"

struct local_wait {
	struct engine_run *next, **link;
	struct engine_unpacked asked; /* in the block */
	char *block;
	struct block *shared; /* a reference; or NULL */
	struct loop_timer patience;
};

static void wait_free(struct local_wait *wait)
{
	if (wait) {
		engine_unpacked_done(&wait->asked);
		free(wait->block);
		block_unref(wait->shared);
		free(wait);
	}
}

bool local_wait_is_worth(struct local *local, const struct engine_call *call)
{
	struct brig_request request = call->run;

	request.size = sizeof(request);
	request.tenant = call->tenant;
	return context_worth_waiting(local->context, &request);
}

void local_wait_drop(struct engine_run *run)
{
	struct local_wait *wait = TAKE_PTR(run->wait);

	if (!wait) {
		return;
	}
	if (run->local->look_next == run) {
		run->local->look_next = wait->next;
	}
	*wait->link = wait->next;
	if (wait->next) {
		wait->next->wait->link = wait->link;
	} else {
		run->local->waiting_end = wait->link;
	}
	loop_timer_clear(&wait->patience);
	wait_free(wait);
}

bool local_wait_over(struct engine_run *run)
{
	struct local_wait *wait = run->wait;
	int r = local_begin(run, &wait->asked.call, &run->error);

	local_wait_drop(run);
	if (r < 0) {
		run->failed = true;
		local_finish(run);
		return false;
	}
	if (run->paused) {
		brig_run_pause(run->run, true);
	}
	return true;
}

static void impatient(void *user)
{
	local_wait_over(user);
}

void local_wait_look(struct local *local)
{
	/*
	 * In turn: the first of those who want the same kind of cell takes it. Who wants another
	 * kind, of another tenant too, does not wait for them. One that begins may fail, and
	 * whoever is told may forget others: so the next one is kept where dropping it moves it on.
	 */
	for (struct engine_run *run = local->waiting; run; run = local->look_next) {
		local->look_next = run->wait->next;
		if (!local_wait_is_worth(local, &run->wait->asked.call)) {
			local_wait_over(run);
		}
	}
	local->look_next = NULL;
}

int local_wait(struct engine_run *run, const struct engine_call *call, struct brig_error *err)
{
	struct local *local = run->local;
	struct local_wait *wait = calloc(1, sizeof(*wait));
	size_t size = 0;
	int r = wait ? engine_pack(call, &wait->block, &size) : -ENOMEM;

	if (r == 0) {
		r = engine_unpack(wait->block, size, call->block, &wait->asked);
	}
	if (r == 0) {
		wait->shared = call->block ? block_ref(call->block) : NULL;
		wait->patience = (struct loop_timer){ .due = impatient, .user = run };
		r = loop_timer_set(local->loop, &wait->patience,
				   clock_now_ns() + local->patience_ns);
	}
	if (r < 0) {
		wait_free(wait);
		return error_errno(err, BRIG_E_SYSTEM, -r, "the call cannot wait for its cell");
	}
	wait->link = local->waiting_end;
	*wait->link = run;
	local->waiting_end = &wait->next;
	run->wait = wait;
	return 0;
}
