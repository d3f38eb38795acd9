/* SPDX-License-Identifier: Apache-2.0 */
/* A request's JSON as a call to an engine. */
#ifndef BRIG_FRONT_REQUEST_EXECUTION_REQUEST_H
#define BRIG_FRONT_REQUEST_EXECUTION_REQUEST_H

#include <jansson.h>

#include "base/strlist.h"
#include "engine/engine.h"
#include "engine/engine_pack.h"
#include "front/request/fields.h"

#define EXECUTION_REQUEST_FILES_MAX 1000
#define EXECUTION_REQUEST_WORDS_MAX 1000 /* of args */
#define EXECUTION_REQUEST_ENV_MAX   256
#define EXECUTION_REQUEST_HOSTS_MAX 64 /* of network */

/* What is asked for may be less than a whole run. */
enum execution_request_kind {
	EXECUTION_REQUEST_RUN,     /* code is needed */
	EXECUTION_REQUEST_SESSION, /* a session to open: no code, no input */
	EXECUTION_REQUEST_CHECK,   /* a run that is not run: code may be missing */
};

struct execution_request {
	struct engine_call call; /* its pointers are into what follows */
	bool stream;             /* asked for in the body */
	bool language_given;

	json_t *root;             /* owned: most strings are its... */
	struct json_longs *longs; /* ...a reference: and these are long; or NULL */
	const char *code_sha256;  /* of the code, if it was made as it came; or NULL */
	char *session;            /* owned */
	char *proof;              /* owned: the token that is shown for a person's consent */
	char *block;              /* owned: of a copied call */
	struct block *shared;     /* a reference: what its long values lie in; or NULL */
	struct engine_unpacked unpacked;
	struct strlist env;
	const char **args; /* owned arrays of borrowed strings */
	const char **out;
	const char **network;
	struct strlist policies; /* of the token, for a run in a session */
	struct brig_file_in *files;
	struct brig_mount *mounts;
	struct execution_request_blob *blobs; /* owned: what was base64 */
};

struct http_exchange;
/* From the body of a request. On failure there is nothing to free. */
int execution_request_from_body(enum execution_request_kind kind, struct http_exchange *exchange,
				struct execution_request **ret, struct problem *problem);
/* From a text. The same. */
int execution_request_parse(enum execution_request_kind kind, const char *text, size_t size,
			    struct execution_request **ret, struct problem *problem);
/* A copy of a call that somebody else has made; callbacks do not come along. 0 or -errno. */
int execution_request_copy(const struct engine_call *call, struct execution_request **ret);
/* From an object that is a part of a body; takes references. */
int execution_request_read(enum execution_request_kind kind, json_t *root, struct json_longs *longs,
			   const char *where, struct execution_request **ret,
			   struct problem *problem);
/*
 * Puts another input in place of the ask's own: an object with stdin, stdin_base64, args, env or
 * files. Whatever it does not name stays. It is of the same body.
 */
int execution_request_overlay(struct execution_request *request, json_t *input, const char *where,
			      struct problem *problem);
/* Could it be put in place of any ask's own? */
int execution_request_check_input(json_t *input, struct json_longs *longs, const char *where,
				  struct problem *problem);
/* Bytes that have to be copied for it, about: what it costs to hand it on. */
size_t execution_request_weight(const struct execution_request *request);
/* Makes it a run in that session, whose language holds if none was asked for. 0 or -ENOMEM. */
int execution_request_in_session(struct execution_request *request, const char *id);
void execution_request_free(struct execution_request *request);
/* What front_permit() has put into an ask that is not to be freed. */
void execution_request_forget_proof(struct execution_request *request);

/* An object of limits for a token, by the names that a result has for them. */
int execution_request_ceilings(json_t *value, const char *where, struct brig_limits *ret,
			       struct problem *problem);
/* File names as they may be handed in: as libbrig has them, and nothing that is odd elsewhere. */
bool file_name_is_valid(const char *name, const char **why);
#endif
