/* SPDX-License-Identifier: Apache-2.0 */
/* The consent that the warden accepts: claims of a compromised front are refused. */
#include "serve/roles/warden_consent.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* clang-format off: needs the headers above */
#include <cmocka.h>
/* clang-format on */

#include "base/cleanup.h"
#include "role/message.h"

static void add_token(char *text, size_t size, const char *token, const char *more)
{
	unsigned char hash[32];
	char hex[65];

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)token, strlen(token), NULL,
			   0);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	size_t used = strlen(text);
	snprintf(text + used, size - used, "%s{\"name\":\"%s\",\"hash\":\"blake2b:%s\"%s}",
		 text[used - 1] == '[' ? "" : ",", token, hex, more);
}

static void take(struct warden_consent *consent, const char *text)
{
	struct brig_error err = { 0 };
	int block = message_block_make(text, strlen(text));

	assert_true(block >= 0);
	assert_int_equal(warden_consent_take(consent, block, &err), 0);
	close(block);
}

static void test_only_what_the_operator_marked(void **state)
{
	char number[] = "1000";
	char *numbers[] = { number, NULL };
	const struct strlist uids = { .items = numbers, .count = 1 };
	struct warden_consent consent = { .uids = &uids };
	char text[2048] = "{\"tokens\":[";
	static const struct {
		const char *tenant, *caller, *proof;
		bool may;
	} calls[] = {
		{ "marked", "marked", "marked", true },
		{ "home", "far", "far", true },
		/* Names are not enough, and the token must belong to the tenant. */
		{ "marked", "marked", NULL, false },
		{ "marked", "marked", "", false },
		{ "marked", "marked", "plain", false },
		{ "marked", "marked", "marke", false },
		{ "marked", "marked", "marked2", false },
		{ "plain", "marked", "marked", false },
		{ "far", "far", "far", false },
		{ "plain", "plain", "plain", false },
		{ "late", "late", "late", false },
		/* Users: the listed ones, for themselves. */
		{ "uid:1000", "uid:1000", NULL, true },
		{ "uid:1000", "uid:1000", "", true },
		{ "uid:1001", "uid:1001", NULL, false },
		{ "uid:0", "uid:0", NULL, false },
		{ "marked", "uid:1000", NULL, false },
		{ "uid:1000", NULL, NULL, false },
		{ "uid:1000", "1000", NULL, false },
		{ "uid:1000", "uid:1000", "plain", false },
	};

	(void)state;
	add_token(text, sizeof(text), "marked", ",\"consent\":true");
	add_token(text, sizeof(text), "far", ",\"consent\":true,\"tenant\":\"home\"");
	add_token(text, sizeof(text), "plain", "");
	add_token(text, sizeof(text), "late",
		  ",\"consent\":true,\"expires\":\"2020-01-01T00:00:00Z\"");
	size_t used = strlen(text);
	snprintf(text + used, sizeof(text) - used, "]}");
	take(&consent, text);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct engine_call call = { .tenant = calls[i].tenant,
						  .caller = calls[i].caller,
						  .proof = calls[i].proof };
		assert_int_equal(warden_may_consent(&consent, &call), calls[i].may);
	}
	/* With another list the mark is gone. */
	take(&consent, "{\"tokens\":[]}");
	const struct engine_call call = { .tenant = "marked",
					  .caller = "marked",
					  .proof = "marked" };
	assert_false(warden_may_consent(&consent, &call));
	warden_consent_done(&consent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_the_operator_marked),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
