/* SPDX-License-Identifier: Apache-2.0 */
/* What roles say to the supervisor: single bytes, by a table. */
#include "base/cleanup.h"
#include "serve/supervisor_internal.h"

static void on_ready(struct supervisor *s, struct role_child *child)
{
	child->ready = true;
	if (s->phase == STARTING && role_set_ready(&s->set)) {
		supervisor_ready(s);
	}
}

static void on_here(struct supervisor *s, struct role_child *child)
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

/* The operator has said what becomes of the queue: deaths are counted anew. */
static void on_released(struct supervisor *s, struct role_child *child)
{
	(void)child;
	s->held = false;
	s->quick = 0;
	s->config->hold_queue = 0;
}

static void warden_taken(struct supervisor *s, struct role_child *child)
{
	(void)s;
	(void)child;
}

/* The front has taken them: then only a new set has the same tokens everywhere. */
static void warden_refused(struct supervisor *s, struct role_child *child)
{
	(void)child;
	supervisor_drain(s);
}

/* What may be said by whom; anything else is a role that is no longer ours. */
static const struct {
	char word;
	unsigned roles;
	void (*take)(struct supervisor *s, struct role_child *child);
} words[] = {
	{ CONTROL_READY, (1u << ROLE_COUNT) - 1, on_ready },
	{ CONTROL_HERE, (1u << ROLE_COUNT) - 1, on_here },
	{ CONTROL_DRAINED, 1u << ROLE_FRONT, on_drained },
	{ CONTROL_RELEASED, 1u << ROLE_FRONT, on_released },
	{ CONTROL_TAKEN, 1u << ROLE_FRONT, supervisor_reload_taken },
	{ CONTROL_REFUSED, 1u << ROLE_FRONT, supervisor_reload_refused },
	{ CONTROL_TAKEN, 1u << ROLE_WARDEN, warden_taken },
	{ CONTROL_REFUSED, 1u << ROLE_WARDEN, warden_refused },
};

void supervisor_word(void *user, struct role_child *child, char word)
{
	struct supervisor *s = user;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i].word == word && (words[i].roles & (1u << child->role))) {
			words[i].take(s, child);
			return;
		}
	}
	role_log(ROLE_ERROR, "unknown-word", "which=%s word=%x", role_name(child->role),
		 (unsigned)(unsigned char)word);
	role_set_kill(&s->set);
}
