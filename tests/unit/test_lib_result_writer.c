/* SPDX-License-Identifier: Apache-2.0 */
/* Results in slices: the same JSON, bounded work for each step, and a bound on all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/api/result_writer.h"
#include "lib/guard/value.h"
#include "net/gate_messages.h"

#define MIB ((size_t)1 << 20)

static char *filled(size_t size, const char *pattern)
{
	char *data = malloc(size + 1);
	size_t length = strlen(pattern);

	for (size_t i = 0; i < size; i++) {
		data[i] = pattern[i % length];
	}
	data[size] = '\0';
	return data;
}

static struct brig_result *sample(size_t out, const char *pattern, size_t err)
{
	struct brig_result *result = calloc(1, sizeof(*result));

	memcpy(result->id, "01ARZ3NDEKTSV4RRFFQ69G5FAV", sizeof(result->id));
	result->exit_code = 3;
	result->status = BRIG_FAILED;
	result->stdout_data = filled(out, pattern);
	result->stdout_size = out;
	result->stderr_data = filled(err, pattern);
	result->stderr_size = err;
	result->usage.cpu_ns = 42;
	result->event_counts[BRIG_EVENT_CALL_DENIED] = 7;
	return result;
}

static void add_files(struct brig_result *result, size_t count, size_t size)
{
	result->files = calloc(count, sizeof(*result->files));
	result->files_count = count;
	for (size_t i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof(name), "out/%zu", i);
		result->files[i].path = strdup(name);
		result->files[i].data = filled(size, "file");
		result->files[i].size = size;
	}
}

/* The number of steps. */
static struct block *write_all(struct brig_result *result, size_t max, unsigned *ret_steps)
{
	struct result_writer *writer = NULL;
	struct block *block;
	int r;

	*ret_steps = 0;
	assert_int_equal(result_writer_new(result, max, true, &writer), 0);
	do {
		r = result_writer_step(writer);
		*ret_steps += 1;
	} while (r > 0);
	assert_int_equal(r, 0);
	block = result_writer_take(writer);
	assert_non_null(block);
	result_writer_free(writer);
	return block;
}

static json_t *parsed(const struct block *block, struct outcome *outcome)
{
	const char *json;

	assert_int_equal(outcome_read(block->data, block->size, outcome, &json), 0);
	json_t *root = json_loadb(json, outcome->json_size, JSON_ALLOW_NUL, NULL);
	assert_non_null(root);
	return root;
}

static const char *text_at(json_t *root, const char *key)
{
	return json_string_value(json_object_get(root, key));
}

static bool is_true(json_t *root, const char *key)
{
	return json_is_true(json_object_get(root, key));
}

static void test_short_is_one_step(void **state)
{
	struct brig_result *result = sample(100, "abc\n", 3);
	struct outcome outcome;
	unsigned steps;
	struct block *block = write_all(result, OUTCOME_JSON_MAX, &steps);
	json_t *root = parsed(block, &outcome);

	(void)state;
	assert_int_equal(steps, 1);
	assert_int_equal(block->fd, -1);
	assert_int_equal(outcome.status, BRIG_FAILED);
	assert_int_equal(outcome.exit_code, 3);
	assert_int_equal(outcome.cpu_ns, 42);
	assert_int_equal(outcome.bytes[0], 100);
	assert_int_equal(outcome.event_counts[BRIG_EVENT_CALL_DENIED], 7);
	assert_string_equal(text_at(root, "encoding"), "utf-8");
	assert_string_equal(text_at(root, "stdout"), result->stdout_data);
	assert_memory_equal(block->data + sizeof(outcome) + outcome.parts[OUTCOME_STDERR].at,
			    "\"abc\"", 5);
	/* One text for both: C has the same without the record. */
	char *json = brig_result_json(result);
	assert_memory_equal(json, block->data + sizeof(outcome), outcome.json_size);
	free(json);
	json_decref(root);
	block_unref(block);
	brig_result_free(result);
}

/* A step is a slice, however long the result is. */
static void test_long_is_many_steps(void **state)
{
	struct brig_result *result = sample(20 * MIB, "caf\xc3\xa9 ", 5 * MIB);
	struct outcome outcome;
	unsigned steps;

	(void)state;
	add_files(result, 3, 4 * MIB);
	struct block *block = write_all(result, OUTCOME_JSON_MAX, &steps);
	json_t *root = parsed(block, &outcome);
	/* Measured once, and written once. */
	assert_in_range(steps, (2 * 25 + 16) * MIB / RESULT_SLICE / 2,
			(2 * 25 + 16) * MIB / RESULT_SLICE * 2);
	assert_true(block->fd >= 0);
	assert_string_equal(text_at(root, "encoding"), "utf-8");
	assert_int_equal(json_string_length(json_object_get(root, "stdout")), 20 * MIB);
	assert_memory_equal(text_at(root, "stdout"), result->stdout_data, 20 * MIB);
	assert_int_equal(json_array_size(json_object_get(root, "files")), 3);
	assert_false(is_true(root, "stdout_truncated"));
	json_decref(root);
	block_unref(block);
	brig_result_free(result);
}

/* Base64 where that is shorter; but not for a short text, which people read. */
static void test_encodings(void **state)
{
	static const struct {
		size_t size;
		const char *pattern, *encoding;
	} cases[] = {
		{ 2 * MIB, "\x01", "base64" },        { 2 * MIB, "text\n", "utf-8" },
		{ 100000, "\x01", "utf-8" },          { 100, "\xff", "base64" },
		{ 2 * MIB, "\x1b[31mx", "base64" },   { 2 * MIB, "\xe2\x80\xa8", "base64" },
		{ 2 * MIB, "quote \" one", "utf-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct brig_result *result = sample(cases[i].size, cases[i].pattern, 0);
		struct outcome outcome;
		unsigned steps;
		struct block *block;

		/* Whole characters. */
		result->stdout_size -= result->stdout_size % strlen(cases[i].pattern);
		block = write_all(result, OUTCOME_JSON_MAX, &steps);
		json_t *root = parsed(block, &outcome);
		assert_string_equal(text_at(root, "encoding"), cases[i].encoding);
		assert_int_equal(outcome.flags, cases[i].encoding[0] == 'b' ? OUTCOME_BASE64 : 0);
		assert_true(outcome.json_size < result->stdout_size * 3 / 2 + MIB);
		json_decref(root);
		block_unref(block);
		brig_result_free(result);
	}
}

/* Fields that are too long are cut, the rest is complete, and the bound holds. */
static void test_bound(void **state)
{
	static const struct {
		size_t out, err, files, file;
		const char *pattern;
		bool cut_out, cut_err;
		size_t kept; /* files */
	} cases[] = {
		{ 9 * MIB, 100, 0, 0, "text ", true, false, 0 },
		{ 9 * MIB, 9 * MIB, 0, 0, "text ", true, true, 0 },
		{ 9 * MIB, 9 * MIB, 2, 100, "\xff", true, true, 2 },
		{ 100, 9 * MIB, 1, 100, "\x01", false, true, 1 },
		{ 100, 100, 5, 2 * MIB, "x", false, false, 2 },
		{ MIB, MIB, 2, 9 * MIB, "x", false, false, 0 },
	};
	const size_t max = 8 * MIB;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct brig_result *result = sample(cases[i].out, cases[i].pattern, cases[i].err);
		struct outcome outcome;
		unsigned steps;

		if (cases[i].files) {
			add_files(result, cases[i].files, cases[i].file);
		}
		struct block *block = write_all(result, max, &steps);
		json_t *root = parsed(block, &outcome);
		assert_true(outcome.json_size <= max);
		assert_true(is_true(root, "stdout_truncated") == cases[i].cut_out);
		assert_true(is_true(root, "stderr_truncated") == cases[i].cut_err);
		assert_int_equal(json_array_size(json_object_get(root, "files")), cases[i].kept);
		assert_true(json_is_string(json_object_get(root, "files_note")) ==
			    (cases[i].kept < cases[i].files));
		assert_string_equal(text_at(root, "status"), "failed");
		assert_true(json_is_object(json_object_get(root, "usage")));
		/* A field is cut by half, not to nothing. */
		assert_true(outcome.bytes[0] > MIB || outcome.bytes[0] == cases[i].out);
		json_decref(root);
		block_unref(block);
		brig_result_free(result);
	}
}

/* --- the part that roles parse ---------------------------------------------------------------- */

#define EVENTS 62 /* the sum of the rooms in run/events.c */
#define WORST  1  /* a byte that takes six in JSON */

static char *worst(size_t size)
{
	return filled(size, "\1");
}

/* Every text of a result as long as it can be, and worse than a program can make it. */
static struct brig_result *longest(void)
{
	struct brig_result *result = sample(0, "x", 0);

	result->events = calloc(EVENTS, sizeof(*result->events));
	result->events_count = EVENTS;
	for (size_t i = 0; i < EVENTS; i++) {
		memset(result->events[i].subject, WORST, sizeof(result->events[i].subject) - 1);
		memset(result->events[i].reason, WORST, sizeof(result->events[i].reason) - 1);
		result->events[i].count = result->events[i].first_ns = INT64_MAX;
	}
	result->networked = true;
	result->connections = calloc(GATE_TOLD_MAX, sizeof(*result->connections));
	result->connections_count = GATE_TOLD_MAX;
	for (size_t i = 0; i < GATE_TOLD_MAX; i++) {
		struct brig_connection *one = &result->connections[i];
		one->host = worst(NET_NAME_MAX);
		memset(one->address, WORST, sizeof(one->address) - 1);
		memset(one->verdict, WORST, sizeof(one->verdict) - 1);
		one->bytes_up = one->bytes_down = one->took_ns = INT64_MAX;
	}
	result->value_repr = worst(VALUE_REPR_BYTES);
	result->files_note = worst(2000);
	result->denied = result->refused = result->risk_known = true;
	memset(result->denial.meaning, WORST, sizeof(result->denial.meaning) - 1);
	memset(result->denial.reason, WORST, sizeof(result->denial.reason) - 1);
	memset(result->refusal.reason, WORST, sizeof(result->refusal.reason) - 1);
	for (size_t i = 0; i < sizeof(result->risk_reasons) - 1; i++) {
		result->risk_reasons[i] = i % 2 ? '\n' : 'x';
	}
	memset(result->remedy, WORST, sizeof(result->remedy) - 1);
	memset(result->operator_remedy, WORST, sizeof(result->operator_remedy) - 1);
	memset(result->policy, WORST, sizeof(result->policy) - 1);
	return result;
}

static void test_the_longest_skeleton(void **state)
{
	struct brig_result *result = longest();
	struct outcome outcome;
	const char *json;
	json_t *root = NULL;
	unsigned steps;

	(void)state;
	struct block *block = write_all(result, 4 * MIB, &steps);
	assert_int_equal(outcome_read(block->data, block->size, &outcome, &json), 0);
	assert_int_equal(outcome_parse(&outcome, json, &root), 0);
	assert_int_equal(json_array_size(json_object_get(root, "events")), EVENTS);
	assert_int_equal(json_array_size(json_object_get(root, "network")), GATE_TOLD_MAX);
	json_decref(root);
	block_unref(block);
	brig_result_free(result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_is_one_step),
		cmocka_unit_test(test_long_is_many_steps),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_the_longest_skeleton),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
