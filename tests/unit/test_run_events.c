/* SPDX-License-Identifier: Apache-2.0 */
/* Events: which are counted together, which have room, how they are escaped, and the limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "native/calls/monitor.h"
#include "run/events.h"

static struct brig_result *new_result(void)
{
	struct brig_result *result = calloc(1, sizeof(*result));

	assert_non_null(result);
	return result;
}

static void add(struct brig_result *result, enum brig_event_kind kind, const char *subject,
		const char *reason)
{
	events_note(result, &(struct event){ .kind = kind,
					     .subject = subject,
					     .subject_size = strlen(subject),
					     .reason = reason,
					     .at_ns = 7 });
}

static uint64_t told(const struct brig_result *result)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < result->events_count; i++) {
		sum += result->events[i].count;
	}
	return sum;
}

static void test_counts_together(void **state)
{
	struct brig_result *result = new_result();

	(void)state;
	add(result, BRIG_EVENT_CALL_DENIED, "socket(AF_ALG, 5, 0)", "no");
	add(result, BRIG_EVENT_CALL_DENIED, "socket(AF_KEY, 3, 0)", "no");
	add(result, BRIG_EVENT_CALL_DENIED, "socketpair(AF_KEY, 3, 0)", "no");
	add(result, BRIG_EVENT_CALL_DENIED, "socket(AF_ALG, 5, 0)", "another line");
	add(result, BRIG_EVENT_CALL_WATCHED, "socket(AF_ALG, 5, 0)", "no");
	add(result, BRIG_EVENT_FILE_WATCHED, "/a(b", "no");
	add(result, BRIG_EVENT_FILE_WATCHED, "/a(c", "no");
	assert_int_equal(result->events_count, 6);
	assert_int_equal(result->events[0].count, 2);
	assert_string_equal(result->events[0].subject, "socket(AF_ALG, 5, 0)");
	assert_int_equal(result->events[0].first_ns, 7);
	assert_int_equal(result->event_counts[BRIG_EVENT_CALL_DENIED], 4);
	assert_int_equal(result->events_dropped, 0);
	brig_result_free(result);
}

/* For any events in any number, the list is bounded and the counts are complete. */
static void test_flood(void **state)
{
	struct brig_result *result = new_result();

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		char subject[32];

		snprintf(subject, sizeof(subject), "/tmp/%u", i);
		add(result, BRIG_EVENT_FILE_WATCHED, subject, "monitor.files: /tmp/*");
		add(result, BRIG_EVENT_CONNECTION_REFUSED, subject, "no rule allows that name");
		add(result, BRIG_EVENT_CALL_DENIED, subject, subject);
	}
	assert_true(result->events_count <= 4 + 8 + 16);
	assert_int_equal(result->event_counts[BRIG_EVENT_FILE_WATCHED], 10000);
	assert_int_equal(result->event_counts[BRIG_EVENT_CONNECTION_REFUSED], 10000);
	assert_int_equal(result->event_counts[BRIG_EVENT_CALL_DENIED], 10000);
	assert_int_equal(told(result) + result->events_dropped, 30000);

	/* Events of another line of the policy, or of another kind, still have room. */
	size_t before = result->events_count;
	add(result, BRIG_EVENT_FILE_WATCHED, "/etc/shadow", "monitor.files: /etc/shadow");
	add(result, BRIG_EVENT_CALL_WATCHED, "execve(...)", "monitor.calls");
	add(result, BRIG_EVENT_LIMIT_TOUCHED, "processes", "more were wanted");
	add(result, BRIG_EVENT_GUARD_REFUSED, "import", "os");
	assert_int_equal(result->events_count, before + 4);
	brig_result_free(result);
}

static void test_all_kinds_at_once(void **state)
{
	struct brig_result *result = new_result();

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		for (unsigned kind = 0; kind < BRIG_EVENT_KINDS; kind++) {
			char subject[32];

			snprintf(subject, sizeof(subject), "%u", i);
			add(result, (enum brig_event_kind)kind, subject, subject);
		}
	}
	assert_int_equal(result->events_count, 62); /* maxItems in the schema */
	brig_result_free(result);
}

static void test_escape(void **state)
{
	static const struct {
		const char *bytes;
		size_t size, room;
		const char *text;
	} rows[] = {
		{ "/etc/shadow", 11, 32, "/etc/shadow" },
		{ "a\nb\x1b[31m\"", 9, 32, "a\\x0ab\\x1b[31m\"" },
		{ "\xff\x80\\x41", 6, 32, "\\xff\\x80\\x5cx41" },
		{ "a\0b", 3, 32, "a\\x00b" },
		{ "", 0, 8, "" },
		{ "12345678", 8, 9, "12345678" },
		{ "123456789", 9, 9, "12345..." },
		{ "1234\x01\x01\x01", 7, 9, "1234..." },
		{ "\x01\x01\x01", 3, 9, "\\x01..." },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[32];

		memset(text, 'z', sizeof(text));
		events_escape(rows[i].bytes, rows[i].size, text, rows[i].room);
		assert_string_equal(text, rows[i].text);
	}
}

static void test_long_subjects(void **state)
{
	struct brig_result *result = new_result();
	char path[4096];

	(void)state;
	memset(path, '\xe9', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	add(result, BRIG_EVENT_FILE_WATCHED, path, path);
	assert_int_equal(result->events_count, 1);
	assert_true(strlen(result->events[0].subject) < sizeof(result->events[0].subject));
	assert_true(strlen(result->events[0].reason) < sizeof(result->events[0].reason));
	assert_non_null(strstr(result->events[0].subject, "..."));
	brig_result_free(result);
}

static void test_thresholds(void **state)
{
	struct brig_result *result = new_result();
	const struct event_limits limits = { .denied_calls = 2, .watched = 3 };
	uint64_t most = 0;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		add(result, BRIG_EVENT_CALL_DENIED, "ptrace()", "no");
		add(result, BRIG_EVENT_CALL_WATCHED, "execve()", "monitor.calls");
		events_note_unnamed(result, BRIG_EVENT_CONNECTION_REFUSED, 1000);
	}
	assert_null(events_over(result, &limits, BRIG_EVENT_CALL_DENIED, &most));
	assert_null(events_over(result, &limits, BRIG_EVENT_CONNECTION_REFUSED, &most));
	assert_null(events_over(result, &limits, BRIG_EVENT_GUARD_REFUSED, &most));
	assert_null(events_over(result, &limits, BRIG_EVENT_LIMIT_TOUCHED, &most));
	add(result, BRIG_EVENT_CALL_DENIED, "bpf()", "no");
	assert_string_equal(events_over(result, &limits, BRIG_EVENT_CALL_DENIED, &most),
			    "denied_calls");
	assert_int_equal(most, 2);
	/* Calls and files count together. */
	add(result, BRIG_EVENT_FILE_WATCHED, "/a", "x");
	assert_null(events_over(result, &limits, BRIG_EVENT_FILE_WATCHED, &most));
	add(result, BRIG_EVENT_FILE_WATCHED, "/a", "x");
	assert_string_equal(events_over(result, &limits, BRIG_EVENT_FILE_WATCHED, &most),
			    "watched");
	assert_int_equal(result->events_dropped, 2000);
	brig_result_free(result);
}

static void test_tidy(void **state)
{
	static const char *const rows[][2] = {
		{ "/etc/shadow", "/etc/shadow" },
		{ "/etc//./shadow", "/etc/shadow" },
		{ "/a/../etc/shadow", "/etc/shadow" },
		{ "/../../etc/shadow", "/etc/shadow" },
		{ "/", "/" },
		{ "//", "/" },
		{ "/a/..", "/" },
		{ "/a/b/../../c/", "/c" },
		{ "/...", "/..." },
		{ "/a/.hidden", "/a/.hidden" },
		{ "/a/..b/c..", "/a/..b/c.." },
		{ "/.", "/" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s", rows[i][0]);
		monitor_tidy(path);
		assert_string_equal(path, rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_together),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_all_kinds_at_once),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_long_subjects),
		cmocka_unit_test(test_thresholds),
		cmocka_unit_test(test_tidy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
