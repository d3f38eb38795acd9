/* SPDX-License-Identifier: Apache-2.0 */
/* D-Bus: addresses, invalid messages, peers that reject, stall or fail, and a real bus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "test_kernel_dbus_peer.h"

static const struct dbus_call get_id = {
	.destination = "org.freedesktop.DBus",
	.path = "/org/freedesktop/DBus",
	.interface = "org.freedesktop.DBus",
	.member = "GetId",
};

static void test_addresses(void **state)
{
	static const char *const bad[] = {
		"",
		"unix:",
		"unix:path=relative",
		"tcp:host=x",
		"unix:path=/a%0",
		"unix:path=/a%zz",
		"unix:path=/a%00b",
		"unix:guid=1",
		"unix:path=",
		"unix:path=/"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aa"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct dbus_address address;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(dbus_address_parse(bad[i], &address), -EINVAL);
	}
	assert_int_equal(
		dbus_address_parse("tcp:host=x;unix:guid=1,path=/run%2fuser/b%75s,x=y", &address),
		0);
	assert_string_equal(address.socket.sun_path, "/run/user/bus");
	assert_int_equal(dbus_address_parse("unix:abstract=/tmp/d", &address), 0);
	assert_int_equal(address.socket.sun_path[0], 0);
	assert_string_equal(address.socket.sun_path + 1, "/tmp/d");
	assert_int_equal(address.size, offsetof(struct sockaddr_un, sun_path) + 7);
}

static void test_build(void **state)
{
	struct buf body = { 0 }, out = { 0 };
	struct dbus_call call = get_id;
	struct dbus_message message;

	(void)state;
	dbus_put_string(&body, "hello");
	call.signature = "s";
	call.body = &body;
	dbus_message_build(&out, &call, 2);
	assert_false(out.failed);
	assert_int_equal(dbus_message_size((uint8_t *)out.data), out.size);
	assert_true(dbus_message_parse((uint8_t *)out.data, out.size, &message));
	assert_int_equal(message.type, 1);
	assert_string_equal(message.text, "hello");
	buf_done(&out);
	buf_done(&body);
}

/* Every truncation and every changed byte of a valid message is either refused or harmless. */
static void test_damaged(void **state)
{
	struct buf good = { 0 };
	struct dbus_message message;

	(void)state;
	peer_answer(&good, 3, 2, "org.example.Failed", "no\x1b[31m such thing");
	assert_true(dbus_message_parse((uint8_t *)good.data, good.size, &message));
	assert_int_equal(message.reply_serial, 2);
	assert_string_equal(message.error_name, "org.example.Failed");
	assert_string_equal(message.text, "no?[31m such thing");
	for (size_t size = 0; size < good.size; size++) {
		_cleanup_free_ uint8_t *copy = malloc(size + 1);

		memcpy(copy, good.data, size);
		assert_false(dbus_message_parse(copy, size, &message));
	}
	for (size_t at = 0; at < good.size; at++) {
		for (int value = 0; value < 256; value++) {
			_cleanup_free_ uint8_t *copy = malloc(good.size);

			memcpy(copy, good.data, good.size);
			copy[at] = (uint8_t)value;
			dbus_message_parse(copy, good.size, &message);
		}
	}
	buf_done(&good);
}

static int talk(const char *ok, const struct buf *answer, struct dbus_message *failure)
{
	uint64_t deadline_ns = clock_now_ns() + 300000000;
	char path[64];
	struct peer peer;
	struct dbus_address address;
	int fd, r;

	snprintf(path, sizeof(path), "/tmp/brig-dbus.%d", (int)getpid());
	peer_start(&peer, path, ok, answer);
	assert_int_equal(dbus_address_path(path, &address), 0);
	fd = dbus_connect(&address);
	assert_true(fd >= 0);
	r = dbus_authenticate(fd, deadline_ns);
	if (r == 0) {
		r = dbus_call(fd, &get_id, false, deadline_ns, failure);
	}
	close(fd);
	peer_stop(&peer);
	return r;
}

static void test_peers(void **state)
{
	struct dbus_message failure = { 0 };
	struct buf answer = { 0 };
	uint64_t start_ns;

	(void)state;
	peer_answer(&answer, 4, 0, NULL, "a signal first");
	peer_answer(&answer, 2, 1, NULL, "the answer to a greeting");
	peer_answer(&answer, 2, 2, NULL, NULL);
	assert_int_equal(talk("OK 0123\r\n", &answer, &failure), 0);
	buf_done(&answer);
	answer = (struct buf){ 0 };
	peer_answer(&answer, 3, 2, "org.example.Nope", "because");
	assert_int_equal(talk("OK 0123\r\n", &answer, &failure), -EREMOTEIO);
	assert_string_equal(failure.error_name, "org.example.Nope");
	assert_string_equal(failure.text, "because");
	assert_int_equal(talk("REJECTED EXTERNAL\r\n", &answer, &failure), -EACCES);
	assert_int_equal(talk("HTTP/1.0 400\r\n", &answer, &failure), -EBADMSG);
	buf_done(&answer);
	answer = (struct buf){ 0 };
	buf_adds(&answer, "lxxx and more than sixteen bytes");
	assert_int_equal(talk("OK 0123\r\n", &answer, &failure), -EBADMSG);
	buf_done(&answer);
	answer = (struct buf){ 0 };
	start_ns = clock_now_ns();
	assert_int_equal(talk("OK 0123\r\n", &answer, &failure), -ETIMEDOUT);
	assert_true(clock_now_ns() - start_ns < UINT64_C(2000000000));
}

/* In the first process of a new pid namespace: the error of the connect. */
static int connect_within(const struct dbus_address *address)
{
	int status = 0;
	pid_t inner = fork();

	if (inner == 0) {
		_exit(-dbus_connect(address) & 0xff);
	}
	waitpid(inner, &status, 0);
	return WEXITSTATUS(status);
}

/* The peer would take our pids for those of other processes. */
static void test_a_peer_above_our_pid_namespace(void **state)
{
	struct dbus_address address;
	struct buf answer = { 0 };
	struct peer peer;
	char path[64];
	int status = 0;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/brig-dbus.%d", (int)getpid());
	peer_start(&peer, path, "OK 0123\r\n", &answer);
	assert_int_equal(dbus_address_path(path, &address), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int flags = CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
		_exit(unshare(flags) < 0 ? 1 : connect_within(&address));
	}
	waitpid(pid, &status, 0);
	peer_stop(&peer);
	assert_int_equal(WEXITSTATUS(status), EXDEV);
}

static void test_real_bus(void **state)
{
	uint64_t deadline_ns = clock_now_ns() + UINT64_C(5000000000);
	struct dbus_call call = get_id;
	struct dbus_message failure = { 0 };
	struct buf body = { 0 };
	struct dbus_address address;
	char path[64], option[96];
	pid_t pid;
	int fd;

	(void)state;
	if (access("/usr/bin/dbus-daemon", X_OK) < 0) {
		print_message("SKIP: dbus-daemon is not installed\n");
		skip();
	}
	snprintf(path, sizeof(path), "/tmp/brig-bus.%d", (int)getpid());
	snprintf(option, sizeof(option), "--address=unix:path=%s", path);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/usr/bin/dbus-daemon", "dbus-daemon", "--session", "--nofork", "--nopidfile",
		      "--nosyslog", option, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(dbus_address_path(path, &address), 0);
	while ((fd = dbus_connect(&address)) < 0 && clock_now_ns() < deadline_ns) {
		if (waitpid(pid, NULL, WNOHANG) == pid) {
			print_message("SKIP: dbus-daemon does not start for this user\n");
			skip();
		}
		usleep(10000);
	}
	assert_true(fd >= 0);
	assert_int_equal(dbus_authenticate(fd, deadline_ns), 0);
	assert_int_equal(dbus_call(fd, &call, true, deadline_ns, &failure), 0);
	/* Arguments arrive unchanged: this name has no owner. */
	dbus_put_string(&body, "org.example.Nobody");
	call.member = "GetNameOwner";
	call.signature = "s";
	call.body = &body;
	assert_int_equal(dbus_call(fd, &call, false, deadline_ns, &failure), -EREMOTEIO);
	assert_string_equal(failure.error_name, "org.freedesktop.DBus.Error.NameHasNoOwner");
	assert_non_null(strstr(failure.text, "org.example.Nobody"));
	buf_done(&body);
	close(fd);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_a_peer_above_our_pid_namespace),
		cmocka_unit_test(test_real_bus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
