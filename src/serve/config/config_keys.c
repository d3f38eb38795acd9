/* SPDX-License-Identifier: Apache-2.0 */
/* Every key of serve.json, and its meaning. brig-serve(1) has the same list. */
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/config.h"

#define SECOND       UINT64_C(1000000000)
#define DAY          (86400 * SECOND)
#define PLACE(field) offsetof(struct serve_config, field)

#define TEXT(name, field, about)                                                                   \
	{                                                                                          \
		name, CONFIG_TEXT, UNIT_COUNT, PLACE(field), 0, 0, false, about                    \
	}
#define LIST(name, field, most, about)                                                             \
	{                                                                                          \
		name, CONFIG_LIST, UNIT_COUNT, PLACE(field), 0, most, false, about                 \
	}
#define FLAG(name, field, about)                                                                   \
	{                                                                                          \
		name, CONFIG_FLAG, UNIT_COUNT, PLACE(field), 0, 0, false, about                    \
	}
#define COUNT(name, field, most, about)                                                            \
	{                                                                                          \
		name, CONFIG_NUMBER, UNIT_COUNT, PLACE(field), 0, most, false, about               \
	}
#define BYTES(name, field, most, about)                                                            \
	{                                                                                          \
		name, CONFIG_NUMBER, UNIT_BYTES, PLACE(field), 0, most, false, about               \
	}
#define TIME(name, field, most, about)                                                             \
	{                                                                                          \
		name, CONFIG_NUMBER, UNIT_TIME, PLACE(field), 0, most, false, about                \
	}

const struct config_key config_keys[] = {
	LIST("listen", listen, 16, "where to listen: unix:PATH or ADDRESS:PORT"),
	{ "socket_mode", CONFIG_MODE, UNIT_COUNT, PLACE(socket_mode), 0, 0777, false,
	  "mode of unix sockets, octal" },
	TEXT("socket_group", socket_group, "group of unix sockets"),
	FLAG("insecure_bind", insecure_bind, "allow addresses that a network can reach, in clear"),
	TEXT("state_dir", state_dir, "directory for the state"),
	TEXT("cache_dir", cache_dir, "directory for compiled programs"),
	TEXT("tokens", tokens, "file with the tokens, relative to the configuration directory"),
	LIST("users", users, 256,
	     "users that may use unix sockets, besides root and the service's user"),
	LIST("consent_users", consent_users, 256,
	     "those of them that may give a person's consent in a request"),
	LIST("hosts", hosts, 64, "host names allowed for TCP, besides the loopback's"),
	LIST("origins", origins, 64, "web origins that may send requests"),
	{ "log_level", CONFIG_LEVEL, UNIT_COUNT, PLACE(log_level), 0, 0, false,
	  "error, warning, notice, info or debug" },

	TEXT("tls.certificate", tls_certificate,
	     "file with the certificate and its chain, PEM; TCP is encrypted"),
	TEXT("tls.key", tls_key, "file with its key, PEM"),
	{ "tls.print", CONFIG_TEXT, UNIT_COUNT, PLACE(tls_print), 0, 0, true, "" },

	BYTES("http.head_bytes", head_bytes, 1 << 20, "largest head of a request"),
	COUNT("http.headers", headers, 1000, "most headers of a request"),
	BYTES("http.body_bytes", body_bytes, UINT64_C(1) << 30, "largest body of a request"),
	BYTES("http.json_bytes", json_bytes, UINT64_C(64) << 20, "largest JSON body"),
	BYTES("http.file_bytes", file_bytes, UINT64_C(64) << 20, "largest file that is a body"),
	BYTES("http.bodies_bytes", bodies_bytes, UINT64_C(1) << 36, "all bodies together"),
	BYTES("http.tenant_body_bytes", tenant_body_bytes, UINT64_C(1) << 36,
	      "bodies of one tenant's requests under way"),
	BYTES("http.tenant_answer_bytes", tenant_answer_bytes, UINT64_C(1) << 36,
	      "one tenant's answers that wait to be taken"),
	BYTES("http.queued_bytes", queued_bytes, UINT64_C(1) << 36,
	      "requests that were accepted and have not begun"),
	BYTES("http.tenant_queued_bytes", tenant_queued_bytes, UINT64_C(1) << 36,
	      "those of one tenant"),
	COUNT("http.connections", connections, 1000000, "most connections"),
	COUNT("http.connections_per_peer", connections_per_peer, 1000000,
	      "most connections of one user or address"),
	TIME("http.head_timeout", head_ns, 3600 * SECOND, "for the head of a request"),
	TIME("http.body_timeout", body_ns, 3600 * SECOND, "for the body of a request"),
	TIME("http.idle_timeout", idle_ns, DAY, "between two requests"),
	TIME("http.write_timeout", write_ns, 3600 * SECOND, "for a client that reads nothing"),

	COUNT("runs.max", runs, 100000, "runs at once"),
	COUNT("runs.reserve", runs_reserve, 100000,
	      "more runs at once, for tenants that have none running"),
	COUNT("runs.per_tenant", runs_per_tenant, 100000, "runs at once of one tenant"),
	COUNT("runs.queue", queue, 1000000, "runs that wait"),
	COUNT("runs.queue_per_tenant", queue_per_tenant, 1000000, "runs of one tenant that wait"),

	TIME("runs.queue_timeout", queue_ns, DAY, "longest time that a caller waits in the queue"),
	BYTES("runs.memory_floor", memory_floor_bytes, UINT64_C(1) << 44,
	      "refuse when the host has less memory left"),
	TIME("runs.resume_timeout", resume_ns, 3600 * SECOND,
	     "how long a stream waits for another reader"),

	COUNT("sessions.max", sessions, 100000, "open sessions"),
	COUNT("sessions.per_tenant", sessions_per_tenant, 100000, "open sessions of one tenant"),
	TIME("sessions.idle", session_idle_ns, 30 * DAY, "lease of an idle session"),
	TIME("sessions.idle_max", session_idle_max_ns, 30 * DAY, "longest such lease to ask for"),
	TIME("sessions.life_max", session_life_max_ns, 365 * DAY, "longest life of a session"),

	FLAG("warm.enabled", warm, "keep cells ready"),
	COUNT("warm.cells", warm_cells, 10000, "ready cells of one kind"),
	COUNT("warm.pools", warm_pools, 10000, "kinds of cells"),
	BYTES("warm.memory", warm_memory_bytes, UINT64_C(1) << 44, "memory of all ready cells"),
	COUNT("warm.clones", warm_clones, 1000000, "cells that one template makes"),
	TIME("warm.age", warm_age_ns, 30 * DAY, "oldest template"),

	TIME("results.retention", retention_ns, 3650 * DAY, "how long results are kept"),
	TIME("results.history", history_ns, 3650 * DAY, "how long executions are remembered"),
	BYTES("results.result_bytes", result_bytes, UINT64_C(1) << 30,
	      "largest result; more is cut"),
	BYTES("results.total_bytes", results_bytes, UINT64_C(1) << 44, "all results together"),

	FLAG("ledger.durable", ledger_durable,
	     "responses wait until their record is on the disk: a power failure loses none"),
	TIME("audit.retention", audit_ns, 36500 * DAY,
	     "how long entries of the audit chain are kept; 0: for ever"),

	TIME("drain_timeout", drain_ns, DAY, "for runs to finish, when the service stops"),
	TIME("answer_timeout", answer_ns, DAY,
	     "a role that does not answer for longer is restarted"),
	COUNT("restart.limit", restarts, 1000000, "quick deaths in a row before giving up"),
	COUNT("restart.hold", restart_hold, 1000000,
	      "quick deaths in a row before the queue is held; 0: never"),
	TIME("restart.delay_max", restart_delay_ns, 3600 * SECOND, "longest wait between starts"),

	{ "config_dir", CONFIG_TEXT, UNIT_COUNT, PLACE(config_dir), 0, 0, true, "" },
	{ "listeners", CONFIG_NUMBER, UNIT_COUNT, PLACE(listeners), 0, 64, true, "" },
	{ "broker", CONFIG_NUMBER, UNIT_COUNT, PLACE(broker), 0, 1, true, "" },
	{ "hold_queue", CONFIG_NUMBER, UNIT_COUNT, PLACE(hold_queue), 0, 1, true, "" },
	{ "uids", CONFIG_LIST, UNIT_COUNT, PLACE(uids), 0, 300, true, "" },
	{ "consent_uids", CONFIG_LIST, UNIT_COUNT, PLACE(consent_uids), 0, 300, true, "" },
	{ "dev", CONFIG_FLAG, UNIT_COUNT, PLACE(dev), 0, 0, true, "" },
};
const size_t config_keys_count = ARRAY_SIZE(config_keys);

const struct config_key *config_key_find(const char *name)
{
	for (size_t i = 0; i < config_keys_count; i++) {
		if (strcmp(config_keys[i].name, name) == 0) {
			return &config_keys[i];
		}
	}
	return NULL;
}

void config_init(struct serve_config *config)
{
	*config = (struct serve_config){
		.socket_mode = 0600,
		.runs_reserve = 32,
		.log_level = ROLE_NOTICE,
		.warm = true,
		.drain_ns = 30 * SECOND,
		.answer_ns = 60 * SECOND,
		.restarts = 20,
		.restart_hold = 3,
		.restart_delay_ns = 5 * SECOND,
	};
}

void config_forget_tls(struct serve_config *config)
{
	if (config->key.data) {
		explicit_bzero(config->key.data, config->key.capacity);
	}
	buf_done(&config->key);
	buf_done(&config->certificate);
}

void config_done(struct serve_config *config)
{
	for (size_t i = 0; i < config_keys_count; i++) {
		void *field = (char *)config + config_keys[i].offset;

		if (config_keys[i].kind == CONFIG_TEXT) {
			free(*(char **)field);
		} else if (config_keys[i].kind == CONFIG_LIST) {
			strlist_done(field);
		}
	}
	config_forget_tls(config);
	*config = (struct serve_config){ 0 };
}
