/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that callers have given to their sessions, separate for each caller. A name is valid as
 * long as its session is. When there are too many, names whose session must have ended are dropped,
 * and no others.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "tools/tools_internal.h"

#define NAMES_MAX  1024u
#define CALLER_MAX 64u
#define SLACK_NS   (60 * UINT64_C(1000000000)) /* for runs that a lease does not count */

struct session_name {
	struct session_name *next;
	char *caller;
	char name[SESSION_NAME_MAX + 1];
	char id[27]; /* empty: it is being opened */
	uint64_t used_ns, idle_ns;
};

struct session_names {
	struct session_name *first;
};

int session_names_new(struct session_names **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

static void drop(struct session_name **at)
{
	struct session_name *gone = *at;

	*at = gone->next;
	free(gone->caller);
	free(gone);
}

void session_names_free(struct session_names *names)
{
	while (names && names->first) {
		drop(&names->first);
	}
	free(names);
}

bool session_name_valid(const char *text, size_t size)
{
	return size > 0 && size <= SESSION_NAME_MAX &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
		       size;
}

static struct session_name **find(struct session_names *names, const char *caller, const char *name)
{
	struct session_name **at = &names->first;

	while (*at && (strcmp((*at)->name, name) != 0 || strcmp((*at)->caller, caller) != 0)) {
		at = &(*at)->next;
	}
	return at;
}

const char *session_names_find(struct session_names *names, const char *caller, const char *name)
{
	struct session_name *found = *find(names, caller, name);

	if (!found) {
		return NULL;
	}
	found->used_ns = clock_now_ns();
	return found->id;
}

static void drop_expired(struct session_names *names)
{
	uint64_t now = clock_now_ns();

	for (struct session_name **at = &names->first; *at;) {
		if ((*at)->id[0] && (*at)->used_ns + (*at)->idle_ns + SLACK_NS < now) {
			drop(at);
		} else {
			at = &(*at)->next;
		}
	}
}

static bool has_room(const struct session_names *names, const char *caller)
{
	unsigned all = 0, own = 0;

	for (const struct session_name *it = names->first; it; it = it->next) {
		all++;
		own += strcmp(it->caller, caller) == 0;
	}
	return all < NAMES_MAX && own < CALLER_MAX;
}

int session_names_begin(struct session_names *names, const char *caller, const char *name,
			struct brig_error *err)
{
	if (!has_room(names, caller)) {
		drop_expired(names);
	}
	if (!has_room(names, caller)) {
		int r = error_set(err, BRIG_E_INPUT, EAGAIN, "there are too many named sessions");
		error_remedy(err, "close one with close_session, or use an existing name");
		return r;
	}
	struct session_name *made = calloc(1, sizeof(*made));
	char *copy = strdup(caller);
	if (!made || !copy) {
		free(made);
		free(copy);
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "the session's name");
	}
	made->caller = copy;
	snprintf(made->name, sizeof(made->name), "%s", name);
	made->next = names->first;
	names->first = made;
	return 0;
}

void session_names_opened(struct session_names *names, const char *caller, const char *name,
			  const char *id, uint64_t idle_ns)
{
	struct session_name *found = *find(names, caller, name);

	if (found) {
		snprintf(found->id, sizeof(found->id), "%s", id);
		found->used_ns = clock_now_ns();
		found->idle_ns = idle_ns;
	}
}

void session_names_forget(struct session_names *names, const char *caller, const char *name)
{
	struct session_name **at = find(names, caller, name);

	if (*at) {
		drop(at);
	}
}
