/* SPDX-License-Identifier: Apache-2.0 */
/* Messages from roles to the supervisor: single bytes, handled by a table. */
#include "base/cleanup.h"
#include "serve/supervisor/supervisor_internal.h"

static void on_ready(struct supervisor *s, struct role_child *child)
{
	if (child->state == CHILD_STARTING) {
		role_child_enter(child, CHILD_READY);
	}
	if (s->phase == STARTING && role_set_ready(&s->set)) {
		supervisor_ready(s);
	}
}

static void on_pong(struct supervisor *s, struct role_child *child)
{
	(void)s;
	child->asked_ns = 0;
}

static void on_drained(struct supervisor *s, struct role_child *child)
{
	(void)child;
	if (s->phase == DRAINING) {
		supervisor_end_set(s);
	}
}

/* The operator has decided about the queue: the count of deaths starts again. */
static void on_released(struct supervisor *s, struct role_child *child)
{
	(void)child;
	s->held = false;
	s->quick = 0;
	s->config->hold_queue = 0;
}

static void warden_accepted(struct supervisor *s, struct role_child *child)
{
	(void)s;
	(void)child;
}

/* The front has accepted the tokens, so only a new set has the same tokens in all roles. */
static void warden_refused(struct supervisor *s, struct role_child *child)
{
	(void)child;
	supervisor_drain(s);
}

/* The messages that each role may send; a role that sends any other one cannot be trusted. */
static const struct {
	char message;
	unsigned roles;
	void (*handle)(struct supervisor *s, struct role_child *child);
} messages[] = {
	{ CONTROL_READY, (1u << ROLE_COUNT) - 1, on_ready },
	{ CONTROL_PONG, (1u << ROLE_COUNT) - 1, on_pong },
	{ CONTROL_DRAINED, 1u << ROLE_FRONT, on_drained },
	{ CONTROL_RELEASED, 1u << ROLE_FRONT, on_released },
	{ CONTROL_ACCEPTED, 1u << ROLE_FRONT, supervisor_reload_accepted },
	{ CONTROL_REFUSED, 1u << ROLE_FRONT, supervisor_reload_refused },
	{ CONTROL_ACCEPTED, 1u << ROLE_WARDEN, warden_accepted },
	{ CONTROL_REFUSED, 1u << ROLE_WARDEN, warden_refused },
};

void supervisor_message(void *user, struct role_child *child, char message)
{
	struct supervisor *s = user;

	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		if (messages[i].message == message && (messages[i].roles & (1u << child->role))) {
			messages[i].handle(s, child);
			return;
		}
	}
	role_log(ROLE_ERROR, "unknown-message", "which=%s message=%x", role_name(child->role),
		 (unsigned)(unsigned char)message);
	role_set_kill(&s->set);
}
