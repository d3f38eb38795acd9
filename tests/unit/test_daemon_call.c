/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the Engine API against a daemon that is a socket pair: right, hostile, and gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon_call.h"

#define TURNS_MOST 10000

static const struct daemon_request get = { .method = "GET", .path = "/version" };

/* The answer, in pieces of this size; `ends`: the connection is closed after it. */
static int answer(struct daemon_call *call, const struct daemon_request *request, const char *data,
		  size_t size, size_t piece, bool ends, struct brig_error *err)
{
	int pair[2], r = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(daemon_call_on(call, pair[0], request), 0);
	for (size_t at = 0, turns = 0; r == 0 && turns < TURNS_MOST; turns++) {
		size_t part = size - at < piece ? size - at : piece;
		ssize_t n = part ? send(pair[1], data + at, part, MSG_NOSIGNAL) : 0;
		at += n > 0 ? (size_t)n : 0;
		if (at == size && ends) {
			shutdown(pair[1], SHUT_WR);
		}
		r = daemon_call_turn(call, err);
		if (at == size && !ends && part == 0) {
			break;
		}
	}
	close(pair[1]);
	return r;
}

static int answer_text(struct daemon_call *call, const char *text, struct brig_error *err)
{
	return answer(call, &get, text, strlen(text), SIZE_MAX, true, err);
}

static void requests_are_whole(void **state)
{
	static const char body[] = "{}";
	const struct daemon_request post = { .method = "POST",
					     .path = "/v1.41/containers/create",
					     .type = "application/json",
					     .body = body,
					     .size = 2 };
	static const char wanted[] = "POST /v1.41/containers/create HTTP/1.1\r\nHost: brig\r\n"
				     "Connection: close\r\nContent-Type: application/json\r\n"
				     "Content-Length: 2\r\n\r\n{}";
	struct daemon_call call;

	(void)state;
	assert_int_equal(daemon_call_on(&call, -1, &post), 0);
	assert_int_equal(call.request.size, strlen(wanted));
	assert_memory_equal(call.request.data, wanted, strlen(wanted));
	assert_int_equal(daemon_call_events(&call), EPOLLIN | EPOLLOUT);
	daemon_call_done(&call);
}

/* One that keeps the connection but reads no more would be reported as writable all the time. */
static void a_daemon_may_read_no_more(void **state)
{
	static const char text[] = "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n";
	struct daemon_call call;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(daemon_call_on(&call, pair[0], &get), 0);
	assert_int_equal(shutdown(pair[1], SHUT_RD), 0);
	assert_int_equal(daemon_call_turn(&call, NULL), 0);
	assert_int_equal(daemon_call_events(&call), EPOLLIN);
	assert_int_equal(send(pair[1], text, strlen(text), 0), strlen(text));
	assert_int_equal(daemon_call_turn(&call, NULL), 1);
	assert_int_equal(daemon_call_status(&call), 500);
	daemon_call_done(&call);
	close(pair[1]);
}

static void answers_come_in_any_pieces(void **state)
{
	static const char *const texts[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
		"chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		for (size_t piece = 1; piece < 100; piece += 7) {
			struct daemon_call call;
			struct brig_error err = { 0 };
			assert_int_equal(
				answer(&call, &get, texts[i], strlen(texts[i]), piece, true, &err),
				1);
			assert_int_equal(daemon_call_status(&call), 200);
			assert_int_equal(call.body.size, 5);
			assert_memory_equal(call.body.data, "hello", 5);
			daemon_call_done(&call);
		}
	}
}

static void answers_without_a_body_end_with_their_head(void **state)
{
	struct daemon_call call;
	static const char text[] = "HTTP/1.1 204 No Content\r\n\r\n";

	(void)state;
	assert_int_equal(answer(&call, &get, text, strlen(text), SIZE_MAX, false, NULL), 1);
	assert_int_equal(daemon_call_status(&call), 204);
	daemon_call_done(&call);
}

static void upgraded_connections_stay_open(void **state)
{
	const struct daemon_request attach = { .method = "POST", .path = "/a", .upgrade = true };
	static const char text[] = "HTTP/1.1 101 UPGRADED\r\nContent-Type: "
				   "application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\n"
				   "Upgrade: tcp\r\n\r\n";
	struct daemon_call call;

	(void)state;
	assert_int_equal(answer(&call, &attach, text, strlen(text), SIZE_MAX, false, NULL), 1);
	assert_int_equal(daemon_call_status(&call), 101);
	assert_true(call.fd >= 0);
	daemon_call_done(&call);
}

static void lies_are_refused(void **state)
{
	static const char *const texts[] = {
		"garbage\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
		"HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\nearly",
		"HTTP/1.1 204 No Content\r\n\r\nmore",
		"HTTP/1.1 200 O",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct daemon_call call;
		struct brig_error err = { 0 };
		assert_true(answer_text(&call, texts[i], &err) < 0);
		assert_true(err.message[0] != '\0');
		daemon_call_done(&call);
	}
}

static void endless_heads_and_bodies_are_bounded(void **state)
{
	static const char *const heads[] = {
		"HTTP/1.1 200 OK\r\nX: ",
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
	};
	static char text[DAEMON_BODY_BYTES + 4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct daemon_call call;
		struct brig_error err = { 0 };
		memset(text, 'x', sizeof(text));
		memcpy(text, heads[i], strlen(heads[i]));
		assert_true(answer(&call, &get, text, sizeof(text), 8192, false, &err) < 0);
		assert_true(call.head.size <= DAEMON_HEAD_BYTES);
		assert_true(call.body.size <= DAEMON_BODY_BYTES);
		daemon_call_done(&call);
	}
}

static void sockets_that_are_not_there_are_named(void **state)
{
	struct daemon_call call;
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(daemon_call_begin(&call, "/nowhere/docker.sock", &get, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/nowhere/docker.sock"));
	assert_true(err.remedy[0] != '\0');
	daemon_call_done(&call);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_whole),
		cmocka_unit_test(a_daemon_may_read_no_more),
		cmocka_unit_test(answers_come_in_any_pieces),
		cmocka_unit_test(answers_without_a_body_end_with_their_head),
		cmocka_unit_test(upgraded_connections_stay_open),
		cmocka_unit_test(lies_are_refused),
		cmocka_unit_test(endless_heads_and_bodies_are_bounded),
		cmocka_unit_test(sockets_that_are_not_there_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
