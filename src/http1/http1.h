/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one HTTP/1 message, a request or a response (RFC 9112), from bytes in any pieces. Strict:
 * constructs that servers and proxies interpret differently are refused. Pure: it stores no bytes
 * and allocates no memory.
 *
 *	http1_init          for each message
 *	http1_read          until HTTP1_HEAD; the caller keeps all bytes that it uses until then,
 *	                    in one piece
 *	http1_read_fields   the framing of the message, from these bytes
 *	http1_begin_body    the largest size of its body
 *	http1_read          until HTTP1_END; the body comes as HTTP1_DATA
 *	http1_close         at the end of the input, if there is one
 */
#ifndef BRIG_HTTP1_HTTP1_H
#define BRIG_HTTP1_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http1/errors.h"

enum http1_kind {
	HTTP1_REQUEST,
	HTTP1_RESPONSE,
};

struct http1_rules {
	enum http1_kind kind;
	size_t head_bytes;  /* the first line and the fields together, at most */
	unsigned fields;    /* at most */
	size_t extra_bytes; /* chunk extensions and trailers of one message; 0: they are refused */
	bool raw_target;    /* a target may have bytes above 0x7f */
};

/* The grammar is in states.c. */
enum http1_state {
	HTTP1_METHOD_FIRST,
	HTTP1_METHOD,
	HTTP1_TARGET_FIRST,
	HTTP1_TARGET,
	HTTP1_VERSION,
	HTTP1_STATUS_VERSION,
	HTTP1_STATUS_CODE,
	HTTP1_REASON,
	HTTP1_LINE_END,
	HTTP1_FIELD,
	HTTP1_NAME,
	HTTP1_VALUE,
	HTTP1_VALUE_END,
	HTTP1_HEAD_END,
	HTTP1_HEAD_DONE,
	HTTP1_CHUNK,
	HTTP1_CHUNK_SIZE,
	HTTP1_EXTENSION,
	HTTP1_EXTENSION_NAME,
	HTTP1_EXTENSION_IS,
	HTTP1_EXTENSION_TOKEN,
	HTTP1_EXTENSION_QUOTED,
	HTTP1_EXTENSION_CLOSED,
	HTTP1_CHUNK_SIZE_END,
	HTTP1_CHUNK_DATA,
	HTTP1_CHUNK_DATA_CR,
	HTTP1_CHUNK_DATA_END,
	HTTP1_TRAILER,
	HTTP1_TRAILER_NAME,
	HTTP1_TRAILER_VALUE,
	HTTP1_TRAILER_END,
	HTTP1_LAST_END,
	HTTP1_LENGTH,
	HTTP1_UNTIL_CLOSE,
	HTTP1_DONE,
	HTTP1_FAILED,
	HTTP1_STATES,
};

enum http1_event {
	HTTP1_MORE,  /* all bytes were used */
	HTTP1_LINE,  /* the first line is complete, and valid */
	HTTP1_HEAD,  /* the head is complete; nothing more is used before http1_begin_body() */
	HTTP1_DATA,  /* a part of the body */
	HTTP1_END,   /* the message is complete; nothing more is used */
	HTTP1_WRONG, /* see `error`; nothing more is used */
};

struct http1_text {
	const char *at;
	size_t size;
};

#define HTTP1_VERSION_SIZE 8 /* "HTTP/1.1" */

/* The first line; positions are offsets in the head. */
struct http1_line {
	size_t method_size; /* at 0 */
	size_t target_at, target_size;
	char version[HTTP1_VERSION_SIZE];
	unsigned version_size;
	unsigned minor;  /* of HTTP/1.x: 0 or 1 */
	unsigned status; /* of a response: 100 to 599 */
	unsigned status_digits;
};

/* Framing of the message, from its fields. */
struct http1_framing {
	bool chunked;
	bool has_length;
	bool keep_alive;
	bool upgrade; /* it names another protocol, for this connection */
	bool expects_continue;
	bool expects_other; /* than "100-continue" */
	uint64_t length;
};

struct http1_reader {
	const struct http1_rules *rules;
	enum http1_state state;
	enum http1_error error;
	bool answers_head; /* set by the caller: this is the response to HEAD */

	struct http1_line line;
	size_t head_size; /* so far; after HTTP1_HEAD: of the whole head */
	size_t fields_at; /* where the first field begins */
	unsigned fields;
	struct http1_framing framing;

	uint64_t left;      /* of the body, or of this chunk */
	uint64_t body_left; /* how many more bytes the chunks may have */
	unsigned digits;    /* of the size of this chunk */
	size_t extra_size;  /* bytes of extensions and trailers */
};

/* The rules are borrowed. */
void http1_init(struct http1_reader *reader, const struct http1_rules *rules);
/* Uses bytes from the start of `input`, up to the next event. *ret_data: of HTTP1_DATA, in it. */
enum http1_event http1_read(struct http1_reader *reader, struct http1_text *input,
			    struct http1_text *ret_data);
/* After HTTP1_HEAD, with the bytes of the head: fills `framing`. False: HTTP1_WRONG. */
bool http1_read_fields(struct http1_reader *reader, const char *head);
/* After http1_read_fields(). False: HTTP1_WRONG, the body is larger. */
bool http1_begin_body(struct http1_reader *reader, uint64_t limit);
/* The input has ended: HTTP1_END, or HTTP1_WRONG. */
enum http1_event http1_close(struct http1_reader *reader);

/* A response without a length or chunks ends with the connection. */
bool http1_is_until_close(const struct http1_reader *reader);
/* A 1xx response other than 101: another one follows it. */
bool http1_is_interim(const struct http1_reader *reader);

struct http1_field {
	struct http1_text name, value; /* the value without the blanks around it */
};

/* Next field of a complete head; `at` begins as fields_at. False: there are no more. */
bool http1_next_field(const char *head, size_t *at, struct http1_field *ret);
/* Next part of a list with commas, which is removed from its start; it may be empty. */
bool http1_next_word(struct http1_text *list, struct http1_text *ret);
/* Compares without regard to case. */
bool http1_text_is(const struct http1_text *text, const char *word);
/* Is it a host's name or address, with a port or without? */
bool http1_is_host(const struct http1_text *text);
#endif
