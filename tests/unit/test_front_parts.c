/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, routes, problems and positions in a stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "front/access/tokens.h"
#include "front/execution/event_stream.h"
#include "front/request/routes.h"

static void hash_of(const char *token, char hex[65])
{
	unsigned char hash[32];

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)token, strlen(token), NULL,
			   0);
	sodium_bin2hex(hex, 65, hash, sizeof(hash));
}

static void load(const char *rest, struct tokens *ret)
{
	char text[1024], hex[65];
	struct brig_error error = { 0 };

	hash_of("brig_secret", hex);
	snprintf(text, sizeof(text), "{\"tokens\":[{\"name\":\"ci\",\"hash\":\"blake2b:%s\"%s}]}",
		 hex, rest);
	if (tokens_parse(text, strlen(text), ret, &error) < 0) {
		print_message("%s\n", error.message);
		fail();
	}
}

static void test_tokens(void **state)
{
	struct tokens tokens;

	(void)state;
	load(",\"expires\":\"2001-09-09T01:46:40Z\"", &tokens);
	assert_int_equal(tokens.items[0].expires, 1000000000);
	assert_string_equal(tokens.items[0].tenant, "ci");
	assert_ptr_equal(tokens_find(&tokens, "brig_secret", 999999999), &tokens.items[0]);
	assert_null(tokens_find(&tokens, "brig_secret", 1000000000));
	assert_null(tokens_find(&tokens, "brig_secre", 0));
	assert_null(tokens_find(&tokens, "", 0));
	assert_ptr_equal(tokens_named(&tokens, "ci"), &tokens.items[0]);
	tokens_done(&tokens);
	load(",\"expires\":\"2024-02-29T00:00:00Z\"", &tokens);
	assert_int_equal(tokens.items[0].expires, 1709164800);
	tokens_done(&tokens);
}

static void test_what_a_token_may(void **state)
{
	struct tokens tokens;
	struct problem problem = { 0 };
	struct brig_limits limits = { 0 };

	(void)state;
	load(",\"policies\":[\"strict\"],\"limits\":{\"memory_bytes\":100,\"processes\":4,"
	     "\"wall_ms\":1}",
	     &tokens);
	assert_true(token_allows(&tokens.items[0], NULL, &problem) < 0);
	assert_int_equal(problem.kind, PROBLEM_POLICY_NOT_ALLOWED);
	assert_int_equal(token_allows(&tokens.items[0], "strict", &problem), 0);
	assert_int_equal(token_allows(NULL, "anything", &problem), 0);
	assert_int_equal(token_bound(&tokens.items[0], &limits, &problem), 0);
	limits.memory_bytes = 100;
	assert_int_equal(token_bound(&tokens.items[0], &limits, &problem), 0);
	assert_int_equal(token_bound(NULL, &limits, &problem), 0);
	limits.memory_bytes = 101;
	assert_true(token_bound(&tokens.items[0], &limits, &problem) < 0);
	assert_non_null(strstr(problem.detail, "memory_bytes"));
	tokens_done(&tokens);
}

static void test_wrong_files_of_tokens(void **state)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"{\"tokens\":{}}",
		"{\"tokens\":[{\"name\":\"a\"}]}",
		"{\"token\":[]}",
		"{\"tokens\":[{\"name\":\"a\",\"hash\":\"sha256:00\"}]}",
		"{\"tokens\":[{\"name\":\"uid:0\",\"hash\":\"blake2b:"
		"1111111111111111111111111111111111111111111111111111111111111111\"}]}",
		"{\"tokens\":[{\"name\":\"a\",\"hash\":\"blake2b:"
		"1111111111111111111111111111111111111111111111111111111111111111\","
		"\"expires\":\"2024-13-01T00:00:00Z\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct tokens tokens = { 0 };
		struct brig_error error = { 0 };

		assert_true(tokens_parse(wrong[i], strlen(wrong[i]), &tokens, &error) < 0);
		assert_non_null(strstr(error.message, "tokens"));
		assert_null(tokens.items);
	}
}

static void test_routes(void **state)
{
	char *args[ROUTE_ARGS] = { NULL, NULL };
	char allowed[64];

	(void)state;
	assert_non_null(route_find("GET", "/v1/sessions/a/files/b/c", args, allowed));
	assert_string_equal(args[0], "a");
	assert_string_equal(args[1], "b/c");
	free(args[0]);
	free(args[1]);
	assert_null(route_find("PUT", "/v1/executions", args, allowed));
	assert_string_equal(allowed, "POST, GET");
	assert_null(route_find("GET", "/v1/executions/", args, allowed));
	assert_string_equal(allowed, "");
	assert_null(route_find("GET", "/v1/executions/a/b", args, allowed));
	assert_string_equal(allowed, "");
	assert_null(route_find("get", "/v1/health", args, allowed));
	assert_string_equal(allowed, "GET, HEAD");
	/* Only the health check is open to everybody. */
	assert_true(route_find("GET", "/v1/health", args, allowed)->open);
	assert_false(route_find("GET", "/metrics", args, allowed)->open);
}

static void test_nothing_of_the_host_leaves(void **state)
{
	struct brig_error error = { 0 };
	struct problem problem = { 0 };

	(void)state;
	error_set(&error, BRIG_E_INPUT, EINVAL,
		  "cannot read /etc/brig/policies/x.json: (/var/lib/a)");
	error_remedy(&error, "see /usr/share/doc, or /sandbox/a, or and/or");
	problem_of_error(&problem, &error);
	assert_string_equal(problem.detail, "cannot read (path): ((path))");
	assert_string_equal(problem.remedy, "see (path), or /sandbox/a, or and/or");
	error_set(&error, BRIG_E_SYSTEM, EIO, "mount of /dev/sda1 at 0x7ffe failed");
	problem_of_error(&problem, &error);
	assert_int_equal(problem.kind, PROBLEM_INTERNAL);
	assert_null(strstr(problem.detail, "mount"));
	error_set(&error, BRIG_E_INPUT, ESTALE, "the session is gone: idle");
	problem_of_error(&problem, &error);
	assert_int_equal(problem_info(problem.kind)->status, 410);
}

static void test_shortages_have_remedies(void **state)
{
	static const int scarce[] = { EMFILE, ENFILE, ENOMEM, EAGAIN, ENOSPC, EUSERS, EPIPE };
	struct brig_error error = { 0 };
	struct problem problem = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(scarce); i++) {
		struct buf out = { 0 };

		error_set(&error, BRIG_E_SYSTEM, scarce[i], "of /some/where");
		problem_of_error(&problem, &error);
		assert_true(problem.retry_s > 0);
		problem_write(&problem, &out);
		assert_non_null(strstr(out.data, "\"remedy\":\""));
		assert_null(strstr(out.data, "/some"));
		buf_done(&out);
	}
	error_set(&error, BRIG_E_SYSTEM, EMFILE, "too many");
	problem_of_error(&problem, &error);
	assert_non_null(strstr(problem.remedy, "LimitNOFILE"));
}

static void test_problems_have_codes(void **state)
{
	(void)state;
	for (int i = 1; i < PROBLEM_KINDS; i++) {
		const struct problem_info *info = problem_info((enum problem_kind)i);

		assert_non_null(info->code);
		assert_in_range(info->status, 400, 503);
		assert_int_equal(problem_of_code(info->code), i);
		/* Temporary problems: the client must not have to guess what to do. */
		if (info->status == 429 || info->status == 503) {
			assert_non_null(info->remedy);
		}
	}
	assert_int_equal(problem_of_code("nothing"), PROBLEM_INTERNAL);
}

static void test_positions(void **state)
{
	static const char *const wrong[] = {
		"x",    "-",     "1",    "1-",
		"-1-2", "1-2-3", "1 -2", "99999999999999999999999999999999999999999-1"
	};
	struct output_log_position position;

	(void)state;
	assert_int_equal(events_position(NULL, &position), 0);
	assert_int_equal(position.seen[0] + position.seen[1], 0);
	assert_int_equal(events_position("12-5", &position), 0);
	assert_int_equal(position.seen[0], 12);
	assert_int_equal(position.seen[1], 5);
	assert_int_equal(events_position("end", &position), -EALREADY);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(events_position(wrong[i], &position), -EINVAL);
	}
}

/* As the ledger sends it: with the positions of the result's parts in front. */
static int read_answer(const char *text, bool has_result, struct stored *ret)
{
	struct outcome outcome = { 0 };
	struct buf data = { 0 };

	if (has_result) {
		const char *json = strstr(text, ",\"result\":{") + strlen(",\"result\":");
		assert_int_equal(outcome_find(json, strlen(json) - 1, &outcome), 0);
	}
	buf_add(&data, &outcome, sizeof(outcome));
	buf_adds(&data, text);
	struct block *block = block_copy(data.data, data.size);
	int r = stored_read(block, ret);
	/* It holds what it has read; the head is in the block as well. */
	if (r < 0 || !ret->result.block) {
		ret->head = NULL;
		ret->head_size = 0;
	}
	block_unref(block);
	buf_done(&data);
	return r;
}

static void test_what_the_ledger_tells(void **state)
{
	static const char kept[] = "{\"id\":\"01\",\"tenant\":\"t\",\"status\":\"ok\",\"session\":"
				   "\"a\\\",\\\"result\\\":\","
				   "\"result\":{\"stdout\":\",\\\"result\\\":\"}}";
	static const char failed[] =
		"{\"id\":\"01\",\"tenant\":\"t\",\"status\":\"error\",\"result\":{\"id\":\"01\","
		"\"status\":\"error\",\"error\":{\"code\":\"queue_full\","
		"\"detail\":\"d\",\"remedy\":null}}}";
	static const char none[] =
		"{\"id\":\"01\",\"tenant\":\"t\",\"status\":\"queued\",\"result\":null}";
	struct stored stored;
	struct rope out = { 0 };

	(void)state;
	assert_int_equal(read_answer(kept, true, &stored), 0);
	assert_int_equal(run_result_size(&stored.result),
			 strlen("{\"stdout\":\",\\\"result\\\":\"}"));
	assert_false(stored.failed);
	stored_done(&stored);
	assert_int_equal(read_answer(failed, true, &stored), 0);
	assert_true(stored.failed);
	assert_int_equal(stored.problem.kind, PROBLEM_QUEUE_FULL);
	stored_write(&stored, &out);
	assert_non_null(strstr(out.text.data, "\"result\":null,\"error\":{\"type\""));
	rope_done(&out);
	stored_done(&stored);
	assert_int_equal(read_answer(none, false, &stored), 0);
	assert_null(stored.result.block);
	assert_string_equal(stored.status, "queued");
	stored_done(&stored);
	assert_true(read_answer("{}", false, &stored) < 0);
	assert_true(read_answer("", false, &stored) < 0);
}

/* A compromised ledger: positions outside of the result are refused. */
static void test_places_that_the_ledger_makes_up(void **state)
{
	static const char head[] = "{\"tenant\":\"t\",\"status\":\"ok\",\"result\":";
	static const char json[] = "{\"stdout\":\"abc\"}";
	struct outcome sound;

	(void)state;
	assert_int_equal(outcome_find(json, strlen(json), &sound), 0);
	const struct outcome_part right = sound.parts[OUTCOME_STDOUT];
	const struct {
		uint64_t at, size, json_size;
		int result;
	} tries[] = {
		{ right.at, right.size, strlen(json), 0 },
		{ right.at, right.size, strlen(json) + 1, -EPROTO },
		{ right.at, right.size + 64, strlen(json), -EPROTO },
		{ right.at + ((uint64_t)1 << 30), right.size, strlen(json), -EPROTO },
		{ right.at, UINT64_MAX, strlen(json), -EPROTO },
	};
	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		struct outcome outcome = sound;
		struct buf data = { 0 };
		struct stored stored = { 0 };

		outcome.parts[OUTCOME_STDOUT] = (struct outcome_part){ tries[i].at, tries[i].size };
		outcome.json_size = tries[i].json_size;
		buf_add(&data, &outcome, sizeof(outcome));
		buf_addf(&data, "%s%s}", head, json);
		struct block *block = block_copy(data.data, data.size);
		assert_int_equal(stored_read(block, &stored), tries[i].result);
		stored_done(&stored);
		block_unref(block);
		buf_done(&data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_what_a_token_may),
		cmocka_unit_test(test_wrong_files_of_tokens),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_nothing_of_the_host_leaves),
		cmocka_unit_test(test_problems_have_codes),
		cmocka_unit_test(test_shortages_have_remedies),
		cmocka_unit_test(test_positions),
		cmocka_unit_test(test_what_the_ledger_tells),
		cmocka_unit_test(test_places_that_the_ledger_makes_up),
	};

	if (sodium_init() < 0) {
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
