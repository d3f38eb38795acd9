/* SPDX-License-Identifier: Apache-2.0 */
/* A request's JSON as a call to an engine. */
#ifndef BRIG_FRONT_ASK_H
#define BRIG_FRONT_ASK_H

#include <jansson.h>

#include "base/strlist.h"
#include "engine/engine.h"
#include "engine/engine_pack.h"
#include "front/fields.h"

#define ASK_FILES_MAX 1000
#define ASK_WORDS_MAX 1000 /* of args, of out */
#define ASK_ENV_MAX   256
#define ASK_HOSTS_MAX 64 /* of network */

/* What is asked for may be less than a whole run. */
enum ask_kind {
	ASK_RUN,     /* code is needed */
	ASK_SESSION, /* a session to open: no code, no input */
	ASK_CHECK,   /* a run that is not run: code may be missing */
};

struct ask {
	struct engine_call call; /* its pointers are into what follows */
	bool stream;             /* asked for in the body */
	bool language_given;

	json_t *root;  /* owned: most strings are its */
	char *session; /* owned */
	char *block;   /* owned: of a copied call */
	struct engine_unpacked unpacked;
	struct strlist env;
	const char **args; /* owned arrays of borrowed strings */
	const char **out;
	const char **network;
	struct strlist policies; /* of the token, for a run in a session */
	struct brig_file_in *files;
	struct ask_blob *blobs; /* owned: what was base64 */
};

/* `where` is "" for a whole body. On failure there is nothing to free. */
int ask_parse(enum ask_kind kind, const char *text, size_t size, struct ask **ret,
	      struct problem *problem);
/* A copy of a call that somebody else has made; callbacks do not come along. 0 or -errno. */
int ask_copy(const struct engine_call *call, struct ask **ret);
/* From an object that is a part of a body; takes a reference. */
int ask_read(enum ask_kind kind, json_t *root, const char *where, struct ask **ret,
	     struct problem *problem);
/*
 * Puts another input in place of the ask's own: an object with stdin, stdin_base64, args, env or
 * files. Whatever it does not name stays.
 */
int ask_overlay(struct ask *ask, json_t *input, const char *where, struct problem *problem);
/* Makes it a run in that session, whose language holds if none was asked for. 0 or -ENOMEM. */
int ask_in_session(struct ask *ask, const char *id);
void ask_free(struct ask *ask);

/* An object of limits, by the names that a result has for them; also for tokens. */
int ask_limits(json_t *value, const char *where, struct brig_limits *ret, struct problem *problem);
/* File names as they may be handed in: as libbrig has them, and nothing that is odd elsewhere. */
bool ask_file_name(const char *name, const char **why);
#endif
