/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: the configuration is read again, sent to the front, and applied or rejected. */
#include "serve/supervisor/supervisor_internal.h"

#include <stdio.h>

#include "base/clock.h"
#include "serve/supervisor/notify.h"

/*
 * Applies the new configuration; if more has changed than the front can apply, the roles are
 * restarted.
 */
static void apply(struct supervisor *s)
{
	reload_take(&s->reload, s->config, &s->tokens);
	s->quick = 0;
	/* A warden with the old list would still accept tokens that were removed. */
	s->reload.restart |= reload_update_warden(&s->tokens, &s->set) < 0;
	role_log_open("supervisor", (enum role_level)s->config->log_level);
	role_log(ROLE_NOTICE, "reloaded", "restart=%s", s->reload.restart ? "true" : "false");
	if (s->reload.restart) {
		supervisor_drain(s);
	} else {
		notify_send("READY=1");
	}
}

static void refuse_reload(struct supervisor *s, const char *cause)
{
	role_log(ROLE_ERROR, "reload-refused", "cause=%s", cause);
	if (s->phase == RUNNING) {
		notify_send("READY=1");
	}
}

void supervisor_reload(struct supervisor *s)
{
	struct reload *reload = &s->reload;
	struct brig_error error = { 0 };
	char text[96];

	reload->again = reload->waits;
	if (s->stop || !s->options->reload || reload->waits) {
		return;
	}
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lu",
		 (unsigned long)(clock_now_ns() / 1000));
	notify_send(text);
	if (reload_read(reload, s->options, &s->listeners, &error) < 0) {
		refuse_reload(s, error.message);
		return;
	}
	supervisor_complete(s, &reload->config);
	role_log(ROLE_NOTICE, "reloading", NULL);
	reload_compare(reload, s->config, &s->tokens);
	if (!reload->news || s->phase != RUNNING) {
		reload->restart = true;
		apply(s);
	} else if (reload_offer(reload, &s->set, &error) < 0) {
		reload_drop(reload);
		refuse_reload(s, error.message);
	}
}

/* The front has accepted an update. If the next one cannot be sent, only a new front has both. */
static void go_on(struct supervisor *s)
{
	struct brig_error error = { 0 };

	if (!s->reload.news) {
		apply(s);
	} else if (reload_offer(&s->reload, &s->set, &error) < 0) {
		role_log(ROLE_WARNING, "reload-restarts", "cause=%s", error.message);
		s->reload.restart = true;
		apply(s);
	}
}

/*
 * Invalid tokens are the operator's mistake: nothing has changed yet, and nothing will. A
 * certificate was checked before it was sent: the failure is the front's, and a new front starts
 * with the certificate.
 */
static void front_refused(struct supervisor *s)
{
	if (s->reload.waits == RELOAD_TOKENS) {
		reload_drop(&s->reload);
		refuse_reload(s, "the tokens are invalid; the front's log line names the place");
	} else {
		s->reload.restart = true;
		apply(s);
	}
}

static void answered(struct supervisor *s, void (*answer)(struct supervisor *s))
{
	if (s->reload.waits) {
		answer(s);
	}
	if (s->reload.again && !s->reload.waits) {
		supervisor_reload(s);
	}
}

void supervisor_reload_accepted(struct supervisor *s, struct role_child *child)
{
	(void)child;
	answered(s, go_on);
}

void supervisor_reload_refused(struct supervisor *s, struct role_child *child)
{
	(void)child;
	answered(s, front_refused);
}
