/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of an attached container, and the JSON of a daemon: as it should be, and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"

#define ID              "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER_ID(digit) "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde" digit

/* --- the stream ------------------------------------------------------------------------------- */

struct wire {
	int ends[2];
	struct demux demux;
};

static int set_up(void **state)
{
	static struct wire wire;

	wire = (struct wire){ 0 };
	*state = &wire;
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, wire.ends);
}

static int tear_down(void **state)
{
	struct wire *wire = *state;

	close(wire->ends[0]);
	close_fd(&wire->ends[1]);
	return 0;
}

static void put(const struct wire *wire, const void *data, size_t size)
{
	assert_int_equal(send(wire->ends[1], data, size, 0), (ssize_t)size);
}

static ssize_t get(struct wire *wire, char *at, size_t size)
{
	errno = 0;
	return demux_receive(&wire->demux, wire->ends[0], at, size);
}

static void data_is_taken_out_of_its_frames(void **state)
{
	struct wire *wire = *state;
	char text[64];

	put(wire, "\1\0\0\0\0\0\0\5hello\2\0\0\0\0\0\0\3log\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\1!",
	    13 + 11 + 8 + 9);
	assert_int_equal(get(wire, text, 2), 2);
	assert_int_equal(get(wire, text + 2, sizeof(text) - 2), 3);
	assert_memory_equal(text, "hello", 5);
	assert_int_equal(get(wire, text, sizeof(text)), 1);
	assert_int_equal(text[0], '!');
	assert_int_equal(get(wire, text, sizeof(text)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(wire->demux.messages_size, 3);
	assert_memory_equal(wire->demux.messages, "log", 3);
}

static void frames_come_byte_by_byte(void **state)
{
	static const char frame[] = "\1\0\0\0\0\0\0\2ab";
	struct wire *wire = *state;
	char text[8];
	size_t have = 0;

	for (size_t i = 0; i < sizeof(frame) - 1; i++) {
		put(wire, frame + i, 1);
		ssize_t n = get(wire, text + have, sizeof(text) - have);
		have += n > 0 ? (size_t)n : 0;
	}
	assert_int_equal(have, 2);
	assert_memory_equal(text, "ab", 2);
	close_fd(&wire->ends[1]);
	assert_int_equal(get(wire, text, sizeof(text)), 0);
}

static void other_streams_are_refused(void **state)
{
	static const char *const heads[] = { "\0\0\0\0\0\0\0\1", "\3\0\0\0\0\0\0\1",
					     "\1\1\0\0\0\0\0\1", "\1\0\0\1\0\0\0\1" };
	struct wire *wire = *state;
	char text[8];

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		wire->demux = (struct demux){ 0 };
		put(wire, heads[i], 8);
		assert_int_equal(get(wire, text, sizeof(text)), -1);
		assert_int_equal(errno, EPROTO);
	}
}

/* They may be of a program that owns its agent. */
static void messages_move_no_terminal(void **state)
{
	struct wire *wire = *state;
	char text[8];

	put(wire, "\2\0\0\0\0\0\0\7a\033[2J\n\377", 15);
	assert_int_equal(get(wire, text, sizeof(text)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(wire->demux.messages_size, 7);
	assert_memory_equal(wire->demux.messages, "a?[2J\n?", 7);
}

static void floods_of_messages_end_a_turn(void **state)
{
	struct wire *wire = *state;
	char text[8];

	for (int i = 0; i < 100; i++) {
		put(wire, "\2\0\0\0\0\0\0\0", 8);
	}
	assert_int_equal(get(wire, text, sizeof(text)), -1);
	assert_int_equal(errno, EINTR);
}

/* Nor are they without an end: the bytes that are returned do not count them. */
static void floods_of_messages_end_the_stream(void **state)
{
	static const struct {
		const char *frame;
		size_t size;
	} kinds[] = { { "\2\0\0\0\0\0\0\0", 8 }, { "\2\0\0\0\0\0\0\1x", 9 } };
	struct wire *wire = *state;
	char text[8];

	for (size_t kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		unsigned turns = 0;
		wire->demux = (struct demux){ 0 };
		do {
			for (int i = 0; i < 16; i++) {
				put(wire, kinds[kind].frame, kinds[kind].size);
			}
			assert_int_equal(get(wire, text, sizeof(text)), -1);
			turns++;
		} while (errno != EPROTO && turns < 2 * DEMUX_SKIPS_MAX);
		assert_true(turns < DEMUX_SKIPS_MAX);
		while (recv(wire->ends[0], text, sizeof(text), 0) > 0) {
		}
	}
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Of some at a time. */
static struct buf text_of(const char *text)
{
	static char kept[8][2048];
	static unsigned next;
	char *at = kept[next++ % 8];

	snprintf(at, sizeof(kept[0]), "%s", text);
	return (struct buf){ .data = at, .size = strlen(at) };
}

static void versions_are_read(void **state)
{
	struct buf good = text_of("{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\","
				  "\"Version\":\"20.10\\u001b[0m\"}");
	static const char *const wrong[] = { "",
					     "[]",
					     "{}",
					     "{\"ApiVersion\":\"2.0\"}",
					     "{\"ApiVersion\":\"1.\"}",
					     "{\"ApiVersion\":\"1.4x\"}",
					     "{\"ApiVersion\":141}" };
	struct daemon_version version;

	(void)state;
	assert_int_equal(daemon_answer_version(&good, &version), 0);
	assert_int_equal(version.most, 41);
	assert_int_equal(version.least, 12);
	assert_string_equal(version.text, "20.10?[0m");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct buf body = text_of(wrong[i]);
		assert_int_equal(daemon_answer_version(&body, &version), -EPROTO);
	}
}

static void ids_and_processes_are_checked(void **state)
{
	char id[DAEMON_ID_CHARS + 1];
	pid_t pid = 0;
	struct buf made = text_of("{\"Id\":\"" ID "\",\"Warnings\":[]}");
	struct buf path = text_of("{\"Id\":\"../../images/x\"}");
	struct buf runs = text_of("{\"State\":{\"Pid\":77}}");
	struct buf negative = text_of("{\"State\":{\"Pid\":-1}}");
	struct buf large = text_of("{\"State\":{\"Pid\":99999999999}}");

	(void)state;
	assert_int_equal(daemon_answer_created(&made, id), 0);
	assert_string_equal(id, ID);
	assert_int_equal(daemon_answer_created(&path, id), -EPROTO);
	assert_int_equal(daemon_answer_pid(&runs, &pid), 0);
	assert_int_equal(pid, 77);
	assert_int_equal(daemon_answer_pid(&negative, &pid), -EPROTO);
	assert_int_equal(daemon_answer_pid(&large, &pid), -EPROTO);
}

static void volumes_of_images_are_seen(void **state)
{
	static const struct {
		const char *answer;
		bool has;
	} cases[] = { { "{\"Config\":{\"Volumes\":null}}", false },
		      { "{\"Config\":{\"Volumes\":{}}}", false },
		      { "{\"Config\":{}}", false },
		      { "{}", false },
		      { "{\"Config\":{\"Volumes\":{\"/data\":{}}}}", true },
		      { "{", true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf body = text_of(cases[i].answer);
		assert_int_equal(daemon_answer_volumes(&body), cases[i].has);
	}
}

static void refusals_have_a_reason(void **state)
{
	char reason[16];
	struct buf refusal = text_of("{\"message\":\"no such image: \\n abc\"}");
	struct buf nothing = text_of("<html>");

	(void)state;
	daemon_answer_reason(&refusal, reason, sizeof(reason));
	assert_string_equal(reason, "no such image: ");
	daemon_answer_reason(&nothing, reason, sizeof(reason));
	assert_string_equal(reason, "it gave no reas");
}

/* --- whose a container is --------------------------------------------------------------------- */

static void only_containers_of_dead_processes_are_stale(void **state)
{
	char own[DAEMON_OWNER_MAX], dead[DAEMON_OWNER_MAX + 32], list[2048];
	struct daemon_owner owner = { 0 }, closed = { 0 };
	char ids[DAEMON_STALE_MAX][DAEMON_ID_CHARS + 1];

	(void)state;
	assert_int_equal(daemon_owner_begin(&owner), 0);
	memcpy(own, owner.text, sizeof(own));
	assert_false(daemon_owner_is_dead(own, own));
	assert_false(daemon_owner_is_dead("", own));
	assert_false(daemon_owner_is_dead("another-boot:1:2:3", own));
	/* This process, with another start time: the number was used again. */
	snprintf(dead, sizeof(dead), "%.*s1:1", (int)(strrchr(own, ':') - own), own);
	assert_true(daemon_owner_is_dead(dead, own));
	/* A cell of this process is closed: nobody else would remove its container. */
	assert_int_equal(daemon_owner_begin(&closed), 0);
	assert_false(daemon_owner_is_closed(closed.text, own));
	daemon_owner_end(&closed);
	daemon_owner_end(&closed);
	assert_true(daemon_owner_is_closed(closed.text, own));
	assert_false(daemon_owner_is_closed(own, own));
	assert_false(daemon_owner_is_closed(dead, own));
	assert_false(daemon_owner_is_dead(closed.text, own));
	snprintf(list, sizeof(list),
		 "[{\"Id\":\"" ID "\",\"Labels\":{\"brig.owner\":\"%s\"}},"
		 "{\"Id\":\"" ID "\",\"Labels\":{}},{\"Id\":7},"
		 "{\"Id\":\"" OTHER_ID(
			 "1") "\",\"State\":\"created\",\"Labels\":{\"brig.owner\":\"%s\"}},"
			      "{\"Id\":\"" OTHER_ID(
				      "2") "\",\"State\":\"running\",\"Labels\":{\"brig.owner\":\"%"
					   "s\"}},"
					   "{\"Id\":\"" OTHER_ID(
						   "3") "\",\"Labels\":{\"brig.owner\":\"%s\"}}]",
		 own, closed.text, closed.text, dead);
	struct buf body = text_of(list);
	size_t count = 0;
	assert_int_equal(daemon_answer_stale(&body, own, ids, &count), 6);
	assert_int_equal(count, 3);
	assert_string_equal(ids[0], OTHER_ID("1"));
	/* Another list has some of them again. */
	assert_int_equal(daemon_answer_stale(&body, own, ids, &count), 6);
	assert_int_equal(count, 3);
	daemon_owner_end(&owner);
}

/* --- the container ---------------------------------------------------------------------------- */

static void containers_have_walls(void **state)
{
	static const char *const wanted[] = {
		"\"NetworkMode\":\"none\"", "\"ReadonlyRootfs\":true",
		"\"CapDrop\":[\"ALL\"]",    "\"SecurityOpt\":[\"no-new-privileges\"]",
		"\"AutoRemove\":true",      "\"StdinOnce\":true",
		"\"User\":\"1000:1000\"",   "\"Privileged\":false",
		"\"Memory\":67108864",      "\"MemorySwap\":67108864",
		"\"PidsLimit\":9",          "\"brig.owner\":\"me\"",
		"\"Test\":[\"NONE\"]",      "\"NonRecursive\":true",
	};
	static const struct spec spec = { .provider = &docker_provider,
					  .limits = { .memory_bytes = 64u << 20,
						      .processes = 8,
						      .disk_bytes = 4096,
						      .disk_inodes = 10 } };
	struct step bind = { .kind = STEP_BIND, .bind = { .target = "usr", .source = "/usr" } };
	const struct plan plan = { .steps = &bind, .count = 1 };
	struct daemon_container container = { .kind = &docker_kind,
					      .spec = &spec,
					      .plan = &plan,
					      .image = "image",
					      .names = "/cache/hosts",
					      .owner = "me" };
	_cleanup_(buf_done)
	struct buf body = { 0 };
	_cleanup_(buf_done)
	struct buf other = { 0 };

	(void)state;
	daemon_body_write(&container, &body);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		assert_non_null(strstr(body.data, wanted[i]));
	}
	assert_non_null(
		strstr(body.data, "\"Source\":\"/usr\",\"Target\":\"/usr\",\"ReadOnly\":true"));
	assert_non_null(strstr(body.data, "nr_inodes=12"));
	assert_non_null(strstr(body.data, "\"Source\":\"/cache/hosts\",\"Target\":\"/etc/hosts\","
					  "\"ReadOnly\":true"));
	/* An operator's image: the agent, and nothing else of the host. */
	container.kind = &podman_kind;
	container.agent = "/cache/agent";
	daemon_body_write(&container, &other);
	assert_null(strstr(other.data, "\"Source\":\"/usr\""));
	assert_non_null(strstr(other.data, "\"Source\":\"/cache/agent\""));
	assert_null(strstr(other.data, "nr_inodes"));
	assert_non_null(strstr(other.data, "\"/run\":\"ro,"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(data_is_taken_out_of_its_frames, set_up, tear_down),
		cmocka_unit_test_setup_teardown(frames_come_byte_by_byte, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_streams_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(messages_move_no_terminal, set_up, tear_down),
		cmocka_unit_test_setup_teardown(floods_of_messages_end_a_turn, set_up, tear_down),
		cmocka_unit_test_setup_teardown(floods_of_messages_end_the_stream, set_up,
						tear_down),
		cmocka_unit_test(versions_are_read),
		cmocka_unit_test(volumes_of_images_are_seen),
		cmocka_unit_test(ids_and_processes_are_checked),
		cmocka_unit_test(refusals_have_a_reason),
		cmocka_unit_test(only_containers_of_dead_processes_are_stale),
		cmocka_unit_test(containers_have_walls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
