/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a run: order, positions, split characters, and the bound on segments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "front/execution/output_log.h"

static void add(struct output_log *log, int stream, const char *text)
{
	output_log_add(log, stream, text, strlen(text));
}

/* Everything behind the position, as "1:text 2:text ". */
static void expect(const struct output_log *log, struct output_log_position *place,
		   const char *parts)
{
	struct output_part part;
	struct buf got = { 0 };

	while (output_log_next(log, place, &part)) {
		buf_addf(&got, "%d:%.*s ", part.stream, (int)part.size, part.data);
	}
	assert_string_equal(got.data ? got.data : "", parts);
	buf_done(&got);
}

static void test_order(void **state)
{
	struct output_log *log = output_log_new(NULL);
	struct output_log_position reader = { 0 }, late = { .seen = { 3, 1 } };

	(void)state;
	expect(log, &reader, "");
	add(log, 1, "ab");
	add(log, 1, "c");
	add(log, 2, "x");
	expect(log, &reader, "1:abc 2:x ");
	add(log, 1, "d");
	add(log, 2, "y");
	expect(log, &reader, "1:d 2:y ");
	expect(log, &late, "1:d 2:y ");
	assert_int_equal(output_log_left(log, &late), 0);
	assert_int_equal(output_log_left(log, &(struct output_log_position){ .seen = { 1, 99 } }),
			 3);
	output_log_unref(log);
}

/* The first half of a character waits for the second one, and delays nothing else. */
static void test_characters_in_pieces(void **state)
{
	struct output_log *log = output_log_new(NULL);
	struct output_log_position reader = { 0 }, other = { 0 };

	(void)state;
	add(log, 1, "\xc3");
	add(log, 2, "x");
	expect(log, &reader, "2:x ");
	add(log, 1, "\xa9!");
	/* The other stream came in between: the two halves are two parts. */
	expect(log, &reader, "1:\xc3 1:\xa9! ");
	add(log, 1, "\xc3");
	expect(log, &reader, "");
	add(log, 1, "\xa9");
	expect(log, &reader, "1:\xc3\xa9 ");
	add(log, 1, "\xe2\x82");
	expect(log, &reader, "");
	output_log_end(log);
	expect(log, &reader, "1:\xe2\x82 ");
	expect(log, &other, "1:\xc3 2:x 1:\xa9!\xc3\xa9 1:\xe2\x82 ");
	output_log_unref(log);
}

/* Quadratic work would take hours here. */
static void test_many_segments(void **state)
{
	const size_t bytes = 1000000;
	struct output_log *log = output_log_new(NULL);
	struct output_log_position live = { 0 }, late = { 0 }, place = { 0 };
	struct output_part part;
	size_t parts = 0, got[2] = { 0, 0 }, changes = 0;

	(void)state;
	alarm(120);
	for (size_t i = 0; i < bytes; i++) {
		add(log, i % 2 ? 2 : 1, i % 2 ? "e" : "o");
		/* A live reader gets the parts as they arrive, however many there were. */
		assert_true(output_log_next(log, &live, &part));
		assert_int_equal(part.stream, i % 2 ? 2 : 1);
		assert_false(output_log_next(log, &live, &part));
	}
	while (output_log_next(log, &late, &part)) {
		assert_memory_equal(part.data, part.stream == 2 ? "e" : "o", 1);
		got[part.stream == 2] += part.size;
		parts++;
	}
	assert_int_equal(got[0], bytes / 2);
	assert_int_equal(got[1], bytes / 2);
	assert_true(parts <= OUTPUT_SEGMENTS_MAX + 2 * (bytes / OUTPUT_PART_MAX + 1));
	/* The beginning is in order. */
	for (int stream = 1; changes < 1000 && output_log_next(log, &place, &part); changes++) {
		assert_int_equal(part.stream, stream);
		stream = 3 - stream;
	}
	assert_int_equal(changes, 1000);
	alarm(0);
	output_log_unref(log);
}

static void test_references(void **state)
{
	struct output_log *log = output_log_new(NULL);
	struct output_log *kept = output_log_ref(log);
	struct output_log_position place = { 0 };

	(void)state;
	add(log, 1, "a");
	output_log_unref(log);
	expect(kept, &place, "1:a ");
	output_log_unref(kept);
	output_log_unref(NULL);
}

static size_t read_all(const struct output_log *log, struct output_log_position *place)
{
	struct output_part part;
	size_t size = 0;

	while (output_log_next(log, place, &part)) {
		for (size_t i = 0; i < part.size; i++) {
			/* Each byte depends on its position. */
			size_t at = place->seen[part.stream == 2] - part.size + i;
			assert_int_equal(part.data[i], 'a' + (at + (size_t)part.stream) % 26);
		}
		size += part.size;
	}
	return size;
}

static void add_alphabet(struct output_log *log, int stream, size_t *at, size_t size)
{
	char text[4096];

	for (size_t i = 0; i < size; i++) {
		text[i] = (char)('a' + ((*at)++ + (size_t)stream) % 26);
	}
	output_log_add(log, stream, text, size);
}

/* Above the budget only the end is kept: a live reader misses nothing, a late one is informed. */
static void test_budget(void **state)
{
	struct output_budget budget = { .max = 6 * OUTPUT_TAIL };
	struct output_log *log = output_log_new(&budget), *other = output_log_new(&budget);
	struct output_log_position live = { 0 }, late = { 0 };
	size_t at[2] = { 0, 0 }, others = 0, got = 0;

	(void)state;
	add_alphabet(other, 1, &others, 4096);
	for (unsigned i = 0; i < 5000; i++) {
		add_alphabet(log, 1, &at[0], 4096);
		add_alphabet(log, 2, &at[1], 1000);
		got += i % 50 ? 0 : read_all(log, &live);
		assert_true(budget.used <= budget.max + 8192);
	}
	got += read_all(log, &live);
	assert_int_equal(got, at[0] + at[1]);
	assert_true(output_log_lacks(log, &late));
	assert_false(output_log_lacks(log, &live));
	assert_int_equal(read_all(log, &late), 0);
	/* The last part of each stream is kept in any case. */
	late = (struct output_log_position){ .seen = { at[0] - OUTPUT_TAIL, at[1] - OUTPUT_TAIL } };
	assert_int_equal(output_log_left(log, &late), 2 * OUTPUT_TAIL);
	assert_int_equal(read_all(log, &late), 2 * OUTPUT_TAIL);
	output_log_end(log);
	assert_int_equal(budget.used, 4096);
	output_log_clear(log);
	assert_true(output_log_lacks(
		log, &(struct output_log_position){ .seen = { at[0] - 1, at[1] } }));
	assert_int_equal(output_log_left(log, &late), 0);
	output_log_unref(log);
	output_log_unref(other);
	assert_int_equal(budget.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),         cmocka_unit_test(test_characters_in_pieces),
		cmocka_unit_test(test_many_segments), cmocka_unit_test(test_references),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
