/* SPDX-License-Identifier: Apache-2.0 */
/* The audit chain's hashes, signatures and lines; times; forms of messages; bounded JSON. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sodium/core.h>
#include <sodium/crypto_sign.h>

#include "base/bytes/chain.h"
#include "ledger/ledger_messages.h"
#include "ledger/store/json_facts.h"
#include "ledger/store/result_facts.h"
#include "ledger/store/timestamp.h"

#define ID "01ARZ3NDEKTSV4RRFFQ69G5FAV"

static struct chain_entry entry_of(const char *kind, const char *tenant, const char *facts)
{
	return (struct chain_entry){ .sequence = 7,
				     .time_ms = 1000,
				     .kind = kind,
				     .kind_size = strlen(kind),
				     .tenant = tenant,
				     .tenant_size = strlen(tenant),
				     .facts = facts,
				     .facts_size = strlen(facts) };
}

static void every_part_counts(void **state)
{
	struct chain_head before = { .sequence = 6 }, other = { .hash = { 1 } };
	struct chain_entry entries[] = {
		entry_of("ab", "c", "{}"), entry_of("a", "bc", "{}"), entry_of("ab", "c", "{\"\"}"),
		entry_of("ab", "c{", "}"), entry_of("ab", "c", "{}"), entry_of("ab", "c", "{}"),
	};
	unsigned char hashes[7][CHAIN_HASH_SIZE];

	(void)state;
	entries[4].sequence++;
	entries[5].time_ms++;
	for (size_t i = 0; i < 6; i++) {
		chain_hash(&before, &entries[i], hashes[i]);
	}
	chain_hash(&other, &entries[0], hashes[6]);
	for (size_t i = 0; i < 7; i++) {
		for (size_t j = 0; j < i; j++) {
			assert_memory_not_equal(hashes[i], hashes[j], CHAIN_HASH_SIZE);
		}
	}
}

static void lines(void **state)
{
	struct chain_checkpoint checkpoint = {
		.number = 3, .sequence = 42, .time_ms = 1794805359459, .hash = { 0xab }
	};
	struct chain_checkpoint back;
	struct chain_key key;
	char line[CHAIN_LINE_MAX];

	(void)state;
	assert_true(sodium_init() >= 0);
	crypto_sign_keypair(key.public, key.secret);
	chain_sign(&key, &checkpoint);
	assert_true(chain_signed_by(key.public, &checkpoint));
	chain_line(&checkpoint, line);
	assert_true(chain_line_parse(line, strlen(line), &back));
	assert_memory_equal(&back, &checkpoint, sizeof(back));
	size_t size = strlen(line);
	for (size_t i = 0; i < size; i++) { /* any other byte, or an end there */
		char saved = line[i];
		line[i] = saved == '1' ? '2' : '1';
		assert_false(chain_line_parse(line, size, &back) &&
			     chain_signed_by(key.public, &back));
		line[i] = saved;
		assert_false(chain_line_parse(line, i, &back));
	}
	key.public[0] ^= 1;
	assert_false(chain_signed_by(key.public, &checkpoint));
	assert_false(chain_line_parse("brig-audit-1 03 42 1 ", 21, &back));
}

static void times(void **state)
{
	char text[TIMESTAMP_SIZE];
	uint64_t ms = 0;

	(void)state;
	assert_string_equal(timestamp_format(1794805359459, text), "2026-11-16T05:02:39.459Z");
	assert_int_equal(timestamp_parse(text, &ms), 0);
	assert_true(ms == 1794805359459);
	assert_int_equal(timestamp_parse("1970-01-02", &ms), 0);
	assert_true(ms == 86400000);
	assert_int_equal(timestamp_parse("2026-11-16T05:02:39", &ms), -EINVAL);
	assert_int_equal(timestamp_parse("soon", &ms), -EINVAL);
	assert_int_equal(timestamp_parse("2026-11-16x", &ms), -EINVAL);
	assert_string_equal(timestamp_format(UINT64_MAX, text), "9999-12-31T23:59:59.999Z");
}

static void forms(void **state)
{
	const struct ledger_form *form = &ledger_forms[LEDGER_AUDIT];
	struct ledger_text texts[AUDIT_FIELDS] = { { "session.close", 13 }, { 0 }, { "{}", 2 } };
	struct ledger_text back[AUDIT_FIELDS];
	struct buf data = { 0 };
	const char *name = NULL;

	(void)state;
	ledger_form_pack(form, texts, &data);
	assert_int_equal(ledger_form_unpack(form, data.data, data.size, back), 0);
	assert_string_equal(back[0].data, "session.close");
	assert_null(back[1].data);
	assert_int_equal(ledger_form_check(form, back, &name), 0);
	for (size_t i = 0; i < data.size; i++) {
		assert_int_equal(ledger_form_unpack(form, data.data, i, back), -EPROTO);
	}
	buf_addc(&data, 'x');
	assert_int_equal(ledger_form_unpack(form, data.data, data.size, back), -EPROTO);
	buf_done(&data);
	static const char *const refused[] = { "execution.ended", "ledger.started", "", "A",
					       "a b" };
	for (size_t i = 0; i < 5; i++) {
		texts[0] = (struct ledger_text){ refused[i], strlen(refused[i]) };
		assert_int_equal(ledger_form_check(form, texts, &name), -EINVAL);
		assert_string_equal(name, "kind");
	}
	texts[0] = (struct ledger_text){ "ok", 2 };
	texts[1] = (struct ledger_text){ "a\nb", 3 };
	assert_int_equal(ledger_form_check(form, texts, &name), -EINVAL);
	texts[1] = (struct ledger_text){ "\xff", 1 };
	assert_int_equal(ledger_form_check(form, texts, &name), -EINVAL);
}

static void json(void **state)
{
	json_t *value = NULL;
	char deep[400];

	(void)state;
	assert_int_equal(json_facts_load("{\"a\":1,\"a\":2}", 13, &value), -EPROTO);
	assert_int_equal(json_facts_load("[]", 2, &value), -EPROTO);
	assert_int_equal(json_facts_load("{} ", 3, &value), 0);
	json_decref(value);
	memset(deep, '[', sizeof(deep));
	assert_int_equal(json_facts_load(deep, sizeof(deep), &value), -EPROTO);
	assert_int_equal(json_facts_load("{\"a\":\"[[[[\\\"[[\"}", 16, &value), 0);
	json_decref(value);
}

/* A result that is too large loses files first, and stays a valid result. */
static void cut(void **state)
{
	_Static_assert(sizeof(ID) == 27, "an id");
	char *text = malloc(100001);
	json_t *result = json_pack("{s:s,s:s,s:s,s:s,s:[{s:s,s:i,s:s}],s:n,s:b,s:b}", "status",
				   "ok", "encoding", "utf-8", "stdout", "", "stderr", "x", "files",
				   "path", "a", "size", 3, "content_base64", "AAAA", "files_note",
				   "stdout_truncated", 0, "stderr_truncated", 0);
	struct outcome outcome, shorter;
	struct buf skeleton = { 0 }, out = { 0 };

	(void)state;
	assert_non_null(text);
	assert_non_null(result);
	for (size_t i = 0; i < 50000; i++) {
		memcpy(text + 2 * i, "\xc3\xa4", 2);
	}
	text[100000] = '\0';
	json_object_set_new(result, "stdout", json_string(text));
	char *whole = json_dumps(result, JSON_COMPACT);
	json_decref(result);
	assert_int_equal(outcome_find(whole, strlen(whole), &outcome), 0);
	outcome_skeleton(&outcome, whole, &skeleton);
	json_t *facts = json_loads(skeleton.data, 0, NULL);
	assert_int_equal(result_cut(facts, &outcome, whole, 30000, &shorter, &out), 0);
	assert_int_equal(shorter.json_size, out.size);
	json_decref(facts);
	/* It is JSON, its stdout has whole characters, and its positions are right. */
	result = json_loads(out.data, 0, NULL);
	assert_non_null(result);
	assert_int_equal(outcome_find(out.data, out.size, &outcome), 0);
	assert_memory_equal(outcome.parts, shorter.parts, sizeof(outcome.parts));
	assert_string_equal(json_string_value(json_object_get(result, "stderr")), "x");
	buf_done(&skeleton);
	buf_done(&out);
	free(whole);
	assert_int_equal(json_array_size(json_object_get(result, "files")), 0);
	assert_true(json_is_string(json_object_get(result, "files_note")));
	assert_true(json_is_true(json_object_get(result, "stdout_truncated")));
	assert_false(json_is_true(json_object_get(result, "stderr_truncated")));
	assert_true(json_dumpb(result, NULL, 0, 0) <= 30000);
	assert_string_equal(result_status(result), "ok");
	json_object_set_new(result, "status", json_string("fine"));
	assert_null(result_status(result));
	json_decref(result);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_part_counts),
		cmocka_unit_test(lines),
		cmocka_unit_test(times),
		cmocka_unit_test(forms),
		cmocka_unit_test(json),
		cmocka_unit_test(cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
