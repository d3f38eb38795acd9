/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units: accepted and refused forms, and that text and value agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

struct accepted {
	enum unit unit;
	const char *text;
	uint64_t value;
};

static const struct accepted accepted[] = {
	{ UNIT_COUNT, "0", 0 },
	{ UNIT_COUNT, "64", 64 },
	{ UNIT_COUNT, "007", 7 },
	{ UNIT_COUNT, "18446744073709551615", UINT64_MAX },
	{ UNIT_BYTES, "1048576", 1048576 },
	{ UNIT_BYTES, "1k", 1024 },
	{ UNIT_BYTES, "1K", 1024 },
	{ UNIT_BYTES, "1Ki", 1024 },
	{ UNIT_BYTES, "1KiB", 1024 },
	{ UNIT_BYTES, "256M", 268435456 },
	{ UNIT_BYTES, "256MiB", 268435456 },
	{ UNIT_BYTES, "1.5G", 1610612736 },
	{ UNIT_BYTES, "2T", UINT64_C(2) << 40 },
	{ UNIT_BYTES, "16777215T", UINT64_C(16777215) << 40 },
	{ UNIT_BYTES, "0.1K", 102 },
	{ UNIT_TIME, "5", UINT64_C(5000000000) },
	{ UNIT_TIME, "5s", UINT64_C(5000000000) },
	{ UNIT_TIME, "300ms", 300000000 },
	{ UNIT_TIME, "1.5s", 1500000000 },
	{ UNIT_TIME, "0.3s", 300000000 },
	{ UNIT_TIME, "0.1", 100000000 },
	{ UNIT_TIME, "0.0001s", 100000 },
	{ UNIT_TIME, "0.000000001s", 1 },
	{ UNIT_TIME, "7us", 7000 },
	{ UNIT_TIME, "7ns", 7 },
	{ UNIT_TIME, "2m", UINT64_C(120000000000) },
	{ UNIT_TIME, "1.5h", UINT64_C(5400000000000) },
	{ UNIT_TIME, "18446744073.709551615", UINT64_MAX },
	{ UNIT_TIME, "0.99999999999999999999999999999s", 999999999 },
	{ UNIT_MILLICORES, "0.5", 500 },
	{ UNIT_MILLICORES, "2", 2000 },
	{ UNIT_MILLICORES, "0.001", 1 },
	{ UNIT_MILLICORES, "1.2345", 1234 },
};

static const char *const wrong[] = {
	"",         "-1",
	"+1",       "1e3",
	"nan",      "inf",
	"infinity", " 5",
	"5 ",       "5\n",
	"0x10",     "1..5",
	".5",       "5.",
	".",        "1.2.3",
	"1,5",      "1_000",
	"M",        "s",
	"1MM",      "1 M",
	"1.M",      "1.sM",
	"1KB",      "1B",
	"1mib",     "1m s",
	"1\t",      "\xd9\xa1",
	"1P",       "5S",
	"5sec",     "000000000000000000000000000000001",
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(accepted); i++) {
		const struct accepted *a = &accepted[i];
		uint64_t value = 42;
		int r = unit_parse(a->unit, a->text, &value);
		if (r != 0 || value != a->value) {
			print_error("%s: %d, %llu\n", a->text, r, (unsigned long long)value);
		}
		assert_int_equal(r, 0);
		assert_true(value == a->value);
	}
}

static void test_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		for (enum unit unit = UNIT_COUNT; unit <= UNIT_MILLICORES; unit++) {
			uint64_t value = 42;
			int r = unit_parse(unit, wrong[i], &value);
			if (r != -EINVAL) {
				print_error("unit %d: '%s' gave %d\n", (int)unit, wrong[i], r);
			}
			assert_int_equal(r, -EINVAL);
			assert_true(value == 42);
		}
	}
	uint64_t value;
	assert_int_equal(unit_parse(UNIT_COUNT, NULL, &value), -EINVAL);
	assert_int_equal(unit_parse((enum unit)9, "1", &value), -EINVAL);
}

static void test_foreign_suffix(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(unit_parse(UNIT_COUNT, "1k", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_COUNT, "1.5", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_COUNT, "1.0", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_BYTES, "1s", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_BYTES, "1.5", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_BYTES, "0.0", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_TIME, "1M", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_TIME, "1.5ns", &value), -EINVAL);
	assert_int_equal(unit_parse(UNIT_MILLICORES, "500m", &value), -EINVAL);
}

static void test_range(void **state)
{
	uint64_t value = 42;

	(void)state;
	assert_int_equal(unit_parse(UNIT_COUNT, "18446744073709551616", &value), -ERANGE);
	assert_int_equal(unit_parse(UNIT_COUNT, "99999999999999999999999999999999", &value),
			 -ERANGE);
	assert_int_equal(unit_parse(UNIT_BYTES, "16777216T", &value), -ERANGE);
	assert_int_equal(unit_parse(UNIT_TIME, "18446744073.709551616", &value), -ERANGE);
	assert_int_equal(unit_parse(UNIT_TIME, "18446744074", &value), -ERANGE);
	/* A value below the smallest must not become zero. */
	assert_int_equal(unit_parse(UNIT_TIME, "0.0000000001s", &value), -ERANGE);
	assert_int_equal(unit_parse(UNIT_MILLICORES, "0.0005", &value), -ERANGE);
	assert_int_equal(unit_parse(UNIT_BYTES, "0.0001k", &value), -ERANGE);
	assert_true(value == 42);
}

static const struct accepted formatted[] = {
	{ UNIT_COUNT, "0", 0 },
	{ UNIT_COUNT, "64", 64 },
	{ UNIT_BYTES, "0", 0 },
	{ UNIT_BYTES, "1000", 1000 },
	{ UNIT_BYTES, "1K", 1024 },
	{ UNIT_BYTES, "1.5K", 1536 },
	{ UNIT_BYTES, "256M", 268435456 },
	{ UNIT_BYTES, "1.5G", 1610612736 },
	{ UNIT_BYTES, "268435457", 268435457 },
	{ UNIT_TIME, "0s", 0 },
	{ UNIT_TIME, "1.5s", 1500000000 },
	{ UNIT_TIME, "300ms", 300000000 },
	{ UNIT_TIME, "90s", UINT64_C(90000000000) },
	{ UNIT_TIME, "2m", UINT64_C(120000000000) },
	{ UNIT_TIME, "1h", UINT64_C(3600000000000) },
	{ UNIT_TIME, "1.234567ms", 1234567 },
	{ UNIT_TIME, "999ns", 999 },
	{ UNIT_MILLICORES, "0.5", 500 },
	{ UNIT_MILLICORES, "0", 0 },
	{ UNIT_MILLICORES, "4", 4000 },
	{ UNIT_MILLICORES, "0.001", 1 },
};

static void test_format(void **state)
{
	char text[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(formatted); i++) {
		const struct accepted *f = &formatted[i];
		assert_string_equal(unit_format(f->unit, f->value, text, sizeof(text)), f->text);
	}
	assert_string_equal(unit_format(UNIT_COUNT, 123456, text, 4), "123");
	assert_string_equal(unit_format(UNIT_COUNT, 5, text, 0), "");
	assert_string_equal(unit_format((enum unit)9, 5, text, sizeof(text)), "");
}

static void test_round_trip(void **state)
{
	uint64_t seed = 1;
	char text[40];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		uint64_t value = i % 2 ? seed >> (i % 64) : seed >> (i % 64) << (i % 48);
		enum unit unit = (enum unit)(i % 4);
		uint64_t back;
		unit_format(unit, value, text, sizeof(text));
		assert_int_equal(unit_parse(unit, text, &back), 0);
		assert_true(value == back);
	}
}

static void test_describe(void **state)
{
	(void)state;
	assert_string_equal(unit_describe(UNIT_BYTES), "a size such as 256M");
	for (enum unit unit = UNIT_COUNT; unit <= UNIT_MILLICORES; unit++) {
		assert_true(strlen(unit_describe(unit)) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),       cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_foreign_suffix), cmocka_unit_test(test_range),
		cmocka_unit_test(test_format),         cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_describe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
