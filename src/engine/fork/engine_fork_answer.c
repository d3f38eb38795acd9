/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of a fork: the new session, the parts that were copied, and the parts that were not.
 */
#include <string.h>

#include "engine/fork/engine_fork.h"

static void print_left(struct json_out *json, const char *key, const struct strlist *list)
{
	json_open(json, "left", '[');
	for (size_t i = 0; i < list->count; i++) {
		char *tab = strchr(list->items[i], '\t');
		if (tab) {
			*tab = '\0';
		}
		json_open(json, NULL, '{');
		json_text(json, key, list->items[i]);
		json_text(json, "why", tab ? tab + 1 : "");
		json_close(json, '}');
	}
	json_close(json, ']');
}

void fork_answer(struct local_fork *fork, struct local_session *session)
{
	struct engine_run *run = fork->run;
	struct json_out json = { .buf = &run->answer };

	local_session_describe(&json, session);
	/* Before the end of the object. */
	run->answer.size -= !run->answer.failed && run->answer.size ? 1 : 0;
	json_text(&json, "forked_from", fork->from);
	json_list(&json, "carried", &fork->carried);
	print_left(&json, "name", &fork->left);
	json_open(&json, "files", '{');
	json_u64(&json, "copied", fork->copied);
	print_left(&json, "path", &fork->files_left);
	json_close(&json, '}');
	json_bool(&json, "truncated", fork->truncated);
	json_close(&json, '}');
}
