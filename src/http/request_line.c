/* The first line of a request: see request_line.h. */
#include "http/request_line.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/characters.h"

const char request_line_allow[] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

static const struct {
	const char *name;
	bool taken;
} methods[] = {
	{ "GET", true },     { "HEAD", true },     { "POST", true },
	{ "PUT", true },     { "PATCH", true },    { "DELETE", true },
	{ "OPTIONS", true }, { "CONNECT", false }, { "TRACE", false },
};

static int wrong(const char **why, const char *text)
{
	*why = text;
	return 400;
}

static int read_version(const char *text, size_t size, unsigned *ret_minor, const char **why)
{
	if (size != strlen("HTTP/1.1") || memcmp(text, "HTTP/", 5) != 0 || text[6] != '.' ||
	    !character_is_digit((unsigned char)text[5]) ||
	    !character_is_digit((unsigned char)text[7])) {
		return wrong(why, "the request line does not end with a version of HTTP");
	}
	if (text[5] != '1' || text[7] > '1') {
		*why = "only HTTP/1.1 and HTTP/1.0 are spoken here";
		return 505;
	}
	*ret_minor = (unsigned)(text[7] - '0');
	return 0;
}

static int read_method(const char *text, size_t size, const char **ret, const char **why)
{
	for (size_t i = 0; i < size; i++) {
		if (!character_is_token((unsigned char)text[i])) {
			return wrong(why, "the method is not a token");
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (strlen(methods[i].name) != size || memcmp(methods[i].name, text, size) != 0) {
			continue;
		}
		if (!methods[i].taken) {
			*why = "the method is not allowed";
			return 405;
		}
		*ret = methods[i].name;
		return 0;
	}
	*why = "the method is not known";
	return 501;
}

int request_line_read(const char *line, size_t size, struct request_line *ret, const char **why)
{
	const char *end = line + size;
	const char *first = memchr(line, ' ', size);
	const char *second = first ? memchr(first + 1, ' ', (size_t)(end - first - 1)) : NULL;

	if (!second || first == line || second == first + 1) {
		return wrong(why, "the request line is not a method, a target and a version");
	}
	int status = read_version(second + 1, (size_t)(end - second - 1), &ret->minor, why);
	status = status ? status : read_method(line, (size_t)(first - line), &ret->method, why);
	ret->target_at = (size_t)(first + 1 - line);
	ret->target_size = (size_t)(second - first - 1);
	return status;
}
