/* SPDX-License-Identifier: Apache-2.0 */
/* Outcomes: their record about a JSON text, its long parts in slices; ropes and blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/rope.h"
#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "base/json/json_bounded.h"
#include "base/json/json_out.h"
#include "base/outcome.h"

#define JSON                                                                                       \
	"{\"id\":\"x\",\"status\":\"failed\",\"stdout\":\"a\\\"b\\\\\",\"stderr\":\"\","           \
	"\"encoding\":\"utf-8\",\"value\":{\"stdout\":[1,\"}\"]},"                                 \
	"\"files\":[{\"path\":\"a,\\\"size\\\":9\",\"size\":3,\"sha256\":\"\","                    \
	"\"content_base64\":\"QUJD\"},{\"path\":\"b\",\"size\":0,\"content_base64\":\"\"}],"       \
	"\"changes\":[],\"rest\":true}"

static void expect_part(const struct outcome *outcome, unsigned kind, const char *text)
{
	const struct outcome_part *part = &outcome->parts[kind];

	assert_int_equal(part->size, strlen(text));
	assert_memory_equal(JSON + part->at, text, strlen(text));
}

static void test_find(void **state)
{
	struct outcome outcome;
	struct outcome_file file;
	struct buf text = { 0 };
	size_t at = 0;

	(void)state;
	assert_int_equal(outcome_find(JSON, strlen(JSON), &outcome), 0);
	assert_int_equal(outcome.status, BRIG_FAILED);
	expect_part(&outcome, OUTCOME_STDOUT, "\"a\\\"b\\\\\"");
	expect_part(&outcome, OUTCOME_STDERR, "\"\"");
	expect_part(&outcome, OUTCOME_VALUE, "{\"stdout\":[1,\"}\"]}");
	expect_part(&outcome, OUTCOME_CHANGES, "[]");
	outcome_skeleton(&outcome, JSON, &text);
	assert_string_equal(text.data, "{\"id\":\"x\",\"status\":\"failed\",\"stdout\":\"\","
				       "\"stderr\":\"\",\"encoding\":\"utf-8\",\"value\":null,"
				       "\"files\":[],\"changes\":[],\"rest\":true}");
	assert_true(outcome_file_next(&outcome, JSON, &at, &file));
	assert_int_equal(file.size, 3);
	assert_memory_equal(file.base64, "QUJD", 4);
	char *path = outcome_file_path(&file);
	assert_string_equal(path, "a,\"size\":9");
	free(path);
	text.size = 0;
	outcome_file_rest(&file, &text);
	assert_string_equal(text.data, "{\"size\":3,\"sha256\":\"\"}");
	assert_true(outcome_file_next(&outcome, JSON, &at, &file));
	assert_int_equal(file.size, 0);
	assert_false(outcome_file_next(&outcome, JSON, &at, &file));
	buf_done(&text);
}

/* Short enough, but not the work of the warden: such texts take long to parse. */
static void test_parse(void **state)
{
	static const char *const filler[] = { ",[]", ",0", ",{}", ",\"\"" };
	struct outcome outcome;
	json_t *root = NULL;

	(void)state;
	assert_int_equal(outcome_find(JSON, strlen(JSON), &outcome), 0);
	assert_int_equal(outcome_parse(&outcome, JSON, &root), 0);
	assert_string_equal(json_string_value(json_object_get(root, "status")), "failed");
	assert_true(json_is_null(json_object_get(root, "value")));
	json_decref(root);
	for (size_t i = 0; i < ARRAY_SIZE(filler); i++) {
		struct buf text = { 0 };

		buf_adds(&text, "{\"status\":\"ok\",\"x\":[0");
		while (text.size < OUTCOME_SKELETON_MAX / 2) {
			buf_adds(&text, filler[i]);
		}
		buf_adds(&text, "]}");
		assert_int_equal(outcome_find(text.data, text.size, &outcome), 0);
		assert_int_equal(outcome_parse(&outcome, text.data, &root), -EPROTO);
		while (text.size <= OUTCOME_SKELETON_MAX) {
			buf_adds(&text, "                ");
		}
		buf_adds(&text, "}");
		assert_int_equal(outcome_find(text.data, text.size, &outcome), -EPROTO);
		buf_done(&text);
	}
}

static void test_wrong_texts(void **state)
{
	static const char *const wrong[] = {
		"",
		"{",
		"[]",
		"{\"a\"}",
		"{\"a\":1",
		"{\"a\":\"}",
		"{\"stderr\":\"\",\"stdout\":\"\"}",                 /* not in their order */
		"{\"stdout\":1}",                                    /* no text */
		"{\"files\":{}}",                                    /* no list */
		"{\"value\":1,\"stdout\":\"\",\"value\":2} ",        /* not the end */
		"{\"stdout\":\"\",\"stderr\":\"\",\"stdout\":\"\"}", /* twice */
	};
	struct outcome outcome;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(outcome_find(wrong[i], strlen(wrong[i]), &outcome), -EPROTO);
	}
}

/* A record is accepted only as far as it can be true. */
static void test_wrong_records(void **state)
{
	char data[sizeof(struct outcome) + sizeof(JSON)];
	struct outcome right, read;
	const char *json;
	size_t size = sizeof(right) + strlen(JSON);

	(void)state;
	assert_int_equal(outcome_find(JSON, strlen(JSON), &right), 0);
	memcpy(data + sizeof(right), JSON, sizeof(JSON));
	for (unsigned i = 0; i < 12; i++) {
		struct outcome wrong = right;
		struct outcome_part *part = &wrong.parts[i % OUTCOME_PARTS];

		switch (i) {
		case 0:
			wrong.magic++;
			break;
		case 1:
			wrong.json_size--;
			break;
		case 2:
			wrong.status = 99;
			break;
		case 3:
			part->size = UINT64_MAX;
			break;
		case 4:
			part->at = UINT64_MAX;
			break;
		case 5:
			part->at++;
			break;
		case 6:
			part->at = wrong.parts[0].at;
			break;
		case 7:
			part->at = 0;
			break;
		case 8:
			part->size = strlen(JSON) - part->at + 1;
			break;
		case 9:
			part->size--;
			break;
		default:
			part->size++;
			break;
		}
		memcpy(data, &wrong, sizeof(wrong));
		assert_int_equal(outcome_read(data, size, &read, &json), -EPROTO);
	}
	memcpy(data, &right, sizeof(right));
	assert_int_equal(outcome_read(data, size, &read, &json), 0);
	assert_ptr_equal(json, data + sizeof(right));
	for (size_t i = 0; i < size; i += 7) {
		assert_int_equal(outcome_read(data, i, &read, &json), -EPROTO);
	}
}

/* Every text, in slices of every size, from every position: the same bytes, whole characters. */
static void read_all(const char *json, bool base64, const char *expected, size_t size)
{
	struct outcome outcome;
	char *got = malloc(size + 64);

	assert_int_equal(outcome_find(json, strlen(json), &outcome), 0);
	assert_int_equal(outcome.flags, base64 ? OUTCOME_BASE64 : 0);
	for (size_t room = 16; room < 40; room++) {
		struct outcome_stream stream;
		size_t at = 0, n;

		outcome_stream_open(&outcome, json, 0, &stream);
		while ((n = outcome_stream_read(&stream, got + at, room)) > 0) {
			assert_true(n <= room);
			at += n;
			assert_true(at <= size);
			assert_true(utf8_valid(got, at));
		}
		assert_int_equal(at, size);
		assert_memory_equal(got, expected, size);
	}
	for (size_t from = 0; from <= size; from++) {
		struct outcome_stream stream;

		outcome_stream_open(&outcome, json, 0, &stream);
		if (from < size && ((unsigned char)expected[from] & 0xc0) == 0x80) {
			continue;
		}
		assert_int_equal(outcome_stream_skip(&stream, from), from);
		size_t n = outcome_stream_read(&stream, got, 16);
		assert_true(n > 0 || from == size);
		assert_memory_equal(got, expected + from, n);
	}
	struct outcome_stream stream;
	outcome_stream_open(&outcome, json, 0, &stream);
	assert_int_equal(outcome_stream_skip(&stream, size + 100), size);
	assert_int_equal(outcome_stream_read(&stream, got, 16), 0);
	free(got);
}

static void test_streams(void **state)
{
	static const char text[] =
		"plain \"quoted\" \\ back\tslash \x01\x02 caf\xc3\xa9 \xe2\x82\xac "
		"\xf0\x9f\x98\x80 \xc2\x85 line\nend and some more plain text";
	size_t size = sizeof(text) - 1;

	(void)state;
	for (int base64 = 0; base64 < 2; base64++) {
		struct buf buf = { 0 };
		struct json_out out = { .buf = &buf };

		json_open(&out, NULL, '{');
		json_text(&out, "status", "ok");
		if (base64) {
			json_base64(&out, "stdout", text, size);
		} else {
			json_textn(&out, "stdout", text, size);
		}
		json_text(&out, "encoding", base64 ? "base64" : "utf-8");
		json_close(&out, '}');
		read_all(buf.data, base64, text, size);
		buf_done(&buf);
	}
}

static void test_measure(void **state)
{
	static const char text[] = "a\"\n\x01\xc3\xa9\xc2\x85\xf0\x9f\x98\x80";
	struct buf buf = { 0 };
	struct json_out out = { .buf = &buf };
	struct json_measure whole = { .room = 11 };

	(void)state;
	json_textn(&out, NULL, text, sizeof(text) - 1);
	while (!json_measure(&whole, text, sizeof(text) - 1, 1)) {
	}
	assert_int_equal(whole.cost, buf.size - 2);
	assert_int_equal(whole.fits, 4); /* a \" \n \u0001 take 1 + 2 + 2 + 6 */
	assert_false(whole.invalid);
	struct json_measure broken = { 0 };
	assert_true(json_measure(&broken, "ab\xff", 3, 100));
	assert_true(broken.invalid);
	buf_done(&buf);
}

static void test_ropes(void **state)
{
	struct rope rope = { 0 }, other = { 0 };
	struct block *block = block_copy("0123456789", 10);
	struct iovec pieces[ROPE_PIECES];
	struct buf got = { 0 };

	(void)state;
	buf_adds(&other.text, "<");
	rope_block(&other, block, 2, 5);
	rope_block(&other, block, 9, 1);
	buf_adds(&other.text, ">");
	buf_adds(&rope.text, "[");
	rope_append(&rope, &other);
	rope_done(&other);
	buf_adds(&rope.text, "]");
	assert_true(rope_finish(&rope));
	block_unref(block);
	assert_int_equal(rope_left(&rope), 10);
	for (size_t max = 1; rope_left(&rope); max = max % 3 + 1) {
		size_t count = rope_peek(&rope, max, pieces), size = 0;
		for (size_t i = 0; i < count; i++) {
			buf_add(&got, pieces[i].iov_base, pieces[i].iov_len);
			size += pieces[i].iov_len;
		}
		assert_in_range(size, 1, max);
		rope_take(&rope, size);
	}
	assert_string_equal(got.data, "[<234569>]");
	assert_int_equal(rope_peek(&rope, 9, pieces), 0);
	rope_done(&rope);
	buf_done(&got);
}

static void test_blocks(void **state)
{
	struct block *block = NULL;
	int fd = memfile_make("test", "bytes", 5);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(block_map(&fd, 4, &block), -EPROTO);
	assert_int_equal(block_map(&fd, 5, &block), 0);
	assert_int_equal(fd, -1);
	assert_memory_equal(block->data, "bytes", 5);
	block_unref(block_ref(block));
	block_unref(block);
	block_unref(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),        cmocka_unit_test(test_parse),
		cmocka_unit_test(test_wrong_texts), cmocka_unit_test(test_wrong_records),
		cmocka_unit_test(test_streams),     cmocka_unit_test(test_measure),
		cmocka_unit_test(test_ropes),       cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
