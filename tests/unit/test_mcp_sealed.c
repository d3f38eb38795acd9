/* SPDX-License-Identifier: Apache-2.0 */
/* requestState: valid only for its own request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_sealed.h"

static const uint8_t key[MCP_SEAL_KEY] = { 1, 2, 3 };
static const uint8_t other_key[MCP_SEAL_KEY] = { 1, 2, 4 };

static struct mcp_seal seal_for(json_t *arguments)
{
	return (struct mcp_seal){
		.key = key,
		.tenant = "alice",
		.method = "tools/call",
		.name = "tool",
		.arguments = arguments,
		.now_s = 1000,
	};
}

static bool opens(const struct mcp_seal *seal, const char *sealed)
{
	_cleanup_free_ char *state = mcp_unseal(seal, sealed);

	if (state) {
		assert_string_equal(state, "state \"1\"");
	}
	return state != NULL;
}

static void test_bound(void **state)
{
	json_t *arguments = json_loads("{\"a\":1,\"b\":[2]}", 0, NULL);
	json_t *same = json_loads("{\"b\":[2],\"a\":1}", 0, NULL);
	json_t *others = json_loads("{\"a\":2,\"b\":[2]}", 0, NULL);
	struct mcp_seal seal = seal_for(arguments), changed;
	_cleanup_free_ char *sealed = mcp_seal(&seal, "state \"1\"", 60);

	(void)state;
	assert_true(opens(&seal, sealed));
	changed = seal_for(same);
	assert_true(opens(&changed, sealed));
	changed = seal_for(others);
	assert_false(opens(&changed, sealed));
	changed = seal_for(NULL);
	assert_false(opens(&changed, sealed));
	changed = seal;
	changed.tenant = "bob";
	assert_false(opens(&changed, sealed));
	changed = seal;
	changed.key = other_key;
	assert_false(opens(&changed, sealed));
	changed = seal;
	changed.method = "prompts/get";
	assert_false(opens(&changed, sealed));
	changed = seal;
	changed.tenant = "alicet"; /* fields do not run into each other */
	changed.method = "ools/call";
	assert_false(opens(&changed, sealed));
	changed = seal;
	changed.now_s = 1060;
	assert_true(opens(&changed, sealed));
	changed.now_s = 1061;
	assert_false(opens(&changed, sealed));
	json_decref(arguments);
	json_decref(same);
	json_decref(others);
}

static void test_tampered(void **state)
{
	struct mcp_seal seal = seal_for(NULL);
	_cleanup_free_ char *sealed = mcp_seal(&seal, "state \"1\"", 60);
	static char huge[200000];

	(void)state;
	for (size_t i = 0; i < strlen(sealed); i++) {
		char was = sealed[i];
		for (const char *c = "AaZ9-_=+ \x80"; *c; c++) {
			sealed[i] = *c;
			assert_int_equal(opens(&seal, sealed), *c == was);
		}
		sealed[i] = '\0';
		assert_false(opens(&seal, sealed));
		sealed[i] = was;
	}
	assert_false(opens(&seal, ""));
	memset(huge, 'A', sizeof(huge) - 1);
	assert_false(opens(&seal, huge));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_tampered),
	};

	if (sodium_init() < 0) {
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
