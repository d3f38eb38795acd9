/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and the order of an agent's reports: everything that does not fit is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "framed/report.h"

static void test_heads(void **state)
{
	(void)state;
	for (int kind = 0; kind < FRAME_KINDS; kind++) {
		const struct frame_info *info = &frame_table[kind];
		const uint32_t sizes[] = { info->least, info->most };
		unsigned char bytes[FRAME_HEAD_BYTES];
		struct frame_head head;

		assert_non_null(info->name);
		assert_true(info->least <= info->most && info->most <= FRAME_DATA_MAX);
		for (size_t i = 0; i < 2; i++) {
			frame_put_head(bytes, (enum frame_kind)kind, sizes[i]);
			assert_int_equal(frame_get_head(bytes, &head), 0);
			assert_int_equal(head.kind, kind);
			assert_int_equal(head.size, sizes[i]);
		}
		frame_put_head(bytes, (enum frame_kind)kind, info->most + 1);
		assert_int_equal(frame_get_head(bytes, &head), -EPROTO);
		frame_put_head(bytes, (enum frame_kind)kind, UINT32_MAX);
		assert_int_equal(frame_get_head(bytes, &head), -EPROTO);
		if (info->least > 0) {
			frame_put_head(bytes, (enum frame_kind)kind, info->least - 1);
			assert_int_equal(frame_get_head(bytes, &head), -EPROTO);
		}
	}
}

static void test_wrong_heads(void **state)
{
	unsigned char bytes[FRAME_HEAD_BYTES];
	struct frame_head head;

	(void)state;
	frame_put_head(bytes, FRAME_KINDS, 0);
	assert_int_equal(frame_get_head(bytes, &head), -EPROTO);
	for (int i = 1; i < 4; i++) {
		frame_put_head(bytes, FRAME_STARTED, 0);
		bytes[i] = 1; /* must be zero */
		assert_int_equal(frame_get_head(bytes, &head), -EPROTO);
	}
}

static void test_numbers(void **state)
{
	const struct frame_exit end = { 1, 2, UINT64_MAX - 3, 0x0123456789abcdefull };
	unsigned char bytes[FRAME_EXIT_BYTES];
	struct frame_exit again;

	(void)state;
	frame_put_exit(bytes, &end);
	assert_int_equal(bytes[0], 1); /* little-endian, whatever the host is */
	assert_int_equal(bytes[16], 0xef);
	frame_get_exit(bytes, &again);
	assert_memory_equal(&again, &end, sizeof(end));
}

/* --- reports ---------------------------------------------------------------------------------- */

static int report(struct report_reader *reader, enum frame_kind kind, const unsigned char *data)
{
	struct frame_head head = { kind, frame_table[kind].least };
	int r = report_allow(reader, &head);

	return r < 0 ? r : report_take(reader, &head, data);
}

static const unsigned char version[4] = { FRAME_VERSION };

static int report_exit(struct report_reader *reader, uint32_t code, uint32_t status)
{
	unsigned char bytes[FRAME_EXIT_BYTES];

	frame_put_exit(bytes, &(struct frame_exit){ .code = code, .status = status });
	return report(reader, FRAME_EXITED, bytes);
}

static void test_order(void **state)
{
	struct report_reader reader = { 0 };

	(void)state;
	assert_int_equal(report(&reader, FRAME_READY, version), 0);
	assert_int_equal(report(&reader, FRAME_STARTED, NULL), 0);
	assert_int_equal(report(&reader, FRAME_STDOUT, version), 0);
	assert_int_equal(report(&reader, FRAME_STDERR, version), 0);
	assert_int_equal(report_exit(&reader, CLD_EXITED, 3), 0);
	assert_int_equal(reader.state, REPORT_OVER);
	assert_int_equal(reader.end.status, 3);
}

/* By state: what may come. Everything else is refused, and the state stays. */
static void test_every_kind_in_every_state(void **state)
{
#define KIND(kind) (1ull << (kind))
	static const uint64_t allowed[REPORT_STATES] = {
		[REPORT_NEW] = KIND(FRAME_READY) | KIND(FRAME_FAILED),
		[REPORT_READY] = KIND(FRAME_STARTED) | KIND(FRAME_FAILED) | KIND(FRAME_LISTENER) |
				 KIND(FRAME_WAITING),
		[REPORT_RUNNING] = KIND(FRAME_STDOUT) | KIND(FRAME_STDERR) |
				   KIND(FRAME_INPUT_TAKEN) | KIND(FRAME_INPUT_CLOSED) |
				   KIND(FRAME_FROM_DRIVER) | KIND(FRAME_DRIVER_TAKEN) |
				   KIND(FRAME_DRIVER_CLOSED) | KIND(FRAME_VALUE) |
				   KIND(FRAME_MARKED) | KIND(FRAME_DISK) | KIND(FRAME_EXITED) |
				   KIND(FRAME_TO_GATE),
		[REPORT_RETURNS] = KIND(FRAME_OUT_DIRECTORY) | KIND(FRAME_OUT_LINK) |
				   KIND(FRAME_OUT_NAME) | KIND(FRAME_OUT_FILE) |
				   KIND(FRAME_OUT_DATA) | KIND(FRAME_OUT_END),
		[REPORT_OVER] = 0,
	};

	(void)state;
	for (int at = 0; at < REPORT_STATES; at++) {
		for (int kind = 0; kind < FRAME_KINDS; kind++) {
			const struct report_reader reader = { .state = (enum report_state)at };
			const struct frame_head head = { (enum frame_kind)kind,
							 frame_table[kind].least };
			int expected = allowed[at] & KIND(kind) ? 0 : -EPROTO;
			assert_int_equal(report_allow(&reader, &head), expected);
		}
	}
}

static void test_lies_about_the_end(void **state)
{
	static const struct {
		uint32_t code, status;
	} lies[] = {
		{ 0, 0 },           { CLD_EXITED, 256 }, { CLD_EXITED, UINT32_MAX },
		{ CLD_KILLED, 0 },  { CLD_KILLED, 65 },  { CLD_DUMPED, UINT32_MAX },
		{ CLD_STOPPED, 1 }, { UINT32_MAX, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct report_reader reader = { .state = REPORT_RUNNING };
		assert_int_equal(report_exit(&reader, lies[i].code, lies[i].status), -EPROTO);
		assert_int_equal(reader.state, REPORT_RUNNING);
	}
	struct report_reader reader = { .state = REPORT_RUNNING };
	assert_int_equal(report_exit(&reader, CLD_DUMPED, SIGABRT), 0);
}

static void test_files_after_the_end(void **state)
{
	static const unsigned char left[FRAME_LEFT_BYTES] = { 1 };
	struct report_reader reader = { .state = REPORT_RUNNING, .returns = 1 };

	(void)state;
	assert_int_equal(report_exit(&reader, CLD_EXITED, 0), 0);
	assert_int_equal(reader.state, REPORT_RETURNS);
	assert_int_equal(report(&reader, FRAME_OUT_END, left), 0);
	assert_int_equal(reader.state, REPORT_OVER);
	assert_int_equal(reader.left.odd_names, 1);
}

static void test_lies_about_the_disk(void **state)
{
	static const struct frame_disk lies[] = {
		{ .peak = { .bytes = 1ull << 60 } },
		{ .peak = { .inodes = UINT64_MAX } },
		{ .full = 4 },
	};
	unsigned char bytes[FRAME_DISK_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct report_reader reader = { .state = REPORT_RUNNING, .returns = 1 };
		frame_put_disk(bytes, &lies[i]);
		assert_int_equal(report(&reader, FRAME_DISK, bytes), -EPROTO);
	}
	struct report_reader reader = { .state = REPORT_RUNNING };
	frame_put_disk(bytes, &(struct frame_disk){ .full = FRAME_DISK_FULL });
	assert_int_equal(report(&reader, FRAME_DISK, bytes), -EPROTO); /* nobody has asked */
	reader.returns = 1;
	assert_int_equal(report(&reader, FRAME_DISK, bytes), 0);
	assert_int_equal(report(&reader, FRAME_DISK, bytes), -EPROTO); /* a second time */
}

static void test_lies_about_the_use(void **state)
{
	static const struct frame_exit lies[] = {
		{ .code = CLD_EXITED, .cpu_ns = UINT64_MAX },
		{ .code = CLD_EXITED, .memory_peak_bytes = UINT64_MAX },
		{ .code = CLD_EXITED, .cpu_ns = 1ull << 60 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct report_reader reader = { .state = REPORT_RUNNING };
		unsigned char bytes[FRAME_EXIT_BYTES];
		frame_put_exit(bytes, &lies[i]);
		assert_int_equal(report(&reader, FRAME_EXITED, bytes), -EPROTO);
	}
}

static void test_lies_about_input(void **state)
{
	struct report_reader reader = { .state = REPORT_RUNNING, .input = { .sent = 10 } };
	unsigned char bytes[4];

	(void)state;
	frame_put_u32(bytes, 0); /* would let it send as many frames as it likes */
	assert_int_equal(report(&reader, FRAME_INPUT_TAKEN, bytes), -EPROTO);
	frame_put_u32(bytes, 11);
	assert_int_equal(report(&reader, FRAME_INPUT_TAKEN, bytes), -EPROTO);
	frame_put_u32(bytes, 4);
	assert_int_equal(report(&reader, FRAME_INPUT_TAKEN, bytes), 0);
	assert_int_equal(reader.input.sent, 6);
	assert_int_equal(report(&reader, FRAME_INPUT_CLOSED, NULL), 0);
	assert_int_equal(report(&reader, FRAME_INPUT_CLOSED, NULL), -EPROTO);
}

/* Once, and only if an interpreter was told to wait. */
static void test_lies_about_waiting(void **state)
{
	struct report_reader reader = { .state = REPORT_READY };

	(void)state;
	assert_int_equal(report(&reader, FRAME_WAITING, NULL), -EPROTO);
	reader.wants_waiting = 1;
	assert_int_equal(report(&reader, FRAME_WAITING, NULL), 0);
	assert_int_equal(report(&reader, FRAME_WAITING, NULL), -EPROTO);
	assert_int_equal(reader.state, REPORT_READY);
}

static void test_other_lies(void **state)
{
	static const struct {
		uint32_t step, errnum;
	} lies[] = { { FRAME_STEPS, 1 }, { UINT32_MAX, 1 }, { 0, 0 }, { 0, 4096 } };
	unsigned char bytes[8];

	(void)state;
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct report_reader reader = { .state = REPORT_READY };
		frame_put_u32(bytes, lies[i].step);
		frame_put_u32(bytes + 4, lies[i].errnum);
		assert_int_equal(report(&reader, FRAME_FAILED, bytes), -EPROTO);
	}
	struct report_reader reader = { 0 };
	frame_put_u32(bytes, FRAME_VERSION + 1);
	assert_int_equal(report(&reader, FRAME_READY, bytes), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_wrong_heads),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_every_kind_in_every_state),
		cmocka_unit_test(test_lies_about_the_end),
		cmocka_unit_test(test_lies_about_the_use),
		cmocka_unit_test(test_files_after_the_end),
		cmocka_unit_test(test_lies_about_the_disk),
		cmocka_unit_test(test_lies_about_input),
		cmocka_unit_test(test_lies_about_waiting),
		cmocka_unit_test(test_other_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
