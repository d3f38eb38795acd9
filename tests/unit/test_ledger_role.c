/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the ledger's role: executions, sessions, retention, the chain, hostile peers. */
#include "ledger_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "ledger/audit/audit_verify.h"
#include "ledger/ledger_messages.h"
#include "ledger/role/flusher.h"
#include "role/message.h"

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

/*
 * A request that was refused before it ran, and was not acknowledged, may be repeated with the same
 * key.
 */
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

/* However many clients ask, an execution that has begun can end. */
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

/*
 * A role that ends answers what it was sent. It is unknown what happens to a call after that: its
 * answer is neither success nor failure.
 */
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
	assert_int_equal(place->answers, before + 1);
}

/* Queued stays queued, with its request; running is lost. */
static void recovery(void **state)
{
	struct place *place = *state;
	char queued[27], running[27];

	assert_int_equal(begin(place, queued, true, NULL, NULL), 0);
	assert_int_equal(begin(place, running, false, NULL, NULL), 0);
	/* An execution that is open at a stop is open at the next start, as after a crash. */
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

/* Open and ended sessions, the reasons for their ends, and that other tenants do not find them. */
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
	/* A reason is also shown on terminals. */
	assert_int_equal(end_session(place, other, "\033[2J"), EINVAL);
	assert_int_equal(ledger_audit(place->ledger, "session.ended", "one", "{}", done, place),
			 -EINVAL);
}

/* A session ends with its service; a session that had ended before keeps its reason. */
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

/* The number of records per tenant is limited, and only the tenant's own are removed. */
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

/* Another process syncs the log to the disk; no call waits for that, however long it takes. */
static void flushed_beside(void **state)
{
	struct place *place = *state;
	char id[27], byte = 0;
	int pair[2];

	start_with_flusher(place, pair);
	while (recv(pair[1], &byte, 1, MSG_DONTWAIT) != 1) {
		assert_int_equal(begin(place, id, false, NULL, NULL), 0);
	}
	for (int i = 0; i < 20; i++) { /* it has the request, and does not answer */
		assert_int_equal(begin(place, id, false, NULL, NULL), 0);
		assert_int_equal(end(place, id), 0);
	}
	assert_true(recv(pair[1], &byte, 1, MSG_DONTWAIT) < 0);
	/* It dies: the role syncs the log by itself. */
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
		signal(SIGPIPE, SIG_IGN); /* as each role has it: the ledger may be gone first */
		flusher_serve(&sqlite_store_class, place->dir, pair[1]);
		_exit(0);
	}
	close(pair[1]);
	while (database_size(place) == before) {
		assert_int_equal(begin(place, id, false, NULL, NULL), 0);
		assert_int_equal(end(place, id), 0);
	}
	stop(place);
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child); /* its connection was closed */
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
	/*
	 * Events of the ledger itself cannot be sent by others, in any spelling; nor can unknown
	 * events.
	 */
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

/* A hostile front's messages end its connection, and do no other harm. */
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

/* A service that could not read the past usage begins at 0, and must not store that. */
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
		cmocka_unit_test_setup_teardown(flushed_beside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(flushed_by_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(chain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(hostile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(usage_only_grows, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
