/* SPDX-License-Identifier: Apache-2.0 */
/* Lines for the log: see log.h. */
#include "role/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"

#define VALUE_MAX  1024 /* bytes of one value before escaping: the rest is cut */
#define LINE_BYTES 4000 /* a write to a pipe of no more than 4096 bytes is never torn */

/* A process has one stderr and one role: the only state of its kind in the service. */
static struct {
	const char *role;
	enum role_level most;
	bool journal;
} logger = { .role = "brig", .most = ROLE_INFO };

const struct role_level_info role_levels[ROLE_LEVELS] = {
	{ ROLE_ERROR, "error" }, { ROLE_WARNING, "warning" }, { ROLE_NOTICE, "notice" },
	{ ROLE_INFO, "info" },   { ROLE_DEBUG, "debug" },
};

int role_level_parse(const char *text, enum role_level *ret)
{
	for (size_t i = 0; i < ROLE_LEVELS; i++) {
		if (strcmp(role_levels[i].name, text) == 0) {
			*ret = role_levels[i].level;
			return 0;
		}
	}
	return -EINVAL;
}

const char *role_level_name(enum role_level level)
{
	for (size_t i = 0; i < ROLE_LEVELS; i++) {
		if (role_levels[i].level == level) {
			return role_levels[i].name;
		}
	}
	return "info";
}

/*
 * systemd names the file that its journal reads; prefixes are written only if that is our stderr.
 */
static bool is_journal(void)
{
	const char *stream = secure_getenv("JOURNAL_STREAM");
	char mine[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0) {
		return false;
	}
	snprintf(mine, sizeof(mine), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(stream, mine) == 0;
}

void role_log_open(const char *role, enum role_level most)
{
	logger.role = role;
	logger.most = most;
	logger.journal = is_journal();
}

bool role_log_wanted(enum role_level level)
{
	return level <= logger.most;
}

/* --- values ------------------------------------------------------------------------------- */

static bool is_plain(uint32_t c)
{
	return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
}

/*
 * C1 controls, marks that reverse the direction of text, and separators are not harmless: they are
 * invisible, or worse.
 */
static bool is_harmless(uint32_t c)
{
	return c >= 0xa0 && c != 0xad && c != 0x61c && !(c >= 0x200b && c <= 0x200f) &&
	       !(c >= 0x2028 && c <= 0x202f) && !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff &&
	       !(c >= 0xfff0 && c <= 0xfffb) && c < 0xe0000;
}

static void add_escaped(struct buf *out, const char *bytes, size_t size, uint32_t c, bool valid)
{
	if (valid && (is_plain(c) || c == ' ' || c == '=' || is_harmless(c))) {
		buf_add(out, bytes, size);
	} else if (c == '"' || c == '\\') {
		buf_addf(out, "\\%c", (char)c);
	} else if (c == '\n') {
		buf_adds(out, "\\n");
	} else {
		for (size_t i = 0; i < size; i++) {
			buf_addf(out, "\\x%02x", (unsigned char)bytes[i]);
		}
	}
}

void role_log_value(struct buf *out, const char *value, size_t size)
{
	size_t plain = 0;

	while (plain < size && is_plain((unsigned char)value[plain])) {
		plain++;
	}
	if (plain == size && size > 0) {
		buf_add(out, value, size);
		return;
	}
	buf_addc(out, '"');
	for (size_t at = 0, used; at < size; at += used) {
		uint32_t c;
		bool valid = utf8_decode(value + at, size - at, &used, &c);
		add_escaped(out, value + at, used, c, valid);
	}
	buf_addc(out, '"');
}

/* --- formats ------------------------------------------------------------------------------ */

/* The arguments that are left; in a struct, so that functions can consume the same list. */
struct log_arguments {
	va_list list;
};

static void add_text(struct buf *value, const char *text, int most)
{
	size_t limit = most >= 0 && most < VALUE_MAX ? (size_t)most : VALUE_MAX;

	if (!text) {
		text = "-";
	}
	buf_add(value, text, strnlen(text, limit));
}

static void add_number(struct buf *value, struct log_arguments *arguments, char kind,
		       unsigned longs)
{
	bool is_signed = kind == 'd' || kind == 'i';

	if (is_signed) {
		intmax_t n = longs ? va_arg(arguments->list, long) : va_arg(arguments->list, int);
		buf_addf(value, "%jd", n);
		return;
	}
	uintmax_t n = longs ? va_arg(arguments->list, unsigned long)
			    : va_arg(arguments->list, unsigned int);
	if (kind == 'x') {
		buf_addf(value, "%jx", n);
	} else {
		buf_addf(value, "%ju", n);
	}
}

_Static_assert(sizeof(long) == sizeof(long long) && sizeof(long) == sizeof(size_t),
	       "l, ll and z are read alike");

/* One conversion; `format` is behind its '%'. Returns where the format continues. */
static const char *add_conversion(struct buf *value, struct log_arguments *arguments,
				  const char *format)
{
	unsigned longs = 0;
	int most = -1;

	if (format[0] == '.' && format[1] == '*') {
		most = va_arg(arguments->list, int);
		format += 2;
	}
	for (; *format == 'l' || *format == 'z' || *format == 'h' || *format == 'j'; format++) {
		longs += *format != 'h';
	}
	switch (*format) {
	case 's':
		add_text(value, va_arg(arguments->list, const char *), most);
		break;
	case 'c': {
		char c = (char)va_arg(arguments->list, int);
		buf_addc(value, c);
		break;
	}
	case 'd':
	case 'i':
	case 'u':
	case 'x':
		add_number(value, arguments, *format, longs);
		break;
	default: /* not supported; the arguments behind it cannot be identified any more */
		buf_adds(value, "?");
		return "";
	}
	return format + 1;
}

/* One "key=value" of the format. Returns the rest of it. */
static const char *add_word(struct buf *line, struct log_arguments *arguments, const char *format)
{
	_cleanup_(buf_done)
	struct buf value = { 0 };
	size_t key = strcspn(format, "= ");

	buf_addc(line, ' ');
	buf_add(line, format, key);
	format += key;
	if (*format != '=') {
		return format;
	}
	buf_addc(line, '=');
	for (format++; *format && *format != ' ';) {
		if (*format == '%' && format[1] != '%') {
			format = add_conversion(&value, arguments, format + 1);
		} else {
			format += *format == '%';
			buf_addc(&value, *format++);
		}
	}
	size_t size = value.size < VALUE_MAX ? value.size : VALUE_MAX;
	role_log_value(line, value.data ? value.data : "", size);
	return format;
}

static void add_head(struct buf *line, enum role_level level, const char *event)
{
	if (logger.journal) {
		buf_addf(line, "<%d>", (int)level);
	} else {
		struct timespec now;
		struct tm tm;
		char when[32];

		clock_gettime(CLOCK_REALTIME, &now);
		gmtime_r(&now.tv_sec, &tm);
		strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
		buf_addf(line, "time=%s.%03ldZ ", when, now.tv_nsec / 1000000);
	}
	buf_addf(line, "level=%s role=%s event=%s", role_level_name(level), logger.role, event);
}

void role_log(enum role_level level, const char *event, const char *format, ...)
{
	_cleanup_(buf_done)
	struct buf line = { 0 };
	struct log_arguments arguments;
	int saved = errno;

	if (!role_log_wanted(level)) {
		return;
	}
	add_head(&line, level == ROLE_ALWAYS ? ROLE_NOTICE : level, event);
	va_start(arguments.list, format);
	while (format && *format) {
		while (*format == ' ') {
			format++;
		}
		format = *format ? add_word(&line, &arguments, format) : format;
	}
	va_end(arguments.list);
	size_t size = line.size < LINE_BYTES ? line.size : LINE_BYTES;
	if (!line.failed && size > 0) {
		buf_addc(&line, '\n');
		line.data[size] = '\n';
		(void)!write(STDERR_FILENO, line.data, size + 1);
	}
	errno = saved;
}
