/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's role and its client, in one process, on a pair of sockets. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id.h"
#include "ledger/audit_verify.h"
#include "ledger/chain_key.h"
#include "ledger/flusher.h"
#include "ledger/ledger.h"
#include "ledger/ledger_messages.h"
#include "ledger/ledger_role.h"
#include "ledger/store.h"
#include "role/message.h"

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
	int long_answers, long_errnum; /* of long_done() */
};

static void role_gone(void *user, const char *why)
{
	struct place *place = user;

	(void)why;
	place->role_gone = true;
	loop_stop(place->loop);
}

static void client_gone(void *user, const char *why)
{
	struct place *place = user;

	(void)why;
	place->client_gone = true;
	loop_stop(place->loop);
}

static int start_on(struct place *place, int sockets[2])
{
	struct brig_error error = { 0 };

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	place->options.gone = role_gone;
	place->options.user = place;
	return ledger_role_new(place->loop, sockets[0], place->dir, &place->options, &place->role,
			       &error);
}

static void start(struct place *place)
{
	int sockets[2];

	assert_int_equal(start_on(place, sockets), 0);
	assert_int_equal(ledger_new(place->loop, sockets[1], client_gone, place, &place->ledger),
			 0);
}

static void stop(struct place *place)
{
	ledger_free(place->ledger);
	place->ledger = NULL;
	ledger_role_free(place->role);
	place->role = NULL;
}

static int set_up(void **state)
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

static int tear_down(void **state)
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
	assert_int_equal(rmdir(place->path), 0); /* nothing else was in it */
	free(place);
	return 0;
}

static void done(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct place *place = user;

	json_decref(place->data);
	/* One execution comes with the places of its result's parts. */
	size_t head = !error && size > sizeof(struct outcome) && data[0] != '{'
			      ? sizeof(struct outcome)
			      : 0;
	place->data = error ? NULL : json_loadb(data + head, size - head, 0, NULL);
	place->errnum = error ? error->errnum : 0;
	assert_true(error || place->data);
	place->answers++;
	loop_stop(place->loop);
}

/* Runs the loop until the call's answer is there; its error, positive. */
static int answer(struct place *place, int r)
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

static const char *text(const struct place *place, const char *key)
{
	return json_string_value(json_object_get(place->data, key));
}

static int begin(struct place *place, char id[27], bool queued, const char *key, const char *digest)
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

static int end(struct place *place, const char *id)
{
	return answer(place, ledger_ended(place->ledger, id, OK, strlen(OK), done, place));
}

static void life(void **state)
{
	struct place *place = *state;
	char id[27], other[27];

	assert_int_equal(begin(place, id, true, NULL, NULL), 0);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "queued");
	assert_int_equal(answer(place, ledger_get(place->ledger, "two", id, done, place)), ENOENT);
	assert_int_equal(answer(place, ledger_started(place->ledger, id, done, place)), 0);
	assert_int_equal(answer(place, ledger_started(place->ledger, id, done, place)), EALREADY);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "running");
	assert_true(json_is_null(json_object_get(place->data, "result")));
	assert_int_equal(end(place, id), 0);
	assert_int_equal(end(place, id), EALREADY);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "ok");
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(place->data, "result"), "stdout")),
			    "secret output");
	assert_non_null(text(place, "expires_at"));
	usleep(2000); /* ids of one millisecond are in no order */
	assert_int_equal(begin(place, other, false, NULL, NULL), 0);
	assert_int_equal(answer(place, ledger_list(place->ledger, "one", NULL, 1, done, place)), 0);
	assert_string_equal(text(place, "next"), other);
	assert_int_equal(answer(place, ledger_list(place->ledger, "one", other, 5, done, place)),
			 0);
	assert_int_equal(json_array_size(json_object_get(place->data, "executions")), 1);
	assert_null(text(place, "next"));
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)), 0);
	assert_int_equal(json_integer_value(json_object_get(place->data, "executions")), 2);
}

static void keys(void **state)
{
	struct place *place = *state;
	char first[27], second[27];

	assert_int_equal(begin(place, first, false, "key", "digest"), 0);
	assert_int_equal(json_object_size(place->data), 0);
	assert_int_equal(begin(place, second, false, "key", "digest"), 0);
	assert_string_equal(text(place, "id"), first);
	assert_true(json_is_true(json_object_get(place->data, "same")));
	assert_int_equal(begin(place, second, false, "key", "other"), 0);
	assert_true(json_is_false(json_object_get(place->data, "same")));
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", second, done, place)),
			 ENOENT);
}

/* Who was refused before it ran, and was promised nothing, may try again with the same key. */
static void keys_of_the_refused(void **state)
{
	static const struct {
		const char *key, *result;
		bool queued, started, kept;
	} cases[] = {
		{ "refused", "{\"status\":\"error\"}", false, false, false },
		{ "cancelled", "{\"status\":\"cancelled\"}", false, false, true },
		{ "failed", "{\"status\":\"error\"}", false, true, true },
		{ "promised", "{\"status\":\"error\"}", true, false, true },
	};
	struct place *place = *state;
	char id[27], next[27];

	for (size_t i = 0; i < 4; i++) {
		const struct block r = { .fd = -1, .data = "r", .size = 1 };
		struct ledger_execution execution = { .id = id,
						      .tenant = "one",
						      .caller = "uid:1000",
						      .queued = true,
						      .request = cases[i].queued ? &r : NULL,
						      .key = cases[i].key,
						      .digest = "digest" };
		assert_int_equal(id_make(id), 0);
		assert_int_equal(
			answer(place, ledger_begin(place->ledger, &execution, done, place)), 0);
		if (cases[i].started) {
			assert_int_equal(
				answer(place, ledger_started(place->ledger, id, done, place)), 0);
		}
		assert_int_equal(answer(place, ledger_ended(place->ledger, id, cases[i].result,
							    strlen(cases[i].result), done, place)),
				 0);
		assert_int_equal(begin(place, next, true, cases[i].key, "digest"), 0);
		assert_int_equal(text(place, "id") != NULL, cases[i].kept);
	}
}

/* However many ask, what has begun can end. */
static void crowd(void **state)
{
	struct place *place = *state;
	char id[27];
	int r = 0, asked = 0;

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	while (r == 0) {
		r = ledger_get(place->ledger, "one", id, NULL, NULL);
		asked += r == 0;
	}
	assert_int_equal(r, -ENOBUFS);
	assert_true(asked > 100);
	assert_int_equal(end(place, id), 0);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "ok");
}

/* Of a role that died nobody knows what it has recorded: it says neither this nor that. */
static void dead_role(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	int before = place->answers;
	assert_int_equal(ledger_get(place->ledger, "one", id, done, place), 0);
	ledger_role_free(place->role);
	place->role = NULL;
	assert_int_equal(ledger_get(place->ledger, "one", id, done, place), 0);
	while (!place->client_gone) {
		loop_run(place->loop);
	}
	assert_int_equal(ledger_get(place->ledger, "one", id, done, place), 0);
	assert_int_equal(place->answers, before);
}

/* Queued stays queued, with its request; running is lost. */
static void recovery(void **state)
{
	struct place *place = *state;
	char queued[27], running[27];

	assert_int_equal(begin(place, queued, true, NULL, NULL), 0);
	assert_int_equal(begin(place, running, false, NULL, NULL), 0);
	/* What is open at a stop is open at the next start, as after a crash. */
	stop(place);
	start(place);
	assert_int_equal(answer(place, ledger_pending(place->ledger, done, place)), 0);
	const json_t *pending = json_object_get(place->data, "pending");
	assert_int_equal(json_array_size(pending), 1);
	const json_t *one = json_array_get(pending, 0);
	assert_string_equal(json_string_value(json_object_get(one, "id")), queued);
	assert_string_equal(json_string_value(json_object_get(one, "request_base64")),
			    "cmVxdWVzdA==");
	assert_int_equal(answer(place, ledger_pending(place->ledger, done, place)), 0);
	assert_int_equal(json_array_size(json_object_get(place->data, "pending")), 0);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", running, done, place)), 0);
	assert_string_equal(text(place, "status"), "lost");
	assert_int_equal(end(place, running), EALREADY);
	assert_int_equal(answer(place, ledger_started(place->ledger, queued, done, place)), 0);
}

static void retention(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(end(place, id), 0);
	stop(place);
	place->options.result_age_ms = 1;
	place->options.history_age_ms = 3600000;
	start(place);
	for (int i = 0; i < 300; i++) { /* the first sweep comes after a second */
		usleep(10000);
		assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)),
				 0);
		if (json_is_null(json_object_get(place->data, "result"))) {
			break;
		}
	}
	assert_true(json_is_null(json_object_get(place->data, "result")));
	assert_string_equal(text(place, "status"), "ok");
}

static int open_session(struct place *place, const char *tenant, char id[27])
{
	struct ledger_session session = { .id = id,
					  .tenant = tenant,
					  .caller = "uid:1000",
					  .language = "python",
					  .policy = "default",
					  .idle_ms = 1000 };

	assert_int_equal(id_make(id), 0);
	return answer(place, ledger_session_opened(place->ledger, &session, done, place));
}

static int get_session(struct place *place, const char *tenant, const char *id)
{
	return answer(place, ledger_session_get(place->ledger, tenant, id, done, place));
}

static int end_session(struct place *place, const char *id, const char *why)
{
	return answer(place, ledger_session_ended(place->ledger, "one", id, why, 3, done, place));
}

/* What is open, what has ended and why, and that it is nobody else's. */
static void sessions(void **state)
{
	struct place *place = *state;
	char id[27], other[27];

	assert_int_equal(open_session(place, "one", id), 0);
	assert_int_equal(get_session(place, "one", id), 0);
	assert_string_equal(text(place, "state"), "open");
	assert_null(text(place, "reason"));
	assert_int_equal(get_session(place, "two", id), ENOENT);
	assert_int_equal(answer(place, ledger_session_ended(place->ledger, "two", id, "mine", 0,
							    done, place)),
			 ENOENT);
	assert_int_equal(end_session(place, id, "it was closed"), 0);
	assert_int_equal(end_session(place, id, "again"), ENOENT);
	assert_int_equal(get_session(place, "one", id), 0);
	assert_string_equal(text(place, "state"), "gone");
	assert_string_equal(text(place, "reason"), "it was closed");
	assert_int_equal(json_integer_value(json_object_get(place->data, "runs")), 3);
	assert_int_equal(open_session(place, "one", other), 0);
	assert_int_equal(
		answer(place, ledger_session_list(place->ledger, "one", NULL, 9, done, place)), 0);
	const json_t *list = json_object_get(place->data, "sessions");
	assert_int_equal(json_array_size(list), 1); /* the other one is open */
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "id")), id);
	assert_int_equal(
		answer(place, ledger_session_list(place->ledger, "two", NULL, 9, done, place)), 0);
	assert_int_equal(json_array_size(json_object_get(place->data, "sessions")), 0);
	/* A reason is for people's terminals too. */
	assert_int_equal(end_session(place, other, "\033[2J"), EINVAL);
	assert_int_equal(ledger_audit(place->ledger, "session.ended", "one", "{}", done, place),
			 -EINVAL);
}

/* With the service that had it a session ends; what had ended before says what it said. */
static void sessions_recovered(void **state)
{
	struct place *place = *state;
	char open[27], closed[27], run[27];
	struct ledger_execution execution = {
		.id = run, .tenant = "one", .caller = "uid:1000", .session = open
	};

	assert_int_equal(open_session(place, "one", open), 0);
	assert_int_equal(open_session(place, "one", closed), 0);
	assert_int_equal(id_make(run), 0);
	assert_int_equal(answer(place, ledger_begin(place->ledger, &execution, done, place)), 0);
	assert_int_equal(end_session(place, closed, "it was closed"), 0);
	stop(place);
	start(place);
	assert_int_equal(get_session(place, "one", closed), 0);
	assert_string_equal(text(place, "reason"), "it was closed");
	assert_int_equal(get_session(place, "one", open), 0);
	assert_string_equal(text(place, "state"), "gone");
	assert_int_equal(strncmp(text(place, "reason"), "lost: the service was restarted at 2", 36),
			 0);
	assert_int_equal(json_integer_value(json_object_get(place->data, "runs")), 1);
	assert_int_equal(get_session(place, "two", open), ENOENT);
	assert_int_equal(end_session(place, open, "late"), ENOENT);
}

static void stop_idling(void *user)
{
	loop_stop(user);
}

/* Without a call there is no transaction, and the sweep has its turn. */
static void idle(struct place *place)
{
	struct loop_timer timer = { .due = stop_idling, .user = place->loop };

	assert_int_equal(loop_timer_set(place->loop, &timer, clock_now_ns() + 50000000), 0);
	loop_run(place->loop);
}

/* A tenant has so many of them, and makes only its own go. */
static void sessions_bounded(void **state)
{
	struct place *place = *state;
	char first[27], kept[27], id[27];
	struct ledger_session session = { .id = id, .tenant = "one", .caller = "uid:1000" };

	assert_int_equal(open_session(place, "two", kept), 0);
	assert_int_equal(open_session(place, "one", first), 0);
	assert_int_equal(end_session(place, first, "the first"), 0);
	idle(place); /* ids of one millisecond have no order */
	for (unsigned i = 0; i < STORE_SESSIONS_A_TENANT; i++) {
		assert_int_equal(id_make(id), 0);
		assert_int_equal(ledger_session_opened(place->ledger, &session, NULL, NULL), 0);
		assert_int_equal(end_session(place, id, "one more"), 0);
	}
	assert_int_equal(get_session(place, "one", first), ENOENT);
	assert_int_equal(get_session(place, "one", id), 0);
	assert_int_equal(get_session(place, "two", kept), 0);
	stop(place);
	place->options.history_age_ms = 1;
	start(place);
	for (int i = 0; i < 200 && place->errnum == 0; i++) {
		idle(place);
		(void)get_session(place, "two", kept);
	}
	assert_int_equal(place->errnum, ENOENT);
}

/* Results that do not fit into a record, there and back. */
static void large(void **state)
{
	struct place *place = *state;
	char id[27];
	size_t size = 3u << 20;
	char *result = malloc(size + 64);

	assert_non_null(result);
	int head = sprintf(result, "{\"status\":\"ok\",\"stdout\":\"");
	memset(result + head, 'x', size);
	strcpy(result + (size_t)head + size, "\"}");
	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(
		answer(place, ledger_ended(place->ledger, id, result, strlen(result), done, place)),
		0);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_int_equal(json_string_length(
				 json_object_get(json_object_get(place->data, "result"), "stdout")),
			 size);
	free(result);
}

/* --- long results ----------------------------------------------------------------------------- */

#define LONG_BYTES ((size_t)5 << 20)

/* Each place has another character, so that parts in a wrong order are seen. */
static char *long_result(unsigned seed)
{
	char *result = malloc(LONG_BYTES + 64);

	assert_non_null(result);
	int head = sprintf(result, "{\"status\":\"ok\",\"stdout\":\"");
	for (size_t i = 0; i < LONG_BYTES; i++) {
		result[(size_t)head + i] = (char)('a' + (i / 1000 + i + seed) % 26);
	}
	strcpy(result + (size_t)head + LONG_BYTES, "\"}");
	return result;
}

static bool is_long_result(const struct place *place, unsigned seed)
{
	char *result = long_result(seed);
	json_t *expected = json_loads(result, 0, NULL);
	bool equal = json_equal(expected, json_object_get(place->data, "result"));

	assert_non_null(expected);
	json_decref(expected);
	free(result);
	return equal;
}

static int end_long(struct place *place, const char *id, unsigned seed, ledger_done *told)
{
	char *result = long_result(seed);
	int r = ledger_ended(place->ledger, id, result, strlen(result), told, place);

	free(result);
	return r;
}

/* While nobody has the database open. */
static int64_t count_of(struct place *place, const char *sql)
{
	char path[80];
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	int64_t count = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", place->path, STORE_NAME);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	if (sqlite3_step(row) == SQLITE_ROW) {
		count = sqlite3_column_int64(row, 0);
	}
	sqlite3_finalize(row);
	sqlite3_close(db);
	return count;
}

static void long_done(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct place *place = user;

	(void)data;
	(void)size;
	place->long_errnum = error ? error->errnum : 0;
	place->long_answers++;
	loop_stop(place->loop);
}

static void wait_for_long(struct place *place, int answers)
{
	while (place->long_answers < answers && !place->client_gone) {
		loop_run(place->loop);
	}
	assert_int_equal(place->long_answers, answers);
}

/* What comes behind a long one does not wait for all of it, be it stored or read. */
static void others_between_parts(void **state)
{
	struct place *place = *state;
	char id[27], other[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(end_long(place, id, 1, long_done), 0);
	assert_int_equal(begin(place, other, false, NULL, NULL), 0);
	assert_int_equal(place->long_answers, 0);
	/* It has not ended before all of it is there. */
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "running");
	wait_for_long(place, 1);
	assert_int_equal(place->long_errnum, 0);
	assert_int_equal(ledger_get(place->ledger, "one", id, long_done, place), 0);
	assert_int_equal(end(place, other), 0);
	assert_int_equal(place->long_answers, 1);
	wait_for_long(place, 2);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_true(is_long_result(place, 1));
	assert_int_equal(answer(place, end_long(place, id, 1, done)), EALREADY);
}

/* More than are done by turns: all of them come to their end. */
static void many_long_ones(void **state)
{
	enum { MANY = 24 };
	struct place *place = *state;
	char ids[MANY][27];

	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(begin(place, ids[i], false, NULL, NULL), 0);
	}
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(end_long(place, ids[i], i, long_done), 0);
	}
	wait_for_long(place, MANY);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(ledger_get(place->ledger, "one", ids[i], long_done, place), 0);
	}
	wait_for_long(place, 2 * MANY);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(
			answer(place, ledger_get(place->ledger, "one", ids[i], done, place)), 0);
		assert_true(is_long_result(place, i));
	}
}

/* A stop is no reason to lose one that was handed over. */
static void long_at_a_stop(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(end_long(place, id, 7, long_done), 0);
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)),
			 0); /* it is taken */
	assert_int_equal(place->long_answers, 0);
	stop(place);
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "ok");
	assert_true(is_long_result(place, 7));
}

/* After a crash between two parts it is lost, and nothing of it is left. */
static void long_in_a_crash(void **state)
{
	struct place *place = *state;
	struct store_limits limits = { .result_max = 16 << 20 };
	struct store *store = NULL;
	struct store_ended *ended = NULL;
	struct brig_error error = { 0 };
	char *result = long_result(3);
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	stop(place);
	assert_int_equal(store_open(place->dir, &limits, &store, &error), 0);
	assert_int_equal(store_ended_open(store, id, result, strlen(result), &ended, &error), 0);
	assert_int_equal(store_begin(store, &error), 0);
	assert_int_equal(store_ended_step(store, ended, &error), 0);
	assert_int_equal(store_ended_step(store, ended, &error), 0);
	assert_int_equal(store_commit(store, &error), 0);
	store_ended_free(ended);
	store_close(store);
	free(result);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 2);
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "lost");
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	start(place);
}

/* Its parts go before it does; whoever reads meanwhile gets all of it, none of it, or an error. */
static void long_and_old(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(answer(place, end_long(place, id, 5, done)), 0);
	stop(place);
	assert_true(count_of(place, "SELECT count(*) FROM result_parts") > 10);
	place->options.result_age_ms = 1;
	place->options.history_age_ms = 3600000;
	start(place);
	bool kept = true;
	for (int i = 0; i < 300 && kept; i++) {
		idle(place);
		int errnum = answer(place, ledger_get(place->ledger, "one", id, done, place));
		assert_true(errnum == 0 || errnum == ESTALE);
		kept = errnum != 0 || !json_is_null(json_object_get(place->data, "result"));
		assert_true(errnum != 0 || !kept || is_long_result(place, 5));
	}
	assert_false(kept);
	for (int i = 0; i < 20; i++) {
		idle(place);
	}
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	assert_int_equal(count_of(place, "SELECT count(*) FROM results"), 0);
	start(place);
}

/* On a full disk what was stored of one that cannot be finished goes, and it can be tried again. */
static void long_and_undone(void **state)
{
	struct place *place = *state;
	struct store_limits limits = { .result_max = 16 << 20 };
	struct store *store = NULL;
	struct store_ended *ended = NULL;
	struct brig_error error = { 0 };
	char *result = long_result(3);
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	stop(place);
	assert_int_equal(store_open(place->dir, &limits, &store, &error), 0);
	assert_int_equal(store_ended_open(store, id, result, strlen(result), &ended, &error), 0);
	assert_int_equal(store_begin(store, &error), 0);
	assert_int_equal(store_ended_step(store, ended, &error), 0);
	assert_int_equal(store_ended_undo(store, ended, &error), 0);
	assert_int_equal(store_commit(store, &error), 0);
	store_ended_free(ended);
	assert_int_equal(store_begin(store, &error), 0);
	assert_int_equal(store_execution_ended(store, id, OK, strlen(OK), &error), 0);
	assert_int_equal(store_commit(store, &error), 0);
	store_close(store);
	free(result);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_string_equal(text(place, "status"), "ok");
}

/* One whose parts have begun to go is not left half gone, though there is room by now. */
static void long_and_half_gone(void **state)
{
	struct place *place = *state;
	char id[27];

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(answer(place, end_long(place, id, 5, done)), 0);
	stop(place);
	(void)count_of(place, "UPDATE results SET data = x''");
	start(place);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	assert_true(json_is_null(json_object_get(place->data, "result")));
	for (int i = 0; i < 40; i++) { /* the first sweep comes after a second */
		idle(place);
	}
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM result_parts"), 0);
	assert_int_equal(count_of(place, "SELECT count(*) FROM results"), 0);
	start(place);
}

static void count_finding(void *user, uint64_t sequence, const char *what)
{
	(void)sequence;
	(void)what;
	++*(int *)user;
}

static off_t database_size(const struct place *place)
{
	struct stat info;

	assert_int_equal(fstatat(place->dir, STORE_NAME, &info, 0), 0);
	return info.st_size;
}

static void start_with_flusher(struct place *place, int pair[2])
{
	stop(place);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	place->options.flusher = pair[0];
	place->options.flush_ns = 1000000;
	start(place);
}

/* The log is another's to take to the disk; nobody waits for that, however long it takes. */
static void flushed_beside(void **state)
{
	struct place *place = *state;
	char id[27], byte = 0;
	int pair[2];

	start_with_flusher(place, pair);
	while (recv(pair[1], &byte, 1, MSG_DONTWAIT) != 1) {
		assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	}
	for (int i = 0; i < 20; i++) { /* it has been asked, and does not answer */
		assert_int_equal(begin(place, id, false, NULL, NULL), 0);
		assert_int_equal(end(place, id), 0);
	}
	assert_true(recv(pair[1], &byte, 1, MSG_DONTWAIT) < 0);
	/* It dies: the role does it by itself. */
	off_t before = database_size(place);
	close(pair[1]);
	while (database_size(place) == before) {
		assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	}
}

/* A real one, in a process of its own. */
static void flushed_by_another(void **state)
{
	struct place *place = *state;
	char id[27];
	int pair[2];

	start_with_flusher(place, pair);
	off_t before = database_size(place);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(pair[0]);
		flusher_serve(place->dir, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	while (database_size(place) == before) {
		assert_int_equal(begin(place, id, false, NULL, NULL), 0);
		assert_int_equal(end(place, id), 0);
	}
	stop(place);
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child); /* its line was closed */
	assert_int_equal(status, 0);
	place->options.flusher = 0;
	start(place);
}

static void chain(void **state)
{
	struct place *place = *state;
	struct audit_file file;
	struct audit_claims claims = { 0 };
	struct audit_report report;
	struct chain_key key;
	char path[80], id[27];
	int findings = 0;

	assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	assert_int_equal(end(place, id), 0);
	assert_int_equal(answer(place, ledger_audit(place->ledger, "session.close", "one",
						    "{\"b\":1,\"a\":2}", done, place)),
			 0);
	/* What the ledger says itself nobody else can say, in no spelling; nor what nobody says. */
	static const char *const others[] = { "execution",
					      "execution.ended",
					      "ledger",
					      "ledger.forged",
					      "session",
					      "session.opened",
					      "auth",
					      "auth.refused.",
					      "tokens.changed.x",
					      "x" };
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		assert_int_equal(ledger_audit(place->ledger, others[i], "one", "{}", done, place),
				 -EINVAL);
	}
	stop(place);
	assert_int_equal(chain_key_load(place->dir, false, &key, NULL), 0);
	memcpy(claims.public, key.public, sizeof(key.public));
	(void)snprintf(path, sizeof(path), "%s/%s", place->path, STORE_NAME);
	assert_int_equal(audit_file_open(path, &file, NULL), 0);
	assert_int_equal(audit_verify(&file, 1, &claims, count_finding, &findings, &report, NULL),
			 0);
	assert_int_equal(findings, 0);
	assert_int_equal(report.entries, 5); /* started, accepted, ended, session.close, stopped */
	assert_int_equal(report.signed_entries, 5);
	audit_file_done(&file);
	audit_claims_done(&claims);
	start(place);
}

/* Whatever a hostile front sends ends its connection, and harms nothing. */
static void hostile(void **state)
{
	static const struct {
		uint32_t kind;
		const char *tail;
		size_t size;
	} cases[] = {
		{ 99, "", 0 },
		{ LEDGER_ANSWER, "", 0 },
		{ LEDGER_STATS, "x", 1 },
		{ LEDGER_STARTED, "\x1a\0\0\0short", 9 },
		{ LEDGER_STARTED, "\xff\xff\xff\xff", 4 },
		{ LEDGER_STARTED, "\xfe\xff\xff\xff", 4 },
		{ LEDGER_ENDED,
		  "\x1a\0\0\0"
		  "01ARZ3NDEKTSV4RRFFQ69G5FAV\0\x02\0\0\0{}",
		  38 },
		{ LEDGER_ENDED,
		  "\x1a\0\0\0"
		  "01ARZ3NDEKTSV4RRFFQ69G5FAV\0\xff\xff\xff\xff",
		  35 },
		{ LEDGER_AUDIT,
		  "\x03\0\0\0"
		  "a.b\0\xff\xff\xff\xff\x02\0\0\0[]",
		  19 },
	};
	struct place *place = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct message message = { .kind = cases[i].kind, .serial = 1 };
		char record[256];
		int sockets[2];

		stop(place);
		place->role_gone = false;
		assert_int_equal(start_on(place, sockets), 0);
		memcpy(record, &message, sizeof(message));
		memcpy(record + sizeof(message), cases[i].tail, cases[i].size);
		assert_true(send(sockets[1], record, sizeof(message) + cases[i].size, 0) > 0);
		loop_run(place->loop);
		assert_true(place->role_gone);
		close(sockets[1]);
	}
	stop(place);
	start(place);
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)), 0);
}

static json_int_t used_today(struct place *place, uint32_t day)
{
	assert_int_equal(answer(place, ledger_usage(place->ledger, day, done, place)), 0);
	json_t *used = json_object_get(place->data, "used");
	return json_integer_value(json_object_get(json_array_get(used, 0), "cpu_ns"));
}

/* A service that could not read what was used begins at 0, and must not write that down. */
static void usage_only_grows(void **state)
{
	struct place *place = *state;

	assert_int_equal(ledger_used(place->ledger, "ada", 7, 5000), 0);
	assert_int_equal(ledger_used(place->ledger, "ada", 7, 20), 0);
	assert_int_equal(used_today(place, 7), 5000);
	assert_int_equal(ledger_used(place->ledger, "ada", 8, 30), 0);
	assert_int_equal(used_today(place, 8), 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(life, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keys_of_the_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(crowd, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dead_role, set_up, tear_down),
		cmocka_unit_test_setup_teardown(recovery, set_up, tear_down),
		cmocka_unit_test_setup_teardown(retention, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sessions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sessions_recovered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sessions_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_between_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_long_ones, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_at_a_stop, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_in_a_crash, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_and_old, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_and_undone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(long_and_half_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(flushed_beside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(flushed_by_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(chain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(usage_only_grows, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
