/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's role and its client, in one process, on a pair of sockets. */
#ifndef BRIG_TESTS_LEDGER_FIXTURE_H
#define BRIG_TESTS_LEDGER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/id.h"
#include "ledger/chain_key.h"
#include "ledger/ledger.h"
#include "ledger/role/ledger_role.h"
#include "ledger/sqlite/sqlite_store.h"

struct place {
	char path[40];
	int dir;
	struct loop *loop;
	struct ledger_role *role;
	struct ledger *ledger;
	struct ledger_options options;
	int answers;
	int errnum;   /* of the last answer */
	json_t *data; /* the last answer */
	bool role_gone, client_gone;
	int long_answers, long_errnum; /* of calls about long results */
};

static inline void role_gone(void *user, const char *why)
{
	struct place *place = user;

	(void)why;
	place->role_gone = true;
	loop_stop(place->loop);
}

static inline void client_gone(void *user, const char *why)
{
	struct place *place = user;

	(void)why;
	place->client_gone = true;
	loop_stop(place->loop);
}

static inline int start_on(struct place *place, int sockets[2])
{
	struct brig_error error = { 0 };

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	place->options.gone = role_gone;
	place->options.user = place;
	return ledger_role_new(place->loop, sockets[0], place->dir, &place->options, &place->role,
			       &error);
}

static inline void start(struct place *place)
{
	int sockets[2];

	assert_int_equal(start_on(place, sockets), 0);
	assert_int_equal(ledger_new(place->loop, sockets[1], client_gone, place, &place->ledger),
			 0);
}

static inline void stop(struct place *place)
{
	ledger_free(place->ledger);
	place->ledger = NULL;
	ledger_role_free(place->role);
	place->role = NULL;
}

static inline int set_up(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->path, "/tmp/brig-ledger-XXXXXX");
	assert_non_null(mkdtemp(place->path));
	place->dir = open(place->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(place->dir >= 0);
	assert_int_equal(loop_new(&place->loop), 0);
	start(place);
	*state = place;
	return 0;
}

static inline int tear_down(void **state)
{
	static const char *const names[] = { STORE_NAME,     STORE_NAME "-wal", STORE_NAME "-shm",
					     STORE_LOCK,     CHAIN_KEY_NAME,    CHAIN_PUBLIC_NAME,
					     CHAIN_HEAD_NAME };
	struct place *place = *state;

	stop(place);
	json_decref(place->data);
	loop_free(place->loop);
	for (size_t i = 0; i < 7; i++) {
		unlinkat(place->dir, names[i], 0);
	}
	close(place->dir);
	assert_int_equal(rmdir(place->path), 0); /* the directory held nothing else */
	free(place);
	return 0;
}

static inline void done(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct place *place = user;

	json_decref(place->data);
	/* The answer for one execution begins with the positions of its result's parts. */
	size_t head = !error && size > sizeof(struct outcome) && data[0] != '{'
			      ? sizeof(struct outcome)
			      : 0;
	place->data = error ? NULL : json_loadb(data + head, size - head, 0, NULL);
	place->errnum = error ? error->errnum : 0;
	assert_true(error || place->data);
	place->answers++;
	loop_stop(place->loop);
}

/* Runs the loop until the call's answer has arrived; returns its error, positive. */
static inline int answer(struct place *place, int r)
{
	int before = place->answers;

	if (r < 0) {
		return -r;
	}
	while (place->answers == before && !place->client_gone) {
		loop_run(place->loop);
	}
	return place->errnum;
}

static inline const char *text(const struct place *place, const char *key)
{
	return json_string_value(json_object_get(place->data, key));
}

static inline int begin(struct place *place, char id[27], bool queued, const char *key,
			const char *digest)
{
	const struct block request = { .fd = -1, .data = "request", .size = 7 };
	struct ledger_execution execution = {
		.id = id,
		.tenant = "one",
		.caller = "uid:1000",
		.language = "python",
		.policy = "default",
		.queued = queued,
		.request = queued ? &request : NULL,
		.key = key,
		.digest = digest,
	};

	assert_int_equal(id_make(id), 0);
	return answer(place, ledger_begin(place->ledger, &execution, done, place));
}

#define OK "{\"status\":\"ok\",\"stdout\":\"secret output\",\"verdict\":{\"cause\":\"exit\"}}"

static inline int end(struct place *place, const char *id)
{
	return answer(place, ledger_ended(place->ledger, id, OK, strlen(OK), done, place));
}

static inline void stop_idling(void *user)
{
	loop_stop(user);
}

/* Without a call there is no transaction, and the sweep can run. */
static inline void idle(struct place *place)
{
	struct loop_timer timer = { .due = stop_idling, .user = place->loop };

	assert_int_equal(loop_timer_set(place->loop, &timer, clock_now_ns() + 50000000), 0);
	loop_run(place->loop);
}
#endif
