/* SPDX-License-Identifier: Apache-2.0 */
/* The program with OpenSSL, as brig starts it: its answers, and what it says to wrong callers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "role/message.h"
#include "serve/tls/tls_program.h"
#include "serve/tls/tls_texts.h"

static void test_texts(void **state)
{
	static const char both[] = "certificate\0key";
	struct endpoint_texts texts;

	(void)state;
	assert_true(tls_texts_split(both, sizeof(both) - 1, &texts));
	assert_int_equal(texts.certificate_size, 11);
	assert_int_equal(texts.key_size, 3);
	assert_memory_equal(texts.key, "key", 3);
	assert_false(tls_texts_split(NULL, 0, &texts));
	assert_false(tls_texts_split("certificate", 11, &texts));
}

static int ask(const char *const argv[], int input, struct brig_error *err)
{
	struct tls_child child = { 0 };
	struct tls_answer answer;
	int r = tls_program_ask(argv, input, &child, &answer, err);

	assert_int_equal(child.pid, 0); /* every question here fails */
	assert_int_equal(tls_child_end(&child), 0);
	return r;
}

static void test_damaged_pairs(void **state)
{
	static const char *const argv[] = { "brig-tls", TLS_WORD_CHECK, "/a.pem", "/a.key", NULL };
	static const char *const texts[] = { "", "\0", "x\0y", "-----BEGIN CERTIFICATE-----\0" };
	static const size_t sizes[] = { 0, 1, 3, 28 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_close_ int block = message_block_make(texts[i], sizes[i]);
		struct brig_error error = { 0 };

		assert_true(block >= 0);
		assert_int_equal(ask(argv, block, &error), -EINVAL);
		assert_int_equal(error.code, BRIG_E_INPUT);
		assert_non_null(strstr(error.message, "tls.certificate: /a.pem"));
		assert_true(error.remedy[0]);
	}
}

/* A file that could still change is none of the supervisor's. */
static void test_a_file_that_is_not_sealed(void **state)
{
	static const char *const argv[] = { "brig-tls", TLS_WORD_CHECK, "/a.pem", "/a.key", NULL };
	_cleanup_close_ int file = memfile_open("test");
	struct brig_error error = { 0 };

	(void)state;
	assert_int_equal(write(file, "x\0y", 3), 3);
	assert_true(ask(argv, file, &error) < 0);
}

static void test_wrong_words(void **state)
{
	static const char *const lists[][5] = {
		{ "brig-tls" },
		{ "brig-tls", "other", "a", "b" },
		{ "brig-tls", TLS_WORD_CHECK, "a" },
		{ "brig-tls", TLS_WORD_CLIENT, "a", "b" },
		{ "brig-warden", "--role" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		struct brig_error error = { 0 };

		assert_int_equal(ask(lists[i], null, &error), -EPROTO);
		assert_non_null(strstr(error.message, "without an answer"));
	}
}

static void test_authorities_that_are_none(void **state)
{
	static const char *const argv[] = { "brig-tls", TLS_WORD_CLIENT, "a.test",
					    "a.test:1", "/dev/null",     NULL };
	struct brig_error error = { 0 };
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	close(pair[1]);
	assert_int_equal(ask(argv, pair[0], &error), -EINVAL);
	assert_non_null(strstr(error.message, "cannot read authorities from /dev/null"));
	close(pair[0]);
}

/* Nobody can change the program between its making and its start. */
static void test_the_file_is_sealed(void **state)
{
	_cleanup_close_ int file = tls_program_file(NULL);

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(fcntl(file, F_GET_SEALS),
			 F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	assert_true(pwrite(file, "x", 1, 0) < 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_damaged_pairs),
		cmocka_unit_test(test_a_file_that_is_not_sealed),
		cmocka_unit_test(test_wrong_words),
		cmocka_unit_test(test_authorities_that_are_none),
		cmocka_unit_test(test_the_file_is_sealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
