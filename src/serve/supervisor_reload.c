/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: a new configuration is read, shown to the front, and put in force or refused. */
#include "serve/supervisor_internal.h"

#include <stdio.h>

#include "base/clock.h"
#include "serve/notify.h"

/* What was read is in force, and with more in it than tokens the roles begin anew. */
static void apply(struct supervisor *s)
{
	reload_take(&s->reload, s->config, &s->tokens);
	s->quick = 0;
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
	if (!reload_has_tokens(reload, s->config, &s->tokens) || s->phase != RUNNING) {
		reload->restart = true;
		apply(s);
	} else if (reload_offer(reload, &s->set.children[ROLE_FRONT], &error) < 0) {
		reload_drop(reload);
		refuse_reload(s, error.message);
	}
}

void supervisor_reload_taken(struct supervisor *s, struct role_child *child)
{
	(void)child;
	if (s->reload.waits) {
		apply(s);
	}
	if (s->reload.again) {
		supervisor_reload(s);
	}
}

void supervisor_reload_refused(struct supervisor *s, struct role_child *child)
{
	(void)child;
	if (s->reload.waits) {
		reload_drop(&s->reload);
		refuse_reload(s, "the tokens are wrong; the front's line says where");
	}
	if (s->reload.again) {
		supervisor_reload(s);
	}
}
