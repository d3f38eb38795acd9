/* SPDX-License-Identifier: Apache-2.0 */
/* A request to run code or to open a session: its JSON as a call to an engine. */
#ifndef BRIG_FRONT_REQUEST_EXECUTION_REQUEST_H
#define BRIG_FRONT_REQUEST_EXECUTION_REQUEST_H

#include <jansson.h>

#include "base/strlist.h"
#include "engine/engine.h"
#include "engine/engine_pack.h"
#include "front/request/json_fields.h"

#define EXECUTION_REQUEST_FILES_MAX 1000
#define EXECUTION_REQUEST_WORDS_MAX 1000 /* of args */
#define EXECUTION_REQUEST_ENV_MAX   256
#define EXECUTION_REQUEST_HOSTS_MAX 64 /* of network */

/* A request may be for less than a whole run. */
enum execution_request_kind {
	EXECUTION_REQUEST_RUN,     /* code is required */
	EXECUTION_REQUEST_SESSION, /* a session to open: no code, no input */
	EXECUTION_REQUEST_CHECK,   /* a run that is only checked: code may be missing */
};

/* Values of the JSON that the table of fields leaves to be read by themselves; NULL: not given. */
struct execution_request_parts {
	json_t *env, *files, *args, *out, *network, *mounts;
	json_t *code, *input, *input_base64; /* long ones: field_long() */
	uint64_t timeout_ns;                 /* the older name of limits.wall_ms */
};

struct execution_request {
	struct engine_call call; /* its pointers refer to the members below */
	bool stream;             /* requested in the body */
	bool language_given;

	struct execution_request_parts parts; /* valid while it is read */
	json_t *root;                         /* owned: most strings are in it... */
	struct json_longs *longs;             /* ...a reference: the long ones are here; or NULL */
	const char *code_sha256; /* of the code, if it was computed while it arrived; or NULL */
	char *session;           /* owned */
	char *proof;             /* owned: the token that proves a person's consent */
	char *block;             /* owned: for a copied call */
	struct block *shared;    /* a reference: holds its long values; or NULL */
	struct engine_unpacked unpacked;
	struct strlist env;
	const char **args; /* owned arrays of borrowed strings */
	const char **out;
	const char **network;
	struct strlist policies; /* of the token, for a run in a session */
	struct brig_file_in *files;
	struct brig_mount *mounts;
	struct execution_request_blob *blobs; /* owned: decoded base64 */
};

struct http_exchange;
/* Reads the body of a request. On failure there is nothing to free. */
int execution_request_from_body(enum execution_request_kind kind, struct http_exchange *exchange,
				struct execution_request **ret, struct problem *problem);
/* Reads a text. The same. */
int execution_request_parse(enum execution_request_kind kind, const char *text, size_t size,
			    struct execution_request **ret, struct problem *problem);
/* A copy of a call from elsewhere, without its callbacks. 0 or -errno. */
int execution_request_copy(const struct engine_call *call, struct execution_request **ret);
/* Reads an object that is a part of a body; takes references. */
int execution_request_read(enum execution_request_kind kind, json_t *root, struct json_longs *longs,
			   const char *where, struct execution_request **ret,
			   struct problem *problem);
/*
 * Replaces the request's input by another one: an object with stdin, stdin_base64, args, env or
 * files. Members that it does not name are kept. It must be from the same body.
 */
int execution_request_overlay(struct execution_request *request, json_t *input, const char *where,
			      struct problem *problem);
/* Could it replace the input of a request? */
int execution_request_check_input(json_t *input, struct json_longs *longs, const char *where,
				  struct problem *problem);
/* About how many bytes have to be copied to pass it on. */
size_t execution_request_weight(const struct execution_request *request);
/* Makes it a run in that session, with the session's language if none was given. 0 or -ENOMEM. */
int execution_request_in_session(struct execution_request *request, const char *id);
void execution_request_free(struct execution_request *request);
static inline void execution_request_freep(struct execution_request **request)
{
	execution_request_free(*request);
}
/* Frees the proof that front_permit() has put into a request on the stack. */
void execution_request_forget_proof(struct execution_request *request);

/* An object of limits for a token, with the same names as in a result. */
int execution_request_ceilings(json_t *value, const char *where, struct brig_limits *ret,
			       struct problem *problem);
/*
 * May a file have this name? The rules of libbrig, and no names that are special on other systems.
 */
bool file_name_is_valid(const char *name, const char **why);
#endif
