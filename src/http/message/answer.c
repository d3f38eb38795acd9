/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an answer: see answer.h. */
#include "http/message/answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "http1/characters.h"

/* Headers that this layer writes, or that would change how the answer is read. */
static const char *const own[] = {
	"Connection", "Content-Length",    "Content-Type", "Date",    "Keep-Alive",
	"Trailer",    "Transfer-Encoding", "TE",           "Upgrade",
};

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 207, "Multi-Status" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 402, "Payment Required" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 409, "Conflict" },
	{ 410, "Gone" },
	{ 411, "Length Required" },
	{ 412, "Precondition Failed" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 416, "Range Not Satisfiable" },
	{ 417, "Expectation Failed" },
	{ 421, "Misdirected Request" },
	{ 422, "Unprocessable Content" },
	{ 423, "Locked" },
	{ 425, "Too Early" },
	{ 428, "Precondition Required" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
	{ 505, "HTTP Version Not Supported" },
	{ 507, "Insufficient Storage" },
};

const char *answer_reason(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].status == status) {
			return reasons[i].reason;
		}
	}
	return "Unknown";
}

bool answer_has_body(int status)
{
	return status >= 200 && status != 204 && status != 304;
}

int answer_add(struct buf *headers, const char *name, const char *value)
{
	if (!name || !value || !character_all_tokens(name) || !character_all_values(value)) {
		return -EINVAL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (strcasecmp(own[i], name) == 0) {
			return -EINVAL;
		}
	}
	if (strlen(name) > ANSWER_HEADERS_MAX || strlen(value) > ANSWER_HEADERS_MAX ||
	    headers->size + strlen(name) + strlen(value) > ANSWER_HEADERS_MAX) {
		return -E2BIG;
	}
	size_t before = headers->size;
	buf_adds(headers, name);
	buf_adds(headers, ": ");
	buf_adds(headers, value);
	buf_adds(headers, "\r\n");
	if (headers->failed) {
		headers->size = before;
		return -ENOMEM;
	}
	return 0;
}

/* Not strftime: that depends on the locale. */
void answer_date(time_t when, char ret[32])
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	struct tm t = { 0 };

	gmtime_r(&when, &t);
	snprintf(ret, 32, "%s, %02u %s %04u %02u:%02u:%02u GMT", days[(unsigned)t.tm_wday % 7],
		 (unsigned)t.tm_mday % 100, months[(unsigned)t.tm_mon % 12],
		 (unsigned)(t.tm_year + 1900) % 10000, (unsigned)t.tm_hour % 100,
		 (unsigned)t.tm_min % 100, (unsigned)t.tm_sec % 100);
}

void answer_head(struct buf *out, const struct answer_form *form, const struct buf *headers)
{
	char date[32];

	answer_date(time(NULL), date);
	buf_addf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", form->status, answer_reason(form->status),
		 date);
	if (form->content_type && character_all_values(form->content_type)) {
		buf_addf(out, "Content-Type: %s\r\n", form->content_type);
	}
	if (form->end == ANSWER_CHUNKED) {
		buf_adds(out, "Transfer-Encoding: chunked\r\n");
	} else if (form->end == ANSWER_LENGTH && answer_has_body(form->status)) {
		buf_addf(out, "Content-Length: %zu\r\n", form->length);
	}
	if (form->close) {
		buf_adds(out, "Connection: close\r\n");
	} else if (form->say_keep_alive) {
		buf_adds(out, "Connection: keep-alive\r\n");
	}
	if (headers && headers->size > 0) {
		buf_add(out, headers->data, headers->size);
	}
	buf_adds(out, "\r\n");
}
