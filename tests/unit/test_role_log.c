/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the log cannot be forged by their contents. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "role/log.h"

static void assert_value(const char *value, size_t size, const char *expected)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };

	role_log_value(&out, value, size);
	assert_string_equal(out.data, expected);
}

static void values(void **state)
{
	(void)state;
	assert_value("plain-1.2/x:y", 13, "plain-1.2/x:y");
	assert_value("", 0, "\"\"");
	assert_value("two words", 9, "\"two words\"");
	assert_value("a=b", 3, "\"a=b\"");
	assert_value("a\nlevel=error", 13, "\"a\\nlevel=error\"");
	assert_value("\x1b[2J", 4, "\"\\x1b[2J\"");
	assert_value("q\"\\", 3, "\"q\\\"\\\\\"");
	assert_value("a\0b", 3, "\"a\\x00b\"");
	assert_value("\xff\xfe", 2, "\"\\xff\\xfe\"");
	assert_value("gr\xc3\xbc\xc3\x9f", 6, "\"gr\xc3\xbc\xc3\x9f\"");
	assert_value("\xc2\x9b", 2, "\"\\xc2\\x9b\"");          /* C1 control sequence introducer */
	assert_value("\xe2\x80\xae", 3, "\"\\xe2\\x80\\xae\""); /* right-to-left override */
	assert_value("\xe2\x80\xa8", 3, "\"\\xe2\\x80\\xa8\""); /* line separator */
}

/* The output of role_log() on stderr. */
static void capture(char *text, size_t size, void (*call)(void))
{
	int pipe_fds[2];
	int saved = dup(STDERR_FILENO);

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_true(dup2(pipe_fds[1], STDERR_FILENO) >= 0);
	call();
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	close(pipe_fds[1]);
	ssize_t n = read(pipe_fds[0], text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	close(pipe_fds[0]);
}

static void log_some(void)
{
	const char *volatile nothing = NULL;

	role_log_open("front", ROLE_INFO);
	role_log(ROLE_DEBUG, "hidden", NULL);
	role_log(ROLE_NOTICE, "event", "a=%s b=%d c=%u d=%zu e=%lu f=%.*s:%d g=%x h=%s", "x y", -1,
		 2u, (size_t)3, 4ul, 2, "abcdef", 5, 255u, nothing);
}

static void line(void **state)
{
	char text[1024];

	(void)state;
	unsetenv("JOURNAL_STREAM");
	capture(text, sizeof(text), log_some);
	assert_memory_equal(text, "time=2", 6);
	assert_string_equal(strchr(text, ' '),
			    " level=notice role=front event=event a=\"x y\" b=-1 "
			    "c=2 d=3 e=4 f=ab:5 g=ff h=-\n");
}

static void log_long(void)
{
	char *value = malloc(100000);

	assert_non_null(value);
	memset(value, '\n', 99999);
	value[99999] = '\0';
	role_log_open("front", ROLE_INFO);
	role_log(ROLE_INFO, "long", "a=%s b=%s c=%s", value, value, value);
	free(value);
}

static void long_lines_are_cut(void **state)
{
	char text[8192];

	(void)state;
	capture(text, sizeof(text), log_long);
	assert_true(strlen(text) <= 4096);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void log_to_journal(void)
{
	struct stat st;
	char stream[64];

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	role_log_open("ledger", ROLE_INFO);
	role_log(ROLE_WARNING, "event", "a=%d", 1);
	unsetenv("JOURNAL_STREAM");
}

static void journal(void **state)
{
	char text[1024];

	(void)state;
	capture(text, sizeof(text), log_to_journal);
	assert_string_equal(text, "<4>level=warning role=ledger event=event a=1\n");
}

static void log_often(void)
{
	role_log_open("front", ROLE_ERROR);
	for (int i = 0; i < 1000; i++) {
		role_log_often(ROLE_ERROR, "often", "one", "n=%d", i);
	}
	role_log_often(ROLE_ERROR, "often", "another", "n=%d", 2000);
	role_log(ROLE_NOTICE, "quiet", NULL);
	role_log(ROLE_ALWAYS, "kept", NULL);
	struct timespec more_than_a_second = { 1, 10000000 };
	nanosleep(&more_than_a_second, NULL);
	role_log_often(ROLE_ERROR, "often", "one", "n=%d", 3000);
	char cause[2] = "";
	for (int i = 1; i < 256; i++) {
		cause[0] = (char)i;
		role_log_often(ROLE_ERROR, "many", cause, "n=%d", 4000);
	}
}

/* For any number of calls there is one line each second, with the number of suppressed lines. */
static void lines_are_left_out(void **state)
{
	char text[65536];
	unsigned lines = 0;

	(void)state;
	capture(text, sizeof(text), log_often);
	assert_non_null(strstr(text, " n=0\n"));
	assert_null(strstr(text, " n=1\n"));
	assert_non_null(strstr(text, " n=2000\n"));
	assert_null(strstr(text, "quiet"));
	assert_non_null(strstr(text, "level=notice role=front event=kept\n"));
	assert_non_null(strstr(text, " n=3000 left_out=999\n"));
	for (const char *at = text; (at = strstr(at, "event=many")); at++) {
		lines++;
	}
	assert_in_range(lines, 32, 64);
}

static void level_names(void **state)
{
	enum role_level level;

	(void)state;
	assert_int_equal(role_level_parse("debug", &level), 0);
	assert_int_equal(level, ROLE_DEBUG);
	assert_string_equal(role_level_name(ROLE_WARNING), "warning");
	assert_true(role_level_parse("loud", &level) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(line),
		cmocka_unit_test(long_lines_are_cut),
		cmocka_unit_test(lines_are_left_out),
		cmocka_unit_test(journal),
		cmocka_unit_test(level_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
