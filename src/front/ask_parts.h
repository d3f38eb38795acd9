/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an ask that are lists: words, variables, files, input. Private to ask. */
#ifndef BRIG_FRONT_ASK_PARTS_H
#define BRIG_FRONT_ASK_PARTS_H

#include "front/ask.h"

/* What the table of fields fills. */
struct ask_fields {
	const char *language, *policy, *guard, *code, *input, *session;
	json_t *env, *files, *args, *out, *network, *input_base64;
	struct brig_limits limits;
	uint64_t timeout_ns, idle_ns, life_ns;
	bool want_value, changes, stream, check;
	enum brig_start start;
};

struct ask_blob {
	struct ask_blob *next;
	void *data;
};

bool ask_session_id(const char *id);
/* Only what is given is put; the rest stays. */
int ask_put_parts(struct ask *ask, const struct ask_fields *fields, const char *where,
		  struct problem *problem);
void ask_free_parts(struct ask *ask);
#endif
