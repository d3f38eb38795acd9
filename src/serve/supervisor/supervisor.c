/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor. Theory of operation:
 *
 *   brig serve
 *     |  makes the listening sockets and the state directory's lock, then starts, as one set,
 *     |--- brig-front   the listening sockets; a line to the warden, a line to the ledger
 *     |--- brig-broker  as root: acts that need root; a line to the warden
 *     |--- brig-warden  cells
 *     '--- brig-ledger  its directory
 *
 * Deaths: a role that dies takes the set with it, because its peers have lost the state that they
 * shared; the set is started again, and recovery is part of each start. Clients that connect
 * meanwhile wait in the queues of the listening sockets. When the supervisor dies, by any signal,
 * the kernel kills the roles (pdeathsig), and with the warden its cells. The lock is free when the
 * last role has ended.
 *
 * Privileges: it keeps those of the user who starts it, because the broker needs them; but it reads
 * no input from outside. From roles it reads single bytes, handled by a table.
 */
#include <string.h>

#include "base/cleanup.h"
#include "serve/supervisor/supervisor_internal.h"

static int open_all(struct supervisor *s, struct brig_error *err)
{
	int r = config_prepare(s->config, &s->tokens, err);

	/* The lock before the socket: without it, the socket may belong to another server. */
	r = r < 0 ? r
		  : state_open(&s->state, s->config->dev ? NULL : s->config->state_dir,
			       seal_id(ROLE_LEDGER), err);
	if (r == 0 && s->config->listen.count == 0) { /* a trial: next to its state */
		r = strlist_addf(&s->config->listen, "unix:%s/brig.sock", s->state.path);
		r = r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "listen") : 0;
	}
	r = r < 0 ? r : listeners_open(&s->listeners, s->config, err);
	return r < 0 ? r : supervisor_watch(s, err);
}

static void close_all(struct supervisor *s)
{
	loop_timer_clear(&s->tick);
	loop_timer_clear(&s->phase_timer);
	loop_remove(s->signals_source);
	close_fd(&s->signals);
	listeners_done(&s->listeners);
	state_done(&s->state);
	loop_free(s->loop);
	if (s->reload.waits) {
		reload_drop(&s->reload);
	}
	if (s->tokens.data) {
		explicit_bzero(s->tokens.data, s->tokens.size);
	}
	buf_done(&s->tokens);
}

static void log_places(const struct supervisor *s)
{
	for (unsigned i = 0; i < s->listeners.count; i++) {
		const char *place = s->listeners.items[i].place;
		role_log(ROLE_NOTICE, "listening", "place=%s", place);
		if (strncmp(place, "unix:", 5) != 0 && !s->config->tokens) {
			role_log(ROLE_WARNING, "no-tokens", "place=%s remedy=%s", place,
				 "TCP accepts no client without --tokens FILE");
		}
	}
}

int serve(const struct serve_options *options, struct brig_error *err)
{
	struct supervisor s = { .options = options,
				.config = options->config,
				.signals = -1,
				.state = { .dir = -1, .lock = -1, .ledger = -1 },
				.err = err };

	role_log_open("supervisor", (enum role_level)s.config->log_level);
	int r = open_all(&s, err);
	if (r == 0) {
		log_places(&s);
		supervisor_start(&s);
		r = loop_run(s.loop);
		r = r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "event loop") : s.result;
		role_log(ROLE_NOTICE, "stopped", NULL);
	}
	close_all(&s);
	return r;
}
