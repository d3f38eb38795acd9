/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-front: HTTP, MCP and JSON, where there is no privilege. It has the listening sockets, a line
 * to the warden and one to the ledger; what it gave up is in role/seal.c, and it did so before the
 * first byte of a stranger was read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "front/front.h"
#include "ledger/ledger.h"
#include "role/message.h"
#include "serve/role_process.h"
#include "tls/endpoint.h"

#define CONNECTIONS_DEFAULT 12000
/* Listening sockets, lines, the loop, the log, and memory files on their way. */
#define FILES_BESIDES    512
#define TOKENS_BYTES_MAX (1 << 20)
#define TLS_BYTES_MAX    ((2 << 20) + 1)

struct parts {
	struct engine *engine;
	struct ledger *ledger;
	struct front *front;
	uid_t *uids;
	void *tokens;
	size_t tokens_size;
	struct endpoint *endpoint; /* NULL: TCP is in clear */
};

static void parts_done(struct parts *parts)
{
	front_free(parts->front);
	engine_free(parts->engine);
	ledger_free(parts->ledger);
	message_block_unmap(parts->tokens, parts->tokens_size);
	endpoint_free(parts->endpoint);
	free(parts->uids);
}

static void on_drain(void *user)
{
	struct parts *parts = user;

	front_drain(parts->front, role_drained, NULL);
}

/* The text is not kept: the front has what it needs of it. */
static int on_tokens(void *user, int block)
{
	struct parts *parts = user;
	struct brig_error error = { 0 };
	void *text = NULL;
	size_t size = 0;
	int r = message_block_map(block, TOKENS_BYTES_MAX, &text, &size);

	if (r < 0) {
		error_errno(&error, BRIG_E_SYSTEM, -r, "tokens");
	} else {
		r = front_tokens(parts->front, text, size, &error);
		message_block_unmap(text, size);
	}
	if (r < 0) {
		role_log(ROLE_ERROR, "tokens-refused", "cause=%s", error.message);
	}
	return r;
}

static struct http_limits http_limits(const struct serve_config *config)
{
	return (struct http_limits){
		.head_bytes = config->head_bytes,
		.headers = (unsigned)config->headers,
		.body_bytes = config->body_bytes,
		.bodies_bytes = config->bodies_bytes,
		.connections = (unsigned)config->connections,
		.connections_per_peer = (unsigned)config->connections_per_peer,
		.head_ns = config->head_ns,
		.body_ns = config->body_ns,
		.idle_ns = config->idle_ns,
		.write_ns = config->write_ns,
	};
}

static struct admission_limits admission_limits(const struct serve_config *config)
{
	return (struct admission_limits){
		.running = (unsigned)config->runs,
		.running_tenant = (unsigned)config->runs_per_tenant,
		.queue = (unsigned)config->queue,
		.queue_tenant = (unsigned)config->queue_per_tenant,
		.queue_ns = config->queue_ns,
		.memory_floor = config->memory_floor_bytes,
		.body_bytes = config->tenant_body_bytes,
		.answer_bytes = config->tenant_answer_bytes,
	};
}

static int list_uids(struct parts *parts, const struct serve_config *config, struct brig_error *err)
{
	parts->uids = calloc(config->uids.count + 1, sizeof(*parts->uids));
	if (!parts->uids) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "users");
	}
	for (size_t i = 0; i < config->uids.count; i++) {
		parts->uids[i] = (uid_t)strtoul(config->uids.items[i], NULL, 10);
	}
	return 0;
}

static int open_front(struct role_process *process, struct parts *parts, struct brig_error *err)
{
	const struct serve_config *config = &process->config;
	int sockets[64];

	for (unsigned i = 0; i < config->listeners && i < ARRAY_SIZE(sockets); i++) {
		sockets[i] = FD_FRONT_LISTENERS + (int)i;
	}
	struct front_options options = {
		.engine = parts->engine,
		.ledger = parts->ledger,
		.sockets = sockets,
		.sockets_count = config->listeners,
		.tcp = endpoint_transport(parts->endpoint),
		.http = http_limits(config),
		.admission = admission_limits(config),
		.tokens = parts->tokens_size ? parts->tokens : NULL,
		.tokens_size = parts->tokens_size,
		.uids = parts->uids,
		.uids_count = config->uids.count,
		.hosts = (const char *const *)config->hosts.items,
		.hosts_count = config->hosts.count,
		.origins = (const char *const *)config->origins.items,
		.origins_count = config->origins.count,
		.resume_ns = config->resume_ns,
	};
	return front_new(process->loop, &options, &parts->front, err);
}

static int open_parts(struct role_process *process, struct parts *parts, struct brig_error *err)
{
	int r = message_block_map(FD_FRONT_TOKENS, TOKENS_BYTES_MAX, &parts->tokens,
				  &parts->tokens_size);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "tokens");
	}
	close(FD_FRONT_TOKENS);
	r = list_uids(parts, &process->config, err);
	if (r < 0) {
		return r;
	}
	r = engine_remote_new(process->loop, FD_FRONT_WARDEN, role_peer_gone, process,
			      &parts->engine);
	r = r < 0 ? r
		  : ledger_new(process->loop, FD_FRONT_LEDGER, role_peer_gone, process,
			       &parts->ledger);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "lines to the other roles");
	}
	return open_front(process, parts, err);
}

/* Before the seal: OpenSSL may open what it likes now, and nothing later. */
static int open_tls(struct parts *parts, struct brig_error *err)
{
	void *data = NULL;
	size_t size = 0;
	int r = message_block_map(FD_FRONT_TLS, TLS_BYTES_MAX, &data, &size);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "certificate");
	}
	close(FD_FRONT_TLS);
	const char *text = data, *end = data ? memchr(data, '\0', size) : NULL;
	if (end) {
		struct endpoint_texts texts = { text, (size_t)(end - text), end + 1,
						size - (size_t)(end + 1 - text) };
		r = endpoint_new(&texts, &parts->endpoint, err);
	}
	message_block_unmap(data, size);
	return r;
}

/* No more of them than leave descriptors for the work itself. */
static void bound_connections(struct role_process *process)
{
	uint64_t files = process->open_files;
	uint64_t besides = files / 2 < FILES_BESIDES ? files / 2 : FILES_BESIDES;
	uint64_t *most = &process->config.connections;

	if (files && (*most == 0 || *most > files - besides)) {
		*most = files - besides;
	}
}

int role_front(struct role_process *process, struct brig_error *err)
{
	_cleanup_(parts_done)
	struct parts parts = { 0 };
	uint64_t connections =
		process->config.connections ? process->config.connections : CONNECTIONS_DEFAULT;
	int r = open_tls(&parts, err);

	r = r < 0 ? r : role_seal(process, -1, (unsigned)connections + FILES_BESIDES, err);

	bound_connections(process);

	r = r < 0 ? r : open_parts(process, &parts, err);
	if (r < 0) {
		return r;
	}
	process->tokens = on_tokens;
	return role_run(process, on_drain, &parts, err);
}
