/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig serve --check`: the checks that a start would make before it begins, and the defaults of
 * settings that are not set. Each default comes from the part that defines it.
 */
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "front/front.h"
#include "ledger/role/ledger_role.h"
#include "serve/config.h"
#include "serve/config/config_front.h"
#include "serve/listen/listen.h"

#define NS_PER_MS UINT64_C(1000000)

static void complete_front(struct serve_config *config)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct front_options options = { 0 };

	config_to_front(config, &options);
	front_options_complete(&options, processors > 0 ? (unsigned)processors : 1);
	config_of_front(&options, config);
}

static void complete_sessions(struct serve_config *config)
{
	struct engine_options options = {
		.sessions_max = (unsigned)config->sessions,
		.sessions_per_tenant = (unsigned)config->sessions_per_tenant,
		.idle_ns = config->session_idle_ns,
		.idle_max_ns = config->session_idle_max_ns,
		.life_max_ns = config->session_life_max_ns,
	};

	engine_options_complete(&options);
	config->sessions = options.sessions_max;
	config->sessions_per_tenant = options.sessions_per_tenant;
	config->session_idle_ns = options.idle_ns;
	config->session_idle_max_ns = options.idle_max_ns;
	config->session_life_max_ns = options.life_max_ns;
}

static void complete_warm(struct serve_config *config)
{
	struct brig_warm_options options = {
		.cells_max = (unsigned)config->warm_cells,
		.pools_max = (unsigned)config->warm_pools,
		.memory_bytes = config->warm_memory_bytes,
		.clones_max = (unsigned)config->warm_clones,
		.age_ns = config->warm_age_ns,
	};

	engine_warm_complete(&options);
	config->warm_cells = options.cells_max;
	config->warm_pools = options.pools_max;
	config->warm_memory_bytes = options.memory_bytes;
	config->warm_clones = options.clones_max;
	config->warm_age_ns = options.age_ns;
}

static void complete_results(struct serve_config *config)
{
	struct ledger_options options = {
		.result_age_ms = config->retention_ns / NS_PER_MS,
		.history_age_ms = config->history_ns / NS_PER_MS,
		.result_max = config->result_bytes,
		.result_total_max = config->results_bytes,
	};

	ledger_options_complete(&options);
	config->retention_ns = options.result_age_ms * NS_PER_MS;
	config->history_ns = options.history_age_ms * NS_PER_MS;
	config->result_bytes = options.result_max;
	config->results_bytes = options.result_total_max;
}

void config_complete(struct serve_config *config)
{
	complete_front(config);
	complete_sessions(config);
	complete_warm(config);
	complete_results(config);
}

/* Are the tokens valid? The front reads them again. */
static int check_tokens(const struct buf *text, struct brig_error *err)
{
	_cleanup_(tokens_done)
	struct tokens tokens = { 0 };

	return text->size > 0 ? tokens_parse(text->data, text->size, &tokens, err) : 0;
}

int config_check(struct serve_config *config, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	int r = config_prepare(config, &text, err);

	if (r < 0) {
		return r;
	}
	r = listen_check_places(config, err);
	if (r < 0) {
		return r;
	}
	r = check_tokens(&text, err);
	if (r < 0) {
		return r;
	}
	config_complete(config);
	return 0;
}
