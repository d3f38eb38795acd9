/* SPDX-License-Identifier: Apache-2.0 */
/* Parsers of untrusted input: DNS both ways, ClientHello, HTTP heads, the host's files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate/connection/http_head.h"
#include "gate/dns/dns_message.h"
#include "gate/dns/host_files.h"
#include "gate/tls/client_hello.h"
#include "gate/tls/hello_reply.h"

static void test_questions(void **state)
{
	uint8_t query[DNS_QUERY_MAX], out[512];
	struct dns_question question;
	struct net_address address = { 4, { 198, 18, 0, 1 } };
	struct dns_reply reply;
	size_t size = dns_query_make("a.example.org", DNS_A, 77, query);

	(void)state;
	assert_int_equal(dns_question_parse(query, size, &question), 0);
	assert_string_equal(question.name, "a.example.org");
	size_t answer = dns_answer_make(query, &question, DNS_FINE, &address, out, sizeof(out));
	assert_int_equal(dns_reply_parse(out, answer, "a.example.org", DNS_A, 77, &reply), 0);
	assert_int_equal(reply.count, 1);
	assert_true(net_address_equal(&reply.addresses[0], &address));
	/* Another id, name or type belongs to another query. */
	assert_int_equal(dns_reply_parse(out, answer, "a.example.org", DNS_A, 78, &reply),
			 -EBADMSG);
	assert_int_equal(dns_reply_parse(out, answer, "b.example.org", DNS_A, 77, &reply),
			 -EBADMSG);
	assert_int_equal(dns_reply_parse(out, answer, "a.example.org", DNS_AAAA, 77, &reply),
			 -EBADMSG);
	/* Every truncation is detected, and nothing is read beyond the end. */
	for (size_t cut = 0; cut < answer; cut++) {
		uint8_t *copy = malloc(cut + 1);
		memcpy(copy, out, cut);
		assert_int_equal(dns_reply_parse(copy, cut, "a.example.org", DNS_A, 77, &reply),
				 -EBADMSG);
		free(copy);
	}
	query[13] = 0; /* a NUL within a label */
	assert_int_equal(dns_question_parse(query, size, &question), 0);
	assert_string_equal(question.name, "");
	query[12] = 0xc0; /* a pointer to itself */
	query[13] = 12;
	assert_int_equal(dns_question_parse(query, size, &question), -EBADMSG);
	query[2] = 0x80;
	assert_int_equal(dns_question_parse(query, size, &question), -EINVAL);
}

/* A hello with these server names; returns its size. */
static size_t make_hello(unsigned char *out, const char *const *names, size_t count)
{
	unsigned char list[600];
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]);
		list[used] = 0;
		list[used + 1] = (unsigned char)(length >> 8);
		list[used + 2] = (unsigned char)length;
		memcpy(list + used + 3, names[i], length);
		used += 3 + length;
	}
	unsigned char *at = out + 9;
	memset(at, 3, 2 + 32);
	at += 34;
	*at++ = 0;
	memcpy(at, "\0\2\1\2\1\0", 6);
	at += 6;
	size_t extensions = count ? used + 6 : 0;
	*at++ = (unsigned char)(extensions >> 8);
	*at++ = (unsigned char)extensions;
	if (count) {
		unsigned char head[] = { 0,
					 0,
					 (unsigned char)((used + 2) >> 8),
					 (unsigned char)(used + 2),
					 (unsigned char)(used >> 8),
					 (unsigned char)used };
		memcpy(at, head, 6);
		memcpy(at + 6, list, used);
		at += 6 + used;
	}
	size_t body = (size_t)(at - out) - 9;
	unsigned char head[] = { 22,
				 3,
				 1,
				 (unsigned char)((body + 4) >> 8),
				 (unsigned char)(body + 4),
				 1,
				 0,
				 (unsigned char)(body >> 8),
				 (unsigned char)body };
	memcpy(out, head, 9);
	return body + 9;
}

static void test_hello(void **state)
{
	unsigned char data[1024], split[1100];
	char name[NET_NAME_MAX + 1] = "";
	const char *one[] = { "Example.org" }, *two[] = { "a.org", "b.org" }, *odd[] = { "a b" };
	size_t size = make_hello(data, one, 1), used = 0;

	(void)state;
	assert_int_equal(client_hello_parse(data, size, name, &used), 0);
	assert_int_equal(used, size);
	assert_string_equal(name, "example.org");
	for (size_t cut = 0; cut < size; cut++) {
		assert_int_equal(client_hello_parse(data, cut, name, &used), -EAGAIN);
	}
	/* In two records. */
	memcpy(split, "\x16\x03\x01\0\x0a", 5);
	memcpy(split + 5, data + 5, 10);
	size_t rest = size - 15;
	memcpy(split + 15, "\x16\x03\x01\0", 4);
	split[19] = (unsigned char)rest;
	memcpy(split + 20, data + 15, rest);
	name[0] = '\0';
	assert_int_equal(client_hello_parse(split, 20 + rest, name, &used), 0);
	assert_string_equal(name, "example.org");
	size = make_hello(data, two, 2);
	assert_int_equal(client_hello_parse(data, size, name, &used), -EBADMSG);
	size = make_hello(data, odd, 1);
	assert_int_equal(client_hello_parse(data, size, name, &used), -EBADMSG);
	size = make_hello(data, NULL, 0);
	assert_int_equal(client_hello_parse(data, size, name, &used), 0);
	assert_string_equal(name, "");
	data[0] = 23;
	assert_int_equal(client_hello_parse(data, size, name, &used), -EBADMSG);
}

/* However an answer is cut, the result is the same. */
static void test_hello_reply(void **state)
{
	static const unsigned char random[32] = {
		0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
		0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
		0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
	};
	unsigned char data[] = "\x15\3\3\0\2\1\x70"               /* a warning */
			       "\x16\3\3\0\4\0\0\0\0"             /* a HelloRequest */
			       "\x16\3\3\0\3\2\0\0"               /* a ServerHello in two records */
			       "\x16\3\3\0\x25\x24\3\3"           /* its version... */
			       "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr" /* ...and random */
			       "xx\x14\3\3\0\1\1";
	size_t size = sizeof(data) - 1, at = size - sizeof(random) - 8;

	(void)state;
	for (unsigned again = 0; again < 2; again++) {
		if (again) {
			memcpy(data + at, random, sizeof(random));
		}
		for (size_t cut = 0; cut <= size; cut++) {
			struct hello_reply reply = { 0 };
			hello_reply_take(&reply, data, cut);
			bool known = cut >= at + sizeof(random);
			assert_int_equal(reply.retries, known && again);
			assert_int_equal(reply.decided, known && !again);
			hello_reply_take(&reply, data + cut, size - cut);
			assert_int_equal(reply.retries, again);
			assert_int_equal(reply.decided, !again);
		}
	}
	struct hello_reply plain = { 0 };
	hello_reply_take(&plain, (const unsigned char *)"HTTP", 4);
	assert_true(plain.decided);
}

static int rewrite(struct http1_reader *reader, const char *text, size_t size,
		   const struct http_expect *expect, struct buf *out)
{
	http1_init(reader, &http_head_rules);
	return http_head_rewrite(reader, text, size, expect, out);
}

static void test_http(void **state)
{
	static const char request[] = "POST http://a.org/x HTTP/1.1\r\nHost: A.org:80\r\n"
				      "Authorization: mine\r\nKeep-Alive: 1\r\nX: y \r\n"
				      "Content-Length: 3\r\n\r\nabcdef";
	static const struct http_extra extra = { "authorization", "ours" };
	struct http_expect expect = { .name = "a.org",
				      .port = 80,
				      .scheme = "http://",
				      .extras = &extra,
				      .extras_count = 1 };
	struct http1_reader reader;
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(rewrite(&reader, request, strlen(request), &expect, &out), 0);
	assert_string_equal(out.data, "POST /x HTTP/1.1\r\nHost: a.org:80\r\nX: y\r\n"
				      "Content-Length: 3\r\nauthorization: ours\r\n"
				      "Connection: close\r\n\r\n");
	assert_int_equal(reader.head_size, strlen(request) - 6);
	assert_int_equal(reader.left, 3);
	buf_done(&out);
	/* Byte by byte the result is the same: the reader continues where it stopped. */
	http1_init(&reader, &http_head_rules);
	for (size_t cut = 0; cut < strlen(request) - 6; cut++) {
		assert_int_equal(http_head_rewrite(&reader, request, cut, &expect, &out), -EAGAIN);
		assert_int_equal(out.size, 0);
	}
	assert_int_equal(http_head_rewrite(&reader, request, strlen(request), &expect, &out), 0);
	buf_done(&out);
	expect.name = "b.org";
	assert_int_equal(rewrite(&reader, request, strlen(request), &expect, &out), -EPERM);
	buf_done(&out);
}

#define A_HOST "Host: a.org\r\n"

static void test_http_refused(void **state)
{
	static const char *const bad[] = {
		"CONNECT a.org:80 HTTP/1.1\r\n" A_HOST "\r\n",
		"track / HTTP/1.1\r\n" A_HOST "\r\n",
		"GET / http/1.1\r\n" A_HOST "\r\n",
		"GET / HTTP/1.2\r\n" A_HOST "\r\n",
		"GET x HTTP/1.1\r\n" A_HOST "\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\n" A_HOST A_HOST "\r\n",
		"GET / HTTP/1.1\r\n" A_HOST "X: a\r\n b\r\n\r\n",
		"GET / HTTP/1.1\r\n" A_HOST "X: a\tb\r\n\r\n",
		"GET / HTTP/1.1\n" A_HOST "\r\n",
		"GET / HTTP/1.1\r\n" A_HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
		"GET / HTTP/1.1\r\n" A_HOST
		"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\n" A_HOST "Transfer-Encoding: gzip, chunked\r\n\r\n",
		"GET / HTTP/1.0\r\n" A_HOST "Transfer-Encoding: chunked\r\n\r\n",
	};
	static const char *const others[] = {
		"GET / HTTP/1.1\r\nHost: b.org\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a.org:81\r\n\r\n",
		"GET http://b.org/ HTTP/1.1\r\n" A_HOST "\r\n",
	};
	struct http_expect expect = { .name = "a.org", .port = 80, .scheme = "http://" };
	struct http1_reader reader;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct buf out = { 0 };
		assert_int_equal(rewrite(&reader, bad[i], strlen(bad[i]), &expect, &out), -EBADMSG);
		buf_done(&out);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct buf out = { 0 };
		assert_int_equal(rewrite(&reader, others[i], strlen(others[i]), &expect, &out),
				 -EPERM);
		buf_done(&out);
	}
}

/* At the body of a chunked request. */
static void begin_chunks(struct http1_reader *reader)
{
	static const char head[] =
		"POST / HTTP/1.1\r\n" A_HOST "Transfer-Encoding: chunked\r\n\r\n";
	struct http_expect expect = { .name = "a.org", .port = 80, .scheme = "http://" };
	struct buf out = { 0 };

	assert_int_equal(rewrite(reader, head, strlen(head), &expect, &out), 0);
	buf_done(&out);
}

static void test_chunks(void **state)
{
	static const char body[] =
		"3\r\nabc\r\n1F\r\n0123456789012345678901234567890\r\n0\r\n\r\nGET";
	static const char *const bad[] = { "3;a=b\r\n", "x\r\n",     "3\nabc", "3\r\nabcd",
					   "\r\n",      "0\r\nA: b", "+3\r\n", "123456789" };
	struct http1_reader reader;

	(void)state;
	for (size_t step = 1; step < sizeof(body); step++) {
		long all = 0, came = 0;
		begin_chunks(&reader);
		for (size_t at = 0; at < strlen(body) && reader.state != HTTP1_DONE; at += step) {
			size_t rest = strlen(body) - at;
			came = http_body_take(&reader, body + at, rest < step ? rest : step);
			assert_true(came >= 0);
			all += came;
		}
		assert_int_equal(all, strlen(body) - 3);
		assert_int_equal(reader.state, HTTP1_DONE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		begin_chunks(&reader);
		assert_int_equal(http_body_take(&reader, bad[i], strlen(bad[i])), -EBADMSG);
	}
}

static void test_host_files(void **state)
{
	struct host_files files = { 0 };
	struct net_address found[4];
	char lines[][64] = { "10.0.0.1 Alpha beta # gamma\n", "# 10.0.0.2 delta\n",
			     "10.0.0.300 x\n", "10.0.0.3 beta\n" };
	char servers[][64] = { "nameserver 10.0.0.53\n", "nameserver fe80::1%eth0\n",
			       "; nameserver 1.1.1.1\n", "search x.org\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(host_files_take_host(&files, lines[i]), 0);
		host_files_take_server(&files, servers[i]);
	}
	assert_int_equal(files.servers_count, 1);
	assert_int_equal(host_files_find(&files, "beta", found, 4), 2);
	assert_int_equal(host_files_find(&files, "alpha", found, 4), 1);
	assert_int_equal(host_files_find(&files, "gamma", found, 4), 0);
	assert_int_equal(host_files_find(&files, "localhost", found, 4), 2);
	host_files_done(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_questions),    cmocka_unit_test(test_hello),
		cmocka_unit_test(test_hello_reply),  cmocka_unit_test(test_http),
		cmocka_unit_test(test_http_refused), cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_host_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
