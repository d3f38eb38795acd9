/* What the headers say of the message itself: see framing.h. */
#include "http/framing.h"

#include <string.h>
#include <strings.h>

#include "http/characters.h"

#define LENGTH_DIGITS_MAX 18

static int wrong(const char **why, const char *text)
{
	*why = text;
	return 400;
}

static const char *find(const struct headers *headers, const char *name)
{
	return headers_find(headers->list, headers->count, name);
}

/* Where the host ends: at the port's colon, or at the end; NULL: it is none. */
static const char *skip_host(const char *at)
{
	if (*at == '[') {
		size_t size = strspn(at + 1, "0123456789abcdefABCDEF:.");
		return size > 1 && at[1 + size] == ']' ? at + size + 2 : NULL;
	}
	const char *start = at;
	while (*at && *at != ':') {
		if (*at == '%' && character_hex((unsigned char)at[1]) >= 0 &&
		    character_hex((unsigned char)at[2]) >= 0) {
			at += 3;
		} else if (character_is_host((unsigned char)*at)) {
			at++;
		} else {
			return NULL;
		}
	}
	return at > start ? at : NULL;
}

static int check_host(const char *host, unsigned minor, const char **why)
{
	if (!host) {
		return minor == 0 ? 0 : wrong(why, "there is no Host header");
	}
	const char *at = skip_host(host);
	if (at && *at == ':') {
		size_t digits = strspn(at + 1, "0123456789");
		at = digits >= 1 && digits <= 5 ? at + 1 + digits : NULL;
	}
	return at && !*at ? 0 : wrong(why, "the Host header is not a host and a port");
}

static int read_length(struct framing *framing, const char *value, const char **why)
{
	if (!value) {
		return 0;
	}
	size_t digits = strspn(value, "0123456789");
	if (digits == 0 || value[digits] || digits > LENGTH_DIGITS_MAX) {
		return wrong(why, "the Content-Length header is not a length");
	}
	for (const char *at = value; *at; at++) {
		framing->length = framing->length * 10 + (unsigned)(*at - '0');
	}
	framing->has_length = true;
	return 0;
}

static int read_encoding(struct framing *framing, const char *value, unsigned minor,
			 const char **why)
{
	if (!value) {
		return 0;
	}
	if (minor == 0) {
		return wrong(why, "HTTP/1.0 has no Transfer-Encoding");
	}
	if (framing->has_length) {
		return wrong(why, "Content-Length and Transfer-Encoding came together");
	}
	if (strcasecmp(value, "chunked") != 0) {
		return wrong(why, "the only Transfer-Encoding here is \"chunked\"");
	}
	framing->chunked = true;
	return 0;
}

static int read_expectation(struct framing *framing, const char *value, unsigned minor,
			    const char **why)
{
	if (!value || minor == 0) {
		return 0;
	}
	if (strcasecmp(value, "100-continue") != 0) {
		*why = "the only expectation that is met here is \"100-continue\"";
		return 417;
	}
	framing->expects_continue = true;
	return 0;
}

static bool list_has(const char *list, const char *word)
{
	size_t size = strlen(word);

	while (list && *list) {
		list += strspn(list, " \t,");
		size_t item = strcspn(list, " \t,");
		if (item == size && strncasecmp(list, word, size) == 0) {
			return true;
		}
		list += item;
	}
	return false;
}

int framing_read(struct framing *framing, const struct headers *headers, unsigned minor,
		 const char **why)
{
	const char *connection = find(headers, "Connection");

	*framing = (struct framing){ 0 };
	int status = check_host(find(headers, "Host"), minor, why);
	status = status ? status : read_length(framing, find(headers, "Content-Length"), why);
	status = status ? status
			: read_encoding(framing, find(headers, "Transfer-Encoding"), minor, why);
	status = status ? status : read_expectation(framing, find(headers, "Expect"), minor, why);
	framing->keep_alive = !list_has(connection, "close") &&
			      (minor == 1 || list_has(connection, "keep-alive"));
	return status;
}
