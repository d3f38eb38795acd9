/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the list next to the saved state: the names that the interpreter could save, and those that
 * it could not.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "engine/fork/engine_fork.h"

#define NAMES_BYTES (256u << 10)
/* Enough to fill both lists; lines behind that are ignored. */
#define LINES_MAX (2u * FORK_NAMES_MAX)

static int keep(struct local_fork *fork, struct strlist *list, const char *text)
{
	if (list->count >= FORK_NAMES_MAX) {
		fork->truncated = true;
		return 0;
	}
	return strlist_addf(list, "%.*s", FORK_NAME_BYTES * 2, text);
}

static void uncarry(struct local_fork *fork, const char *name, size_t size)
{
	struct strlist *list = &fork->carried;

	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->items[i], name, size) == 0 && !list->items[i][size]) {
			free(list->items[i]);
			list->items[i] = list->items[--list->count];
			list->items[list->count] = NULL;
			return;
		}
	}
}

/* "+NAME" or "-NAME\tWHY"; lines in any other format are ignored. */
static int take_line(struct local_fork *fork, char *line)
{
	if (line[0] == '+' && line[1]) {
		return keep(fork, &fork->carried, line + 1);
	}
	if (line[0] == '-' && line[1]) {
		uncarry(fork, line + 1, strcspn(line + 1, "\t"));
		return keep(fork, &fork->left, line + 1);
	}
	return 0;
}

int fork_take_names(struct local_fork *fork, struct local_session *session)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	char *rest = NULL;
	int r = brig_session_get(session->session, fork->names_path, NAMES_BYTES, &text, &size,
				 NULL);

	(void)brig_session_delete(session->session, fork->names_path, NULL);
	char *line = r == 0 ? strtok_r(text, "\n", &rest) : NULL;
	for (unsigned i = 0; line && r == 0 && i < LINES_MAX; i++) {
		r = take_line(fork, line);
		line = strtok_r(NULL, "\n", &rest);
	}
	fork->truncated |= line != NULL;
	return r;
}

void fork_nothing_carried(struct local_fork *fork, const char *why)
{
	strlist_done(&fork->carried);
	fork->has_state = false;
	(void)strlist_addf(&fork->left, "*\t%s", why);
}
