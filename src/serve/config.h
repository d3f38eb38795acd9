/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of the service: serve.json in the configuration directory, and options on the
 * command line. One table (config_keys.c) defines both; the roles get the result in the same
 * format.
 */
#ifndef BRIG_SERVE_CONFIG_H
#define BRIG_SERVE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes/buf.h"
#include "base/error.h"
#include "base/json/json_in.h"
#include "base/strlist.h"
#include "base/units.h"
#include "role/log.h"

/* Numbers: 0 means the default of the part that uses it; brig-serve(1) lists them. */
struct serve_config {
	struct strlist listen; /* "unix:/path", "127.0.0.1:8080", "[::1]:8080" */
	uint64_t socket_mode;
	char *socket_group;              /* owned; name or number; NULL: our own */
	bool insecure_bind;              /* addresses that a network can reach are allowed */
	char *state_dir;                 /* owned */
	char *config_dir;                /* owned; policies, runtimes, serve.json */
	char *cache_dir;                 /* owned; NULL: the library's default */
	char *tokens;                    /* owned; file with the tokens; NULL: none */
	char *tls_certificate, *tls_key; /* owned; files; NULL: TCP is in clear */
	struct strlist consent_users;    /* those of `users` that may give consent in a request */
	struct strlist users;            /* may use unix sockets, besides root and the service */
	struct strlist hosts, origins;   /* host names and web origins that are allowed for TCP */
	uint64_t log_level;              /* enum role_level */
	bool dev;                        /* a trial: state of its own, nothing is kept */

	uint64_t head_bytes, headers, body_bytes, bodies_bytes;
	uint64_t json_bytes, file_bytes;
	uint64_t tenant_body_bytes, tenant_answer_bytes;
	uint64_t queued_bytes, tenant_queued_bytes;
	uint64_t connections, connections_per_peer;
	uint64_t head_ns, body_ns, idle_ns, write_ns;

	uint64_t runs, runs_reserve, queue, runs_per_tenant, queue_per_tenant;
	uint64_t queue_ns, memory_floor_bytes, resume_ns;

	uint64_t sessions, sessions_per_tenant;
	uint64_t session_idle_ns, session_idle_max_ns, session_life_max_ns;

	bool warm;
	uint64_t warm_cells, warm_pools, warm_memory_bytes, warm_clones, warm_age_ns;

	bool ledger_durable; /* records are on the disk before they are answered */
	uint64_t audit_ns;   /* 0: for ever */
	uint64_t retention_ns, history_ns, result_bytes, results_bytes;

	uint64_t drain_ns;         /* for runs to finish, before the service stops */
	uint64_t answer_ns;        /* a role that does not answer for longer is hung */
	uint64_t restarts;         /* deaths in a row, each soon after its start; 0: no limit */
	uint64_t restart_hold;     /* the queue is held after so many; 0: never */
	uint64_t restart_delay_ns; /* the longest delay before another start */

	/* Set by the supervisor for the roles. */
	uint64_t listeners;          /* the number of sockets that the front was given */
	uint64_t broker;             /* 1: the warden was given a line to one */
	uint64_t hold_queue;         /* 1: executions of an earlier queue wait for the operator */
	struct strlist consent_uids; /* `consent_users` as numbers */
	struct strlist uids;         /* `users` as numbers, and the supervisor's own */
	char *tls_print;             /* owned; hash of the certificate; NULL: TCP is in clear */

	/* The contents of the TLS files; the supervisor's, for the front only. */
	struct buf certificate, key;
};

void config_init(struct serve_config *config); /* the defaults */
void config_done(struct serve_config *config);

enum config_kind {
	CONFIG_NUMBER,
	CONFIG_MODE,
	CONFIG_LEVEL,
	CONFIG_FLAG,
	CONFIG_TEXT,
	CONFIG_LIST
};

struct config_key {
	const char *name; /* "http.connections": a key of an object */
	enum config_kind kind;
	enum unit unit;
	size_t offset;
	uint64_t least, most;
	bool internal; /* set for roles, not by operators */
	const char *about;
};
extern const struct config_key config_keys[];
extern const size_t config_keys_count;
const struct config_key *config_key_find(const char *name);

/* Sets a value from its text, as in an option; to a list it adds one item. */
int config_set(struct serve_config *config, const struct config_key *key, const char *text,
	       struct brig_error *err);
/* "KEY=VALUE". */
int config_set_word(struct serve_config *config, const char *word, struct brig_error *err);

/* Parses a whole text; errors have line and column. `internal`: from the supervisor. */
int config_read(struct serve_config *config, const char *name, const char *text, size_t size,
		bool internal, struct brig_error *err);
void config_write(const struct serve_config *config, struct buf *out);
/* For display: without internal keys. */
void config_show(const struct serve_config *config, struct buf *out);

/*
 * serve.json of the directory; a missing file is no error. Files and directories that other users
 * can change are.
 */
int config_load(struct serve_config *config, const char *directory, struct brig_error *err);
/* Reads a whole file of the operator, with the same checks; -ENOENT without an error: not found. */
int config_file(const char *path, struct buf *ret, struct brig_error *err);

/*
 * Fills in paths that were not set: by user, by environment. `base`: the directory of serve.json.
 */
int config_paths(struct serve_config *config, const char *base, struct brig_error *err);
/*
 * The same for files that often are links, if the owner of the link can be trusted. `secret`: no
 * other user may read it.
 */
int config_file_linked(const char *path, bool secret, struct buf *ret, struct brig_error *err);
/* Reads and checks `certificate` and `key`, if TLS is wanted. */
int config_tls(struct serve_config *config, struct brig_error *err);
void config_forget_tls(struct serve_config *config);
/*
 * Resolves the names in it: fills in `uids`, `certificate` and `key`; `tokens` is the text of that
 * file.
 */
int config_prepare(struct serve_config *config, struct buf *tokens, struct brig_error *err);
/* Gives values that are not set their defaults. */
void config_complete(struct serve_config *config);
/*
 * Checks everything that can be checked without disturbing a running service: users, files,
 * addresses, tokens. Values that are not set get their defaults.
 */
int config_check(struct serve_config *config, struct brig_error *err);
#endif
