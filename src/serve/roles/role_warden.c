/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-warden: owns cells, pools and sessions. The privileges that it keeps, and the reasons, are
 * at the top of role/seal.c. It parses only the front's records (engine/remote/engine_messages.h);
 * data of clients is put into a cell unchanged.
 */
#include <errno.h>
#include <sodium.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker_client/broker_client.h"
#include "engine/engine.h"
#include "kernel/cgroup/cgroup.h"
#include "serve/roles/role_process.h"
#include "serve/roles/warden_consent.h"

#define SESSIONS_USUAL   256
#define FILES_OF_SESSION 24   /* listed in engine_local_room.c */
#define FILES_BESIDES    2048 /* runs, cells that are kept ready */

struct warden_parts {
	struct engine *engine;
	struct engine_service *service;
	struct broker broker;
	struct warden_consent consent;
};

static void parts_done(struct warden_parts *parts)
{
	engine_service_free(parts->service);
	engine_free(parts->engine);
	warden_consent_done(&parts->consent);
}

/*
 * Ends at once: no run may report a failure that is only ours. Its runs are reported as `lost`,
 * which is correct.
 */
static _Noreturn void broker_gone(void)
{
	role_log(ROLE_WARNING, "peer-gone", "why=%s", "the broker has ended");
	_exit(1);
}

/* A warden that has stayed root needs no broker. */
static const struct broker *keep_broker(const struct role_process *process,
					struct warden_parts *parts)
{
	if (!process->config.broker) {
		return NULL;
	}
	if (!process->own_root) {
		close(FD_WARDEN_BROKER);
		return NULL;
	}
	parts->broker = (struct broker){ .line = FD_WARDEN_BROKER, .gone = broker_gone };
	return &parts->broker;
}

/* From an execution, or a session, to the control group of its cell: *-CELL. */
static void log_begun(const struct engine_begun *begun)
{
	if (begun->id) {
		role_log(ROLE_INFO, "run.begun", "id=%s cell=%s session=%s tenant=%s", begun->id,
			 begun->cell, begun->session, begun->tenant);
	} else {
		role_log(ROLE_INFO, "session.begun", "session=%s cell=%s tenant=%s", begun->session,
			 begun->cell, begun->tenant);
	}
}

static int open_engine(struct role_process *process, struct warden_parts *parts,
		       struct brig_error *err)
{
	const struct serve_config *config = &process->config;
	struct brig_warm_options warm = {
		.size = sizeof(warm),
		.cells_max = (unsigned)config->warm_cells,
		.pools_max = (unsigned)config->warm_pools,
		.memory_bytes = config->warm_memory_bytes,
		.clones_max = (unsigned)config->warm_clones,
		.age_ns = config->warm_age_ns,
	};
	struct engine_options options = {
		.context = {
			.size = sizeof(options.context),
			.config_dir = config->config_dir,
			.cache_dir = config->cache_dir,
			.warm = config->warm ? &warm : NULL,
		},
		.sessions_max = (unsigned)config->sessions,
		.sessions_per_tenant = (unsigned)config->sessions_per_tenant,
		.idle_ns = config->session_idle_ns,
		.idle_max_ns = config->session_idle_max_ns,
		.life_max_ns = config->session_life_max_ns,
		.broker = keep_broker(process, parts),
		.begun = log_begun,
	};
	return engine_local_new(process->loop, &options, &parts->engine, err);
}

/* 0: the hard limit is enough. Root can raise it. */
static unsigned files_wanted(const struct serve_config *config)
{
	uint64_t sessions = config->sessions ? config->sessions : SESSIONS_USUAL;
	uint64_t wanted = sessions * FILES_OF_SESSION + FILES_BESIDES;
	struct rlimit limit = { 0 };

	return getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max >= wanted ? 0
										: (unsigned)wanted;
}

/*
 * Without control groups cells have weaker limits. Each result reports it; the operator should know
 * it too.
 */
static void look_for_groups(void)
{
	struct cgroup_manager *groups = NULL;

	if (cgroup_manager_new(NULL, &groups, NULL) < 0) {
		return; /* the engine reports the reason */
	}
	if (cgroup_manager_layers(groups)) {
		role_log(ROLE_INFO, "groups", "means=%s where=%s", cgroup_manager_means(groups),
			 cgroup_manager_where(groups));
	} else {
		role_log(ROLE_WARNING, "no-groups", "cause=%s remedy=%s",
			 cgroup_manager_why(groups), "see brig doctor, run in the same place");
	}
	cgroup_manager_free(groups);
}

/* New tokens may change who can give a person's consent. */
static int on_tokens(void *user, int block)
{
	struct warden_parts *parts = user;
	struct brig_error error = { 0 };
	int r = warden_consent_take(&parts->consent, block, &error);

	if (r < 0) {
		role_log(ROLE_ERROR, "tokens-refused", "cause=%s", error.message);
	}
	return r;
}

static int open_consent(struct role_process *process, struct warden_parts *parts,
			struct brig_error *err)
{
	if (sodium_init() < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOSYS, "cannot initialise libsodium");
	}
	parts->consent.uids = &process->config.consent_uids;
	int r = warden_consent_take(&parts->consent, FD_WARDEN_TOKENS, err);
	close(FD_WARDEN_TOKENS);
	return r;
}

int role_warden(struct role_process *process, struct brig_error *err)
{
	_cleanup_(parts_done)
	struct warden_parts parts = { 0 };
	int r = open_consent(process, &parts, err);

	r = r < 0 ? r : role_seal(process, -1, files_wanted(&process->config), err);

	if (r == 0) {
		look_for_groups();
	}
	r = r < 0 ? r : open_engine(process, &parts, err);
	if (r < 0) {
		return r;
	}
	r = engine_service_new(process->loop, FD_WARDEN_FRONT, parts.engine, role_peer_gone,
			       process, &parts.service);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "the line to the front");
	}
	engine_service_consent(parts.service, warden_may_consent, &parts.consent);
	process->tokens = on_tokens;
	return role_run(process, NULL, &parts, err);
}
