/* SPDX-License-Identifier: Apache-2.0 */
/* A serial line: packets, windows, and ends that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "vm_line/line.h"

/* --- packets --------------------------------------------------------------------------------- */

static size_t put_some(unsigned char *bytes, size_t room)
{
	static struct packet_writer writer;
	unsigned char data[PACKET_DATA_MAX];

	memset(data, 'x', sizeof(data));
	packet_writer_init(&writer);
	packet_put(&writer, PACKET_FIRST, PACKET_HELLO, strlen(PACKET_HELLO));
	packet_put(&writer, PACKET_DATA, data, 1);
	packet_put(&writer, PACKET_DATA, data, 100);
	packet_put(&writer, PACKET_END, NULL, 0);
	assert_true(writer.size <= room);
	memcpy(bytes, writer.bytes, writer.size);
	return writer.size;
}

/* The number of packets in the bytes; -EPROTO. */
static int count_packets(const unsigned char *bytes, size_t size)
{
	static struct packet_reader reader;
	int count = 0;

	packet_reader_init(&reader);
	for (size_t i = 0; i < size; i++) {
		int r = packet_take(&reader, bytes[i]);
		if (r < 0) {
			return r;
		}
		count += r > 0;
	}
	return count;
}

static void test_packets(void **state)
{
	unsigned char bytes[512], changed[512];
	size_t size = put_some(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(count_packets(bytes, size), 4);
	for (size_t i = 0; i < size; i++) {
		for (unsigned bit = 1; bit < 256; bit <<= 1) {
			memcpy(changed, bytes, size);
			changed[i] ^= (unsigned char)bit;
			/* A size can become larger: then the last packet is not complete. */
			assert_true(count_packets(changed, size) < 4);
		}
		/* One that is lost, and one that is twice there. */
		memcpy(changed, bytes, i);
		memcpy(changed + i, bytes + i + 1, size - i - 1);
		assert_true(count_packets(changed, size - 1) < 4);
		memcpy(changed + i, bytes + i, 1);
		memcpy(changed + i + 1, bytes + i, size - i);
		assert_true(count_packets(changed, size + 1) < 4);
	}
	/* A whole packet that is lost: the second one. */
	size_t kept = 0;
	for (size_t i = 0; i < size; i++) {
		if (i < 19 || i >= 28) {
			changed[kept++] = bytes[i];
		}
	}
	assert_int_equal(count_packets(changed, kept), -EPROTO);
}

/* --- an end that lies ------------------------------------------------------------------------- */

struct lie {
	struct line line;
	struct packet_writer peer;
	int r;
};

static struct lie *lie_new(bool guest)
{
	struct lie *lie = calloc(1, sizeof(*lie));

	assert_non_null(lie);
	line_init(&lie->line, guest);
	lie->line.text = lie->line.plain = -1;
	packet_writer_init(&lie->peer);
	return lie;
}

static void say(struct lie *lie, enum packet_kind kind, const void *data, size_t size)
{
	lie->peer.at = lie->peer.size = 0;
	packet_put(&lie->peer, kind, data, size);
	lie->r = line_take(&lie->line, lie->peer.bytes, lie->peer.size);
}

static void hello(struct lie *lie)
{
	say(lie, PACKET_FIRST, PACKET_HELLO, strlen(PACKET_HELLO));
	assert_int_equal(lie->r, 0);
}

static void test_garbage(void **state)
{
	static const char *const texts[] = { "Booting...", "\n", "\xa5\x02garbage",
					     "\xa5\x09\x01\x01", "\xa5\x02\xff\xff" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_free_ struct lie *lie = lie_new(false);
		assert_int_equal(
			line_take(&lie->line, (const unsigned char *)texts[i], strlen(texts[i])),
			-EPROTO);
		assert_memory_equal(lie->line.odd, texts[i], lie->line.odd_size);
	}
}

static void test_order(void **state)
{
	static const struct {
		bool guest, met;
		enum packet_kind kind;
		const char *data;
		size_t size;
		int expected;
	} cases[] = {
		{ false, false, PACKET_DATA, "x", 1, -EPROTO },
		{ false, false, PACKET_END, "", 0, -EPROTO },
		{ false, false, PACKET_FIRST, "brig-line-2", 11, -EPROTO },
		{ false, true, PACKET_FIRST, PACKET_HELLO, 11, -EPROTO },
		{ false, true, PACKET_TAKEN, "\1\0\0\0", 4, -EPROTO },
		{ false, true, PACKET_TAKEN, "\0\0\0\0", 4, -EPROTO },
		{ false, true, PACKET_DATA, "x", 1, 0 },
		{ false, true, PACKET_REPORT, "x", 1, 0 },
		{ false, true, PACKET_END, "", 0, 0 },
		{ true, true, PACKET_REPORT, "x", 1, -EPROTO },
		{ true, true, PACKET_END, "", 0, -EPROTO },
		{ true, true, PACKET_DATA, "x", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ struct lie *lie = lie_new(cases[i].guest);
		if (cases[i].met) {
			hello(lie);
		}
		say(lie, cases[i].kind, cases[i].data, cases[i].size);
		assert_int_equal(lie->r, cases[i].expected);
	}
	_cleanup_free_ struct lie *lie = lie_new(false);
	hello(lie);
	say(lie, PACKET_END, NULL, 0);
	say(lie, PACKET_DATA, "x", 1);
	assert_int_equal(lie->r, -EPROTO);
}

static void test_more_than_the_window(void **state)
{
	unsigned char data[PACKET_DATA_MAX] = { 0 };
	_cleanup_free_ struct lie *lie = lie_new(false);

	(void)state;
	hello(lie);
	for (size_t all = 0; all < LINE_WINDOW; all += sizeof(data)) {
		say(lie, PACKET_DATA, data, sizeof(data));
		assert_int_equal(lie->r, 0);
	}
	say(lie, PACKET_DATA, data, 1);
	assert_int_equal(lie->r, -EPROTO);
}

/* --- two ends --------------------------------------------------------------------------------- */

struct pair {
	int plain[2]; /* of the guest, and of the host */
	int text;     /* the guest's reports, to write */
	int log;      /* what the host makes of them, to read */
	pid_t pids[2];
};

static void set_non_blocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static pid_t start_end(bool guest, int in, int out, int plain, int text)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		static struct line line;
		/* Only its own descriptors: an end must see the end of the other. */
		for (int fd = 3; fd < 64; fd++) {
			if (fd != in && fd != out && fd != plain && fd != text) {
				close(fd);
			}
		}
		signal(SIGPIPE, SIG_IGN);
		line_init(&line, guest);
		line.wire_in = in;
		line.wire_out = out;
		line.plain = plain;
		line.text = text;
		_exit(line_run(&line) < 0);
	}
	return pid;
}

static void start_pair(struct pair *pair)
{
	int up[2], down[2], guest[2], host[2], text[2], log[2];

	assert_int_equal(pipe(up) | pipe(down) | pipe(text) | pipe(log), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, guest), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, host), 0);
	const int inner[] = { up[0], up[1], down[0], down[1], guest[1], host[1], text[0] };
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		set_non_blocking(inner[i]);
	}
	pair->pids[0] = start_end(true, down[0], up[1], guest[1], text[0]);
	pair->pids[1] = start_end(false, up[0], down[1], host[1], log[1]);
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		close(inner[i]);
	}
	close(log[1]);
	pair->plain[0] = guest[0];
	pair->plain[1] = host[0];
	pair->text = text[1];
	pair->log = log[0];
}

static void ends_well(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		int status = -1;
		assert_int_equal(waitpid(pair->pids[i], &status, 0), pair->pids[i]);
		assert_int_equal(status, 0);
	}
	close(pair->plain[1]);
	close(pair->log);
}

#define MANY (1u << 20)

static pid_t start_writer(int fd, uint32_t seed)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	for (uint32_t i = 0; pid == 0 && i < MANY;) {
		unsigned char bytes[1000];
		size_t size = 0;
		for (; size < sizeof(bytes) && i < MANY; i++) {
			seed = seed * 1664525u + 1013904223u;
			bytes[size++] = (unsigned char)(seed >> 24);
		}
		if (write(fd, bytes, size) != (ssize_t)size) {
			_exit(1);
		}
	}
	if (pid == 0) {
		_exit(0);
	}
	return pid;
}

static void read_all(int fd, uint32_t seed)
{
	for (uint32_t i = 0; i < MANY;) {
		unsigned char bytes[777];
		size_t want = MANY - i < sizeof(bytes) ? MANY - i : sizeof(bytes);
		ssize_t n = read(fd, bytes, want);
		assert_true(n > 0);
		for (ssize_t at = 0; at < n; at++, i++) {
			seed = seed * 1664525u + 1013904223u;
			assert_int_equal(bytes[at], (unsigned char)(seed >> 24));
		}
	}
}

/* Both directions at once; then the report, and the end. */
static void test_both_directions(void **state)
{
	struct pair pair;
	char text[64] = "";
	int status = 0;

	(void)state;
	start_pair(&pair);
	pid_t down = start_writer(pair.plain[1], 1), up = start_writer(pair.plain[0], 2);
	read_all(pair.plain[1], 2);
	read_all(pair.plain[0], 1);
	assert_true(waitpid(down, &status, 0) == down && status == 0);
	assert_true(waitpid(up, &status, 0) == up && status == 0);
	assert_int_equal(write(pair.text, "the report\n", 11), 11);
	close(pair.text);
	close(pair.plain[0]);
	assert_int_equal(read(pair.log, text, sizeof(text)), 11);
	assert_string_equal(text, "the report\n");
	char last;
	assert_int_equal(read(pair.plain[1], &last, 1), 0);
	ends_well(&pair);
}

/* No more is on the wire than the window, whatever the guest has to say. */
static void test_window(void **state)
{
	int up[2], down[2], plain[2], text[2], on_wire = 0, before = -1;
	struct packet_writer hello = { 0 };

	(void)state;
	assert_int_equal(pipe(up) | pipe(down) | pipe(text), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, plain), 0);
	set_non_blocking(up[1]);
	set_non_blocking(down[0]);
	set_non_blocking(plain[1]);
	set_non_blocking(text[0]);
	pid_t end = start_end(true, down[0], up[1], plain[1], text[0]);
	packet_writer_init(&hello);
	packet_put(&hello, PACKET_FIRST, PACKET_HELLO, strlen(PACKET_HELLO));
	assert_int_equal(write(down[1], hello.bytes, hello.size), hello.size);
	pid_t writer = start_writer(plain[0], 3);
	while (on_wire != before || on_wire < (int)LINE_WINDOW) {
		before = on_wire;
		usleep(200000);
		assert_int_equal(ioctl(up[0], FIONREAD, &on_wire), 0);
	}
	assert_true(on_wire <= (int)(LINE_WINDOW + LINE_WINDOW / 8));
	kill(writer, SIGKILL);
	kill(end, SIGKILL);
	waitpid(writer, NULL, 0);
	waitpid(end, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets),         cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_order),           cmocka_unit_test(test_more_than_the_window),
		cmocka_unit_test(test_both_directions), cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
