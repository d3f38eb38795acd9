/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run whose cell is being made waits for it, because starting another cell would take longer. The
 * warden has one thread for all tenants: so the call waits here, and the thread does not wait in
 * libbrig.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/engine_pack.h"
#include "engine/local/engine_local.h"
#include "lib/context.h"

struct local_wait {
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

static struct engine_run *next_waiting(const struct engine_run *run)
{
	return LIST_NEXT(run, struct engine_run, waiting_node);
}

void local_wait_drop(struct engine_run *run)
{
	struct local_wait *wait = TAKE_PTR(run->wait);

	if (!wait) {
		return;
	}
	if (run->local->look_next == run) {
		run->local->look_next = next_waiting(run);
	}
	list_remove(&run->local->waiting, &run->waiting_node);
	loop_timer_clear(&wait->patience);
	wait_free(wait);
}

bool local_wait_over(struct engine_run *run)
{
	struct local_wait *wait = run->wait;
	int r = local_begin(run, &wait->asked.call, &run->error);

	local_wait_drop(run);
	if (r < 0) {
		local_call_enter(run, CALL_FAILED);
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

static void look(void *user)
{
	local_wait_look(user);
}

void local_wait_look_soon(void *user)
{
	struct local *local = user;

	if (!local->look.place && LIST_FIRST(&local->waiting, struct engine_run, waiting_node)) {
		local->look.due = look;
		local->look.user = local;
		/* Without a timer they still have their patience. */
		(void)loop_timer_set(local->loop, &local->look, clock_now_ns());
	}
}

void local_wait_look(struct local *local)
{
	loop_timer_clear(&local->look);
	/*
	 * In order: the first of those that need the same kind of cell gets it. Runs that need
	 * another kind, or belong to another tenant, do not wait for them. A run that begins may
	 * fail, and its callback may forget other calls: so the next one is kept in a field that
	 * local_wait_drop() updates.
	 */
	local->look_next = LIST_FIRST(&local->waiting, struct engine_run, waiting_node);
	while (local->look_next) {
		struct engine_run *run = local->look_next;

		local->look_next = next_waiting(run);
		if (!local_wait_is_worth(local, &run->wait->asked.call)) {
			local_wait_over(run);
		}
	}
}

/* Keeps the call, and sets its deadline. */
static int wait_begin(struct local_wait *wait, struct engine_run *run,
		      const struct engine_call *call)
{
	struct local *local = run->local;
	size_t size = 0;
	int r = engine_pack(call, &wait->block, &size);

	if (r < 0) {
		return r;
	}
	r = engine_unpack(wait->block, size, call->block, &wait->asked);
	if (r < 0) {
		return r;
	}
	wait->shared = call->block ? block_ref(call->block) : NULL;
	wait->patience = (struct loop_timer){ .due = impatient, .user = run };
	return loop_timer_set(local->loop, &wait->patience, clock_now_ns() + local->patience_ns);
}

int local_wait(struct engine_run *run, const struct engine_call *call, struct brig_error *err)
{
	struct local *local = run->local;
	struct local_wait *wait = calloc(1, sizeof(*wait));
	int r = wait ? wait_begin(wait, run, call) : -ENOMEM;

	if (r < 0) {
		wait_free(wait);
		return error_errno(err, BRIG_E_SYSTEM, -r, "the call cannot wait for its cell");
	}
	list_append(&local->waiting, &run->waiting_node);
	run->wait = wait;
	local_call_enter(run, CALL_WAITING);
	return 0;
}
