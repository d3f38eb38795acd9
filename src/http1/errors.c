/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: see errors.h. */
#include "http1/errors.h"

static const struct {
	int status;
	const char *text;
} errors[HTTP1_ERRORS] = {
	[HTTP1_FINE] = { 200, "no error" },
	[HTTP1_BAD_LINE] = { 400, "the request line is not a method, a target and a version" },
	[HTTP1_BAD_LINE_BYTE] = { 400, "the first line has a character that is not allowed there" },
	[HTTP1_BAD_METHOD] = { 400, "the method is not a token" },
	[HTTP1_BAD_VERSION] = { 400, "the first line does not have a version of HTTP" },
	[HTTP1_OTHER_VERSION] = { 505, "only HTTP/1.1 and HTTP/1.0 are supported" },
	[HTTP1_BAD_STATUS] = { 400, "the status is not a number from 100 to 599" },
	[HTTP1_LONG_LINE] = { 414, "the first line is too long" },
	[HTTP1_BARE_LF] = { 400, "a line of the head does not end with CR LF" },
	[HTTP1_BARE_CR] = { 400, "a CR in the head is not followed by LF" },
	[HTTP1_FOLDED] = { 400, "a header is continued on a second line" },
	[HTTP1_BAD_NAME] = { 400, "a header's name is not a token" },
	[HTTP1_SPACE_BEFORE_COLON] = { 400, "there is a space before the colon of a header" },
	[HTTP1_BAD_VALUE] = { 400, "a header's value has a control character" },
	[HTTP1_LARGE_HEAD] = { 431, "the head is too large" },
	[HTTP1_MANY_FIELDS] = { 431, "there are too many headers" },
	[HTTP1_REPEATED] = { 400, "a header that may have only one value was sent twice" },
	[HTTP1_NO_HOST] = { 400, "there is no Host header" },
	[HTTP1_BAD_HOST] = { 400, "the Host header is not a host and a port" },
	[HTTP1_BAD_LENGTH] = { 400, "the Content-Length header is not a length" },
	[HTTP1_OLD_ENCODING] = { 400, "HTTP/1.0 has no Transfer-Encoding" },
	[HTTP1_BAD_ENCODING] = { 400, "the only supported Transfer-Encoding is \"chunked\"" },
	[HTTP1_LENGTH_AND_ENCODING] = { 400,
					"both Content-Length and Transfer-Encoding were sent" },
	[HTTP1_BODY_NOT_ALLOWED] = { 400, "a response of this status has no body" },
	[HTTP1_LARGE_BODY] = { 413, "the body is too large" },
	[HTTP1_BAD_CHUNK] = { 400, "a chunk does not begin with its size" },
	[HTTP1_LONG_CHUNK_SIZE] = { 400, "the size of a chunk has more than 8 digits" },
	[HTTP1_BAD_CHUNK_SIZE_END] = { 400, "the size of a chunk is not followed by CR LF" },
	[HTTP1_BAD_EXTENSION] = { 400, "the extension of a chunk is not a name and a value" },
	[HTTP1_LONG_CHUNK] = { 400, "a chunk is longer than its size" },
	[HTTP1_BAD_CHUNK_END] = { 400, "a chunk does not end with CR LF" },
	[HTTP1_BAD_TRAILER] = { 400, "there is a trailer that is not accepted" },
	[HTTP1_LARGE_EXTRA] = { 400, "chunk extensions and trailers are too large" },
	[HTTP1_BAD_LAST_CHUNK] = { 400, "the last chunk does not end with CR LF" },
	[HTTP1_CUT_OFF] = { 400, "the message is incomplete" },
};

int http1_error_status(enum http1_error error)
{
	return errors[error].status;
}

const char *http1_error_text(enum http1_error error)
{
	return errors[error].text;
}
