/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-ledger: SQLite and the audit chain. It has its directory and a line to the front; what it
 * gave up is in role/seal.c, and it did so before it opened the database.
 */
#include "base/cleanup.h"
#include "ledger/ledger_role.h"
#include "serve/role_process.h"

#define NS_PER_MS 1000000

static void on_note(void *user, bool bad, const char *event, const char *text)
{
	(void)user;
	role_log(bad ? ROLE_ERROR : ROLE_INFO, event, "text=%s", text);
}

static void parts_done(struct ledger_role **ledger)
{
	ledger_role_free(*ledger);
}

int role_ledger(struct role_process *process, struct brig_error *err)
{
	_cleanup_(parts_done)
	struct ledger_role *ledger = NULL;
	const struct serve_config *config = &process->config;
	struct ledger_options options = {
		.result_age_ms = config->retention_ns / NS_PER_MS,
		.history_age_ms = config->history_ns / NS_PER_MS,
		.result_max = config->result_bytes,
		.result_total_max = config->results_bytes,
		.note = on_note,
		.gone = role_peer_gone,
		.user = process,
	};
	int r = role_seal(process, FD_LEDGER_DIRECTORY, 0, err);

	r = r < 0 ? r
		  : ledger_role_new(process->loop, FD_LEDGER_FRONT, FD_LEDGER_DIRECTORY, &options,
				    &ledger, err);
	return r < 0 ? r : role_run(process, NULL, NULL, err);
}
