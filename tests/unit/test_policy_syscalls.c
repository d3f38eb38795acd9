/* SPDX-License-Identifier: Apache-2.0 */
/* System-call groups: how their lines and the entries of a policy are read. */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after the four that it needs */
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "filter_fixture.h"
#include "policy_fixture.h"

/* No rule behind one that always matches, no call in two groups that a policy would combine. */
static void test_groups_are_tidy(void **state)
{
	struct policy *policy = load("default");

	(void)state;
	for (unsigned i = 0; i < policy->filter.count; i++) {
		const struct filter_rule *rule = &policy->filter.rules[i];
		bool last = i + 1 == policy->filter.count || rule[1].call != rule->call;

		if ((rule->tests_count == 0) != last) {
			fail_msg(
				"%s in %s: the last rule of a call, and no other, has no condition",
				syscall_name(rule->call), rule->origin);
		}
		if (!last && strcmp(rule->origin, rule[1].origin) != 0) {
			fail_msg("%s stands in %s and %s", syscall_name(rule->call), rule->origin,
				 rule[1].origin);
		}
		assert_true(strlen(rule->reason) < FILTER_REASON_MAX);
	}
	policy_free(policy);
}

static void test_entries_by_name(void **state)
{
	_cleanup_(strlist_done)
	struct strlist list = { 0 };
	struct filter filter = { 0 };
	struct policy policy = { .name = "test" };

	(void)state;
	strlist_add(&list, "@basic");
	strlist_add(&list, "-ioctl");
	strlist_add(&list, "ptrace");
	strlist_add(&list, "kill:reboot");
	strlist_add(&list, "@dangerous");
	assert_int_equal(syscalls_resolve(&list, &filter, NULL), 0);
	policy.filter = filter;
	assert_int_equal(decide(&policy, "ioctl", (uint64_t[6]){ 0 }).action, FILTER_DENY);
	assert_string_equal(decide(&policy, "ioctl", (uint64_t[6]){ 0 }).rule->origin, "policy");
	assert_int_equal(decide(&policy, "ptrace", (uint64_t[6]){ 0 }).action, FILTER_ALLOW);
	assert_int_equal(decide(&policy, "reboot", (uint64_t[6]){ 0 }).action, FILTER_KILL);
	assert_string_equal(decide(&policy, "mount", (uint64_t[6]){ 0 }).rule->origin,
			    "@dangerous");
	filter_done(&filter);
}

static void test_bad_entries(void **state)
{
	static const struct {
		const char *entries[2];
		const char *message;
	} cases[] = {
		{ { "@bsic", NULL }, "not a group" }, { { "raed", NULL }, "\"read\"" },
		{ { "", NULL }, "unknown" },          { { "@", NULL }, "not a group" },
		{ { "-", NULL }, "unknown" },         { { "kill:", NULL }, "unknown" },
		{ { "--read", NULL }, "unknown" },    { { "read", "-read" }, "twice" },
		{ { "@../x", NULL }, "not a group" }, { { "*", NULL }, "unknown" },
		{ { "-@basic", NULL }, "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(strlist_done)
		struct strlist list = { 0 };
		struct filter filter = { 0 };
		struct brig_error err = { 0 };

		for (unsigned e = 0; e < 2 && cases[i].entries[e]; e++) {
			strlist_add(&list, cases[i].entries[e]);
		}
		assert_true(syscalls_resolve(&list, &filter, &err) < 0);
		if (!strstr(err.message, cases[i].message)) {
			fail_msg("%s: %s", cases[i].entries[0], err.message);
		}
		assert_null(filter.rules);
	}
}

static void test_bad_lines(void **state)
{
	static const struct {
		const char *line, *message;
	} cases[] = {
		{ "read", "a line is" },
		{ "read | allow | ", "a line is" },
		{ "read | allow | | a | b", "a line is" },
		{ "raed | allow | | a", "unknown system call" },
		{ "read | permit | | a", "the action is" },
		{ "read | allow EPERM | | a", "nothing may follow" },
		{ "read | deny | | a", "the action is" },
		{ "read | deny 0 | | a", "only errno" },
		{ "read | errno EWHAT | | a", "unknown error" },
		{ "read | allow | |", "reason" },
		{ "read | allow | arg6 == 0 | a", "arg0 to arg5" },
		{ "read | allow | arg0 | a", "expected ==" },
		{ "read | allow | arg0 = 1 | a", "expected ==" },
		{ "read | allow | arg0 == | a", "missing" },
		{ "read | allow | arg0 == NOSUCH | a", "unknown constant" },
		{ "read | allow | arg0 == 12x | a", "bad number" },
		{ "read | allow | arg0 == 1 2 | a", "unexpected text" },
		{ "read | allow | arg0 == 1,2 | a", "unexpected text" },
		{ "read | allow | arg0 == 0x100000000 | a", "wide" },
		{ "read | allow | arg0 & 0x100000000 == 0 | a", "wide" },
		{ "read | allow | arg0 & 0xf == 0x10 | a", "mask" },
		{ "read | allow | arg0 == 99999999999999999999999 | a", "bad number" },
		{ "read | allow | arg0 in 1,2, | a", "missing" },
		{ "read | allow | arg0 not 1 | a", "expected ==" },
		{ "read | allow | arg0 == 1 ; | a", "arg0 to arg5" },
		{ "read | allow | arg0==1;arg0==1;arg0==1;arg0==1;arg0==1;"
		  "arg0==1;arg0==1;arg0==1;arg0==1 | a",
		  "too many conditions" },
		{ "read | allow | arg0 in "
		  "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,"
		  "24,25 | a",
		  "too many values" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct filter filter = { 0 };
		struct brig_error err = { 0 };

		assert_true(filter_from_lines(cases[i].line, &filter, &err) < 0);
		if (!strstr(err.message, cases[i].message) || !strstr(err.message, "line 1")) {
			fail_msg("%s: %s", cases[i].line, err.message);
		}
	}
}

/* The files themselves have no overlong lines, and every group parses alone. */
static void test_every_group_alone(void **state)
{
	unsigned groups = 0;

	(void)state;
	for (size_t i = 0; i < embedded_files_count; i++) {
		struct filter filter = { 0 };
		struct brig_error err = { 0 };
		_cleanup_(strlist_done)
		struct strlist list = { 0 };
		const char *path = embedded_files[i].path;

		if (strncmp(path, "syscalls/", 9) != 0) {
			continue;
		}
		strlist_addf(&list, "@%.*s", (int)(strlen(path) - 9 - 6), path + 9);
		if (syscalls_resolve(&list, &filter, &err) < 0) {
			fail_msg("%s", err.message);
		}
		/* These two are about one call each. */
		bool small = strstr(path, "netlink") || strstr(path, "terminal");
		assert_true(filter.count >= (small ? 2 : 6));
		filter_done(&filter);
		groups++;
	}
	assert_int_equal(groups, 11);
}

static void resolve(const char *const *entries, size_t count, struct filter *ret)
{
	_cleanup_(strlist_done)
	struct strlist list = { 0 };
	struct brig_error err = { 0 };

	for (size_t i = 0; i < count; i++) {
		strlist_add(&list, entries[i]);
	}
	if (syscalls_resolve(&list, ret, &err) < 0) {
		fail_msg("%s", err.message);
	}
}

static enum filter_action ask(const struct filter *filter, const char *call, uint64_t arg0,
			      uint64_t arg1)
{
	return filter_decide(filter, AUDIT_ARCH_X86_64, (uint32_t)syscall_number(call),
			     (uint64_t[6]){ arg0, arg1 })
		.action;
}

/* One call of a group, as the group allows it, or less; never more. */
static void test_single_calls_of_groups(void **state)
{
	static const char *const entries[] = {
		"@basic:ioctl arg1 in TCGETS,TIOCSTI",
		"@socket:socket arg0 == AF_UNIX",
		"@process:clone",
		"@socket:socketpair arg0 == AF_INET",
	};
	struct filter filter = { 0 };

	(void)state;
	resolve(entries, ARRAY_SIZE(entries), &filter);
	assert_int_equal(ask(&filter, "ioctl", 0, 0x5401), FILTER_ALLOW);
	assert_int_equal(ask(&filter, "ioctl", 0, 0x5412), FILTER_DENY);  /* TIOCSTI */
	assert_int_equal(ask(&filter, "ioctl", 0, 0x5413), FILTER_ERRNO); /* TIOCGWINSZ */
	assert_int_equal(ask(&filter, "socket", 1, 1), FILTER_ALLOW);
	assert_int_equal(ask(&filter, "socket", 2, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "socket", 38, 5), FILTER_DENY);
	assert_int_equal(ask(&filter, "clone", 17, 0), FILTER_ALLOW);
	assert_int_equal(ask(&filter, "clone", 0x10000000, 0), FILTER_DENY);
	/* A condition that widens nothing: the group allows only Unix pairs. */
	assert_int_equal(ask(&filter, "socketpair", 1, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "socketpair", 2, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "read", 0, 0), FILTER_ERRNO);
	filter_done(&filter);

	/* By itself and beside its group: the entry alone decides. */
	static const char *const both[] = { "@socket", "@socket:socket arg0 == AF_UNIX" };
	resolve(both, 2, &filter);
	assert_int_equal(ask(&filter, "socket", 2, 1), FILTER_DENY);
	assert_int_equal(ask(&filter, "connect", 0, 0), FILTER_ALLOW);
	filter_done(&filter);
}

static void test_bad_single_calls(void **state)
{
	static const char *const bad[][2] = {
		{ "@basic:nosuch", "unknown system call" },
		{ "@nosuch:read", "not a group" },
		{ "@basic:", "unknown system call" },
		{ "@basic:ioctl arg9 == 1", "arg0 to arg5" },
		{ "@basic:ioctl arg1 == NOSUCH", "unknown constant" },
		{ "@basic:ioctl arg1 == 1 | x", "after the condition" },
		{ "@file:socket", "not in the group" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_(strlist_done)
		struct strlist list = { 0 };
		struct filter filter = { 0 };
		struct brig_error err = { 0 };

		strlist_add(&list, bad[i][0]);
		if (syscall_entry_check(bad[i][0], &err) == 0) {
			assert_int_equal(syscalls_resolve(&list, &filter, &err), -EINVAL);
		}
		if (!strstr(err.message, bad[i][1])) {
			fail_msg("%s: %s", bad[i][0], err.message);
		}
	}
	static const char *const twice[] = { "@basic:read", "read" };
	struct strlist list = { 0 };
	struct filter filter = { 0 };
	strlist_add(&list, twice[0]);
	strlist_add(&list, twice[1]);
	assert_int_equal(syscalls_resolve(&list, &filter, NULL), -EINVAL);
	strlist_done(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_are_tidy),
		cmocka_unit_test(test_entries_by_name),
		cmocka_unit_test(test_bad_entries),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_every_group_alone),
		cmocka_unit_test(test_single_calls_of_groups),
		cmocka_unit_test(test_bad_single_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
