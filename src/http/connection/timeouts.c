/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeouts of a connection: see timeouts.h. Bodies and answers must move at BYTES_PER_SECOND on
 * average: every byte moves the deadline a little, and never further than the whole timeout from
 * now. So neither one byte every few seconds nor a burst in advance helps.
 */
#include "http/connection/timeouts.h"

#include "base/clock.h"
#include "http/connection/connection.h"

#define NS_PER_SECOND    1000000000ull
#define BYTES_PER_SECOND 1024
#define BODY_TIMEOUT_NS  (10 * NS_PER_SECOND)
#define LINGER_NS        (2 * NS_PER_SECOND)

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void set(struct http_connection *c, uint64_t at_ns)
{
	/* Without its deadline a connection could stay forever. */
	if (c->state != CONNECTION_BROKEN &&
	    loop_timer_set(c->server->loop, &c->timer, at_ns) < 0) {
		connection_break(c);
	}
}

static uint64_t body_timeout_ns(const struct http_connection *c)
{
	return earlier(c->server->options.limits.body_ns, BODY_TIMEOUT_NS);
}

void timeouts_enter(struct http_connection *c)
{
	const struct http_limits *limits = &c->server->options.limits;

	c->since_ns = clock_now_ns();
	switch ((enum connection_state)c->state) {
	case CONNECTION_IDLE:
		set(c, c->since_ns + limits->idle_ns);
		break;
	case CONNECTION_OPENING:
	case CONNECTION_HEAD:
		set(c, c->since_ns + limits->head_ns);
		break;
	case CONNECTION_BODY:
		c->slack_ns = c->since_ns + body_timeout_ns(c);
		set(c, earlier(c->since_ns + limits->body_ns, c->slack_ns));
		break;
	case CONNECTION_WORKING:
		loop_timer_clear(&c->timer);
		break;
	case CONNECTION_STREAMING:
	case CONNECTION_HELD:
	case CONNECTION_FLUSHING:
		if (outbox_waiting(&c->outbox) == 0) {
			loop_timer_clear(&c->timer);
		}
		break;
	case CONNECTION_ENDING:
		set(c, c->since_ns + limits->write_ns);
		break;
	case CONNECTION_LINGERING:
		set(c, c->since_ns + LINGER_NS);
		break;
	case CONNECTION_ACCEPTED:
	case CONNECTION_BROKEN:
	case CONNECTION_STATES:
		break;
	}
}

static void move_slack(struct http_connection *c, size_t size, uint64_t timeout_ns)
{
	uint64_t earned = size * (NS_PER_SECOND / BYTES_PER_SECOND);

	c->slack_ns = earlier(c->slack_ns + earned, clock_now_ns() + timeout_ns);
}

void timeouts_came(struct http_connection *c, size_t size)
{
	move_slack(c, size, body_timeout_ns(c));
	set(c, earlier(c->since_ns + c->server->options.limits.body_ns, c->slack_ns));
}

void timeouts_taken(struct http_connection *c, size_t size)
{
	uint64_t timeout_ns = c->server->options.limits.write_ns;

	if (!connection_in(c, STATE_BIT(CONNECTION_STREAMING) | STATE_BIT(CONNECTION_HELD) |
				      STATE_BIT(CONNECTION_FLUSHING))) {
		return;
	}
	if (outbox_waiting(&c->outbox) == 0) {
		loop_timer_clear(&c->timer);
	} else if (c->timer.place == 0) {
		c->slack_ns = clock_now_ns() + timeout_ns;
		set(c, c->slack_ns);
	} else if (size > 0) {
		move_slack(c, size, timeout_ns);
		set(c, c->slack_ns);
	}
}
