/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that take time: timers, cancellation. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "fixtures.h"

#define MS 1000000u

struct steps {
	struct fixtures *fixtures;
	struct mcp_call *call;
	struct loop_timer timer;
	unsigned count;
	void (*step)(struct steps *steps);
};

static void steps_wait(struct steps *steps, unsigned ms)
{
	loop_timer_set(steps->fixtures->loop, &steps->timer, clock_now_ns() + (uint64_t)ms * MS);
}

static void steps_end(struct steps *steps, const char *text)
{
	struct mcp_call *call = steps->call;

	loop_timer_clear(&steps->timer);
	free(steps);
	mcp_call_finish_text(call, false, "%s", text);
}

static void steps_due(void *user)
{
	struct steps *steps = user;

	steps->count++;
	steps->step(steps);
}

static void steps_cancelled(void *user)
{
	struct steps *steps = user;

	steps->fixtures->cancelled++;
	steps_end(steps, "");
}

static struct steps *steps_new(void *user, struct mcp_call *call, void (*step)(struct steps *steps))
{
	struct steps *steps = calloc(1, sizeof(*steps));

	steps->fixtures = user;
	steps->call = call;
	steps->step = step;
	steps->timer.due = steps_due;
	steps->timer.user = steps;
	mcp_call_on_cancel(call, steps_cancelled, steps);
	return steps;
}

static void progress_step(struct steps *steps)
{
	mcp_call_progress(steps->call, steps->count * 50.0, 100, "working");
	if (steps->count == 2) {
		steps_end(steps, "Tool with progress executed successfully");
	} else {
		steps_wait(steps, 50);
	}
}

void step_progress(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)arguments;
	progress_step(steps_new(user, call, progress_step));
}

static void logging_step(struct steps *steps)
{
	static const char *const texts[] = { "Tool execution started", "Tool processing data",
					     "Tool execution completed" };

	mcp_call_log(steps->call, MCP_INFO, "fixtures", json_string(texts[steps->count]));
	if (steps->count == 2) {
		steps_end(steps, "Tool with logging executed successfully");
	} else {
		steps_wait(steps, 50);
	}
}

void step_logging(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)arguments;
	logging_step(steps_new(user, call, logging_step));
}

static void reconnection_step(struct steps *steps)
{
	steps_end(steps, "Reconnection test completed successfully");
}

void step_reconnection(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)arguments;
	steps_wait(steps_new(user, call, reconnection_step), 300);
	mcp_call_release(call);
}

static void slow_step(struct steps *steps)
{
	steps_end(steps, "slow but sure");
}

void step_slow(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct steps *steps = steps_new(user, call, slow_step);

	mcp_call_progress(call, 0, 1, NULL);
	steps_wait(steps, (unsigned)json_integer_value(json_object_get(arguments, "ms")));
}
