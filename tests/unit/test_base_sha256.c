/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the published vectors, and fields that cannot run together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/bytes/sha256.h"

static void test_vectors(void **state)
{
	struct sha256 hash;
	char hex[SHA256_HEX_SIZE];

	(void)state;
	sha256_init(&hash);
	sha256_add(&hash, NULL, 0);
	sha256_hex(&hash, hex);
	assert_string_equal(hex,
			    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_init(&hash);
	sha256_add(&hash, "a", 1);
	sha256_add(&hash, "bc", 2);
	sha256_hex(&hash, hex);
	assert_string_equal(hex,
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_init(&hash);
	for (int i = 0; i < 10000; i++) {
		char block[100];
		memset(block, 'a', sizeof(block));
		sha256_add(&hash, block, sizeof(block));
	}
	sha256_hex(&hash, hex);
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void fields_hex(const char *a, const char *b, char hex[SHA256_HEX_SIZE])
{
	struct sha256 hash;

	sha256_init(&hash);
	sha256_add_field(&hash, a, a ? strlen(a) : 0);
	sha256_add_field(&hash, b, b ? strlen(b) : 0);
	sha256_hex(&hash, hex);
}

static void test_fields(void **state)
{
	char one[SHA256_HEX_SIZE];
	char two[SHA256_HEX_SIZE];
	struct sha256 hash;

	(void)state;
	fields_hex("ab", "c", one);
	fields_hex("a", "bc", two);
	assert_string_not_equal(one, two);
	fields_hex("", "", one);
	fields_hex(NULL, NULL, two);
	assert_string_equal(one, two);
	/* The form is fixed: caches and audit records depend on it. */
	fields_hex("ab", "c", one);
	sha256_init(&hash);
	sha256_add(&hash, "\2\0\0\0\0\0\0\0ab\1\0\0\0\0\0\0\0c", 19);
	sha256_hex(&hash, two);
	assert_string_equal(one, two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
