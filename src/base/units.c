/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units. Only integers: no strtod, so no locale, no exponent, no hexadecimal, no
 * infinity, and 0.3s is 300000000 ns, not one less.
 */
#include "base/units.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define TEXT_MAX 32

struct suffix {
	const char *text;
	uint64_t factor;
};

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define SEC UINT64_C(1000000000)

static const struct suffix count_suffixes[] = { { "", 1 }, { NULL, 0 } };

static const struct suffix bytes_suffixes[] = {
	{ "", 1 },      { "k", KIB },  { "K", KIB },   { "Ki", KIB }, { "KiB", KIB }, { "m", MIB },
	{ "M", MIB },   { "Mi", MIB }, { "MiB", MIB }, { "g", GIB },  { "G", GIB },   { "Gi", GIB },
	{ "GiB", GIB }, { "t", TIB },  { "T", TIB },   { "Ti", TIB }, { "TiB", TIB }, { NULL, 0 },
};

static const struct suffix time_suffixes[] = {
	{ "", SEC },  { "ns", 1 },       { "us", 1000 },      { "ms", 1000000 },
	{ "s", SEC }, { "m", 60 * SEC }, { "h", 3600 * SEC }, { NULL, 0 },
};

static const struct suffix cores_suffixes[] = { { "", 1000 }, { NULL, 0 } };

/*
 * The forms that unit_format may choose, largest first; `decimals` is the most decimals of a
 * fraction.
 */
struct form {
	const char *text;
	uint64_t factor;
	int decimals;
};

static const struct form count_forms[] = { { "", 1, 0 } };
static const struct form bytes_forms[] = {
	{ "T", TIB, 3 }, { "G", GIB, 3 }, { "M", MIB, 3 }, { "K", KIB, 3 }, { "", 1, 0 },
};
static const struct form time_forms[] = {
	{ "h", 3600 * SEC, 0 }, { "m", 60 * SEC, 0 }, { "s", SEC, 9 },
	{ "ms", 1000000, 6 },   { "us", 1000, 3 },    { "ns", 1, 0 },
};
static const struct form cores_forms[] = { { "", 1000, 3 } };

static const struct {
	const char *description;
	const char *spelling; /* of all accepted forms */
	const struct suffix *suffixes;
	const struct form *forms;
	size_t forms_count;
	const char *zero;
} kinds[] = {
	[UNIT_COUNT] = { "a whole number such as 64", "write digits only", count_suffixes,
			 count_forms, ARRAY_SIZE(count_forms), "0" },
	[UNIT_BYTES] = { "a size such as 256M",
			 "write bytes, or a number with K, M or G, such as 256M or 2g",
			 bytes_suffixes, bytes_forms, ARRAY_SIZE(bytes_forms), "0" },
	[UNIT_TIME] = { "a time such as 5s or 300ms",
			"write seconds, or a number with ms, s, m or h, such as 5s", time_suffixes,
			time_forms, ARRAY_SIZE(time_forms), "0s" },
	[UNIT_MILLICORES] = { "a number of cores such as 0.5", "write a number, such as 0.5 or 2",
			      cores_suffixes, cores_forms, ARRAY_SIZE(cores_forms), "0" },
};

static size_t digits_span(const char *text)
{
	return strspn(text, "0123456789");
}

static int whole_scale(const char *digits, size_t count, uint64_t factor, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value)) {
			return -ERANGE;
		}
	}
	if (__builtin_mul_overflow(value, factor, &value)) {
		return -ERANGE;
	}
	*ret = value;
	return 0;
}

/*
 * The fraction 0.d1d2d3... times the factor, rounded down, from the last digit to the first: a
 * floor of a floor is the floor of the whole, so this is exact, and no step exceeds 10 factors.
 */
static uint64_t fraction_scale(const char *digits, size_t count, uint64_t factor)
{
	uint64_t value = 0;

	while (count > 0) {
		value = ((uint64_t)(digits[--count] - '0') * factor + value) / 10;
	}
	return value;
}

static uint64_t suffix_factor(enum unit unit, const char *text)
{
	const struct suffix *suffix = kinds[unit].suffixes;

	while (suffix->text && strcmp(suffix->text, text) != 0) {
		suffix++;
	}
	return suffix->factor;
}

int unit_parse(enum unit unit, const char *text, uint64_t *ret)
{
	if (!text || (size_t)unit >= ARRAY_SIZE(kinds) || strnlen(text, TEXT_MAX + 1) > TEXT_MAX) {
		return -EINVAL;
	}
	size_t whole = digits_span(text);
	const char *rest = text + whole;
	const char *digits = rest;
	size_t fraction = 0;
	if (*rest == '.') {
		digits = rest + 1;
		fraction = digits_span(digits);
		rest = digits + fraction;
	}
	uint64_t factor = suffix_factor(unit, rest);
	if (whole == 0 || factor == 0) {
		return -EINVAL;
	}
	/* "5." is not a number, and there is no half of a byte, a nanosecond or a process. */
	if (*(text + whole) == '.' && (fraction == 0 || factor == 1)) {
		return -EINVAL;
	}
	uint64_t value;
	int r = whole_scale(text, whole, factor, &value);
	if (r < 0) {
		return r;
	}
	if (__builtin_add_overflow(value, fraction_scale(digits, fraction, factor), &value)) {
		return -ERANGE;
	}
	/* A value that is too small must not become 0, which means "no limit given" elsewhere. */
	if (value == 0 && strpbrk(text, "123456789")) {
		return -ERANGE;
	}
	*ret = value;
	return 0;
}

/* Writes value / factor with its fraction; false when that many decimals are not exact. */
static bool form_print(const struct form *form, uint64_t value, char *buffer, size_t size)
{
	char decimals[16] = "";
	size_t count = 0;
	uint64_t rest = value % form->factor;

	while (rest != 0) {
		if (count == (size_t)form->decimals) {
			return false;
		}
		rest *= 10;
		decimals[count++] = (char)('0' + rest / form->factor);
		rest %= form->factor;
	}
	decimals[count] = '\0';
	snprintf(buffer, size, "%llu%s%s%s", (unsigned long long)(value / form->factor),
		 count ? "." : "", decimals, form->text);
	return true;
}

const char *unit_format(enum unit unit, uint64_t value, char *buffer, size_t size)
{
	if (size == 0 || (size_t)unit >= ARRAY_SIZE(kinds)) {
		return "";
	}
	snprintf(buffer, size, "%s", kinds[unit].zero);
	for (size_t i = 0; value != 0 && i < kinds[unit].forms_count; i++) {
		const struct form *form = &kinds[unit].forms[i];
		bool last = i + 1 == kinds[unit].forms_count;
		if ((value >= form->factor || last) && form_print(form, value, buffer, size)) {
			break;
		}
	}
	return buffer;
}

const char *unit_describe(enum unit unit)
{
	return (size_t)unit < ARRAY_SIZE(kinds) ? kinds[unit].description : "a number";
}

const char *unit_spelling(enum unit unit)
{
	return (size_t)unit < ARRAY_SIZE(kinds) ? kinds[unit].spelling : "write a number";
}
