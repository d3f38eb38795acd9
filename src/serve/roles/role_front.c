/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-front: HTTP, MCP and JSON, without privileges. It has the listening sockets, a line to the
 * warden and one to the ledger. role/seal.c lists the privileges that it gives up, before it reads
 * the first byte from a client.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "engine/engine.h"
#include "front/front.h"
#include "ledger/ledger.h"
#include "role/message.h"
#include "serve/config/config_front.h"
#include "serve/roles/role_process.h"
#include "serve/tls/tls_texts.h"

#define CONNECTIONS_DEFAULT 12000
/*
 * Listening sockets, lines, the loop, the log, memory files in transit, and those of bodies that
 * are too long to be kept in memory: two for each of as many as http.bodies_bytes has room for.
 */
#define FILES_BESIDES (512 + 2 * 1024)

struct front_parts {
	struct engine *engine;
	struct ledger *ledger;
	struct front *front;
	uid_t *uids, *consent_uids;
	void *tokens;
	size_t tokens_size;
	const struct front_tls *tls; /* NULL: this program has no OpenSSL */
	struct endpoint *endpoint;   /* NULL: TCP is in clear */
};

static void parts_done(struct front_parts *parts)
{
	front_free(parts->front);
	engine_free(parts->engine);
	ledger_free(parts->ledger);
	message_block_unmap(parts->tokens, parts->tokens_size);
	if (parts->endpoint) {
		parts->tls->free(parts->endpoint);
	}
	free(parts->uids);
	free(parts->consent_uids);
}

static void on_drain(void *user)
{
	struct front_parts *parts = user;

	front_drain(parts->front, role_drained, NULL);
}

/* The text is not kept: the front keeps only what it needs of it. */
static int on_tokens(void *user, int block)
{
	struct front_parts *parts = user;
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

/* The supervisor starts the program without OpenSSL only for TCP in clear. */
static int use_texts(struct front_parts *parts, const struct endpoint_texts *texts,
		     struct brig_error *err)
{
	if (!parts->tls) {
		return error_set(err, BRIG_E_SYSTEM, ENOSYS, "certificate: no TLS in this program");
	}
	return parts->endpoint ? parts->tls->renew(parts->endpoint, texts, err)
			       : parts->tls->make(texts, &parts->endpoint, err);
}

/* The caller owns the descriptor. */
static int with_texts(int block, struct front_parts *parts, struct brig_error *err)
{
	struct endpoint_texts texts;
	void *data = NULL;
	size_t size = 0;
	int r = message_block_map(block, TLS_TEXTS_MAX, &data, &size);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "certificate");
	}
	if (tls_texts_split(data, size, &texts)) {
		r = use_texts(parts, &texts, err);
	}
	message_block_unmap(data, size);
	return r;
}

static int on_certificate(void *user, int block)
{
	struct front_parts *parts = user;
	struct brig_error error = { 0 };
	int r = with_texts(block, parts, &error);

	if (r < 0) {
		role_log(ROLE_ERROR, "certificate-refused", "cause=%s", error.message);
	} else {
		role_log(ROLE_NOTICE, "certificate-changed", NULL);
	}
	return r;
}

static int list_uids(const struct strlist *numbers, uid_t **ret, struct brig_error *err)
{
	*ret = calloc(numbers->count + 1, sizeof(**ret));
	if (!*ret) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "users");
	}
	for (size_t i = 0; i < numbers->count; i++) {
		(*ret)[i] = (uid_t)strtoul(numbers->items[i], NULL, 10);
	}
	return 0;
}

static int open_front(struct role_process *process, struct front_parts *parts,
		      struct brig_error *err)
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
		.tcp = parts->endpoint ? parts->tls->transport(parts->endpoint) : NULL,
		.tokens = parts->tokens_size ? parts->tokens : NULL,
		.tokens_size = parts->tokens_size,
		.uids = parts->uids,
		.uids_count = config->uids.count,
		.consent_uids = parts->consent_uids,
		.consent_uids_count = config->consent_uids.count,
		.hosts = (const char *const *)config->hosts.items,
		.hosts_count = config->hosts.count,
		.origins = (const char *const *)config->origins.items,
		.origins_count = config->origins.count,
		.owner = parts->uids[0], /* config_prepare() puts the service's own user first */
		.hold_queue = config->hold_queue,
		.queue_released = role_queue_released,
	};
	config_to_front(config, &options);
	return front_new(process->loop, &options, &parts->front, err);
}

static int open_parts(struct role_process *process, struct front_parts *parts,
		      struct brig_error *err)
{
	int r = message_block_map(FD_FRONT_TOKENS, TOKENS_BYTES_MAX, &parts->tokens,
				  &parts->tokens_size);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "tokens");
	}
	close(FD_FRONT_TOKENS);
	r = list_uids(&process->config.uids, &parts->uids, err);
	r = r < 0 ? r : list_uids(&process->config.consent_uids, &parts->consent_uids, err);
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

/* Before the seal: OpenSSL can open files now, and not later. */
static int open_tls(struct front_parts *parts, struct brig_error *err)
{
	int r = with_texts(FD_FRONT_TLS, parts, err);

	close(FD_FRONT_TLS);
	return r;
}

/* Limits connections, so that enough descriptors are left for runs. */
static void bound_connections(struct role_process *process)
{
	uint64_t files = process->open_files;
	uint64_t besides = files / 2 < FILES_BESIDES ? files / 2 : FILES_BESIDES;
	uint64_t *most = &process->config.connections;

	if (files && (*most == 0 || *most > files - besides)) {
		*most = files - besides;
	}
}

int role_front_with(const struct front_tls *tls, struct role_process *process,
		    struct brig_error *err)
{
	_cleanup_(parts_done)
	struct front_parts parts = { .tls = tls };
	uint64_t connections =
		process->config.connections ? process->config.connections : CONNECTIONS_DEFAULT;
	int r = open_tls(&parts, err);

	r = r < 0 ? r : role_seal(process, -1, (unsigned)connections + FILES_BESIDES, err);

	bound_connections(process);

	r = r < 0 ? r : open_parts(process, &parts, err);
	if (r < 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it knows no cleanup attributes */
		return r;
	}
	process->tokens = on_tokens;
	process->certificate = parts.endpoint ? on_certificate : NULL;
	return role_run(process, on_drain, &parts, err);
}

int role_front(struct role_process *process, struct brig_error *err)
{
	return role_front_with(NULL, process, err);
}
