/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC messages: refused, read and written ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_limits.h"
#include "mcp/mcp_message.h"

static const char *load_fault(const char *text, size_t size)
{
	const char *why = NULL;
	json_t *root = mcp_message_load(text, size, 1u << 20, &why);

	if (root) {
		json_decref(root);
		return NULL;
	}
	assert_non_null(why);
	return why;
}

static void test_load(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{}", NULL },
		{ " [1, {\"a\":[]}] ", NULL },
		{ "{\"a\":\"[[[[\\\"{{{{\"}", NULL },
		{ "", "not JSON" },
		{ "5", "not JSON" },
		{ "{}{}", "not JSON" },
		{ "{\"a\":1,\"a\":1}", "a key is there twice" },
		{ "{\"a\":{\"b\":1,\"b\":2}}", "a key is there twice" },
		{ "{\"\xff\":1}", "not UTF-8" },
		{ "{\"a\":\"\\u0000\"}", "a NUL character" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *why = load_fault(cases[i].text, strlen(cases[i].text));
		if (cases[i].why) {
			assert_string_equal(why, cases[i].why);
		} else {
			assert_null(why);
		}
	}
}

static void test_bounds(void **state)
{
	static char text[400000];

	(void)state;
	memset(text, '[', MCP_DEPTH_MAX);
	memset(text + MCP_DEPTH_MAX, ']', MCP_DEPTH_MAX);
	assert_null(load_fault(text, 2 * MCP_DEPTH_MAX));
	memset(text, '[', 200000);
	assert_string_equal(load_fault(text, 200000), "nested too deep");
	text[0] = '[';
	for (size_t i = 1; i < 300000; i += 3) {
		memcpy(text + i, "[],", 3);
	}
	assert_string_equal(load_fault(text, 300001), "too many values");
	const char *why;
	assert_null(mcp_message_load("{}  ", 4, 3, &why));
	assert_string_equal(why, "too long");
}

static bool reads(const char *text, struct mcp_message *ret, json_t **ret_root)
{
	const char *why = NULL;

	*ret_root = json_loads(text, JSON_DECODE_ANY, NULL);
	assert_non_null(*ret_root);
	bool good = mcp_message_read(*ret_root, ret, &why);
	assert_true(good == (why == NULL));
	return good;
}

static void test_read(void **state)
{
	static const struct {
		const char *text;
		int kind; /* -1: none */
		bool id;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", MCP_REQUEST, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"\",\"params\":{}}", MCP_REQUEST,
		  true },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", MCP_NOTIFICATION, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", MCP_RESPONSE, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{},\"result\":{}}", -1, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"result\":{}}", -1, true },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", -1, true },
		{ "{\"jsonrpc\":\"2.0\",\"result\":{}}", -1, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", -1, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}", -1, false },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}", -1, true },
		{ "{\"jsonrpc\":\"2.1\",\"id\":1,\"method\":\"m\"}", -1, true },
		{ "{\"id\":1,\"method\":\"m\"}", -1, true },
		{ "[]", -1, false },
		{ "5", -1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mcp_message message;
		json_t *root;
		bool good = reads(cases[i].text, &message, &root);
		assert_int_equal(good, cases[i].kind >= 0);
		assert_int_equal(message.id != NULL, cases[i].id);
		if (good) {
			assert_int_equal(message.kind, cases[i].kind);
		}
		json_decref(root);
	}
}

static void expect_text(json_t *message, const char *expected)
{
	size_t size;
	_cleanup_free_ char *text = mcp_message_text(message, &size);

	assert_string_equal(text, expected);
	assert_int_equal(size, strlen(expected));
	json_decref(message);
}

static void test_write(void **state)
{
	json_t *id = json_string("a\nb");

	(void)state;
	expect_text(mcp_message_result(id, json_object()),
		    "{\"jsonrpc\":\"2.0\",\"id\":\"a\\nb\",\"result\":{}}");
	expect_text(mcp_message_error(NULL, -5, "no", NULL),
		    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-5,\"message\":\"no\"}}");
	expect_text(mcp_message_error(id, -5, "no", json_integer(1)),
		    "{\"jsonrpc\":\"2.0\",\"id\":\"a\\nb\",\"error\":{\"code\":-5,"
		    "\"message\":\"no\",\"data\":1}}");
	expect_text(mcp_message_notification("n", NULL), "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
	expect_text(mcp_message_request(7, "m", json_object()),
		    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":{}}");
	json_decref(id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
