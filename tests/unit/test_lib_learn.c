/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learning, through the library: the record of a run, and proposals that are valid policies.
 * tests/learn does this from outside and in more ways; here it also runs under the sanitizers.
 */
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lib/context.h"
#include "lib/learn/learn.h"

static struct policy *parse(const char *text)
{
	struct policy *policy = NULL;
	struct brig_error error = { 0 };

	if (policy_parse("learned", text, strlen(text), &policy, &error) < 0) {
		fail_msg("%s\n%s", error.message, text);
	}
	return policy;
}

static struct policy *base(void)
{
	struct policy_source source = { 0 };
	struct policy *policy = NULL;

	assert_int_equal(policy_load(&source, "default", &policy, NULL), 0);
	return policy;
}

/* Runs code with `learn` watching; the proposal, parsed. */
static struct policy *learn_from(struct learn *learn, const char *code,
				 const struct policy *earlier)
{
	struct brig_context_options options = { .size = sizeof(options), .no_cache = true };
	struct brig_request request = { .size = sizeof(request) };
	struct brig_context *context = NULL;
	struct brig_result *result = NULL;
	struct policy *under = base();
	_cleanup_(buf_done)
	struct buf text = { 0 };
	struct brig_error error = { 0 };

	learn_init(learn);
	assert_int_equal(brig_context_new(&options, &context, NULL), 0);
	context->watch = &learn->watch;
	if (brig_execute_code(context, "python", code, &request, &result, &error) < 0) {
		fail_msg("%s (%s)", error.message, error.remedy);
	}
	if (earlier) {
		learn_extend(learn, earlier);
	}
	assert_int_equal(learn_take_result(learn, result), 0);

	struct learn_origin origin = { .program = "code\n\"ptrace\",",
				       .base = "default",
				       .under = under,
				       .extended = earlier,
				       .request = &request,
				       .result = result };
	assert_int_equal(learn_propose(learn, &origin, &text), 0);
	brig_result_free(result);
	brig_context_free(context);
	policy_free(under);
	return parse(text.data);
}

static enum filter_action ask(const struct policy *policy, unsigned call, uint64_t arg0,
			      uint64_t arg1)
{
	return filter_decide(&policy->filter, AUDIT_ARCH_X86_64, call, (uint64_t[6]){ arg0, arg1 })
		.action;
}

static void from_a_run(void **state)
{
	struct learn *learn = calloc(1, sizeof(*learn));
	_cleanup_(buf_done)
	struct buf json = { 0 };
	struct json_out out = { .buf = &json };

	(void)state;
	assert_non_null(learn);
	struct policy *first = learn_from(learn,
					  "import socket, os\n"
					  "socket.socketpair()\n"
					  "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
					  "try: s.connect(('192.0.2.1', 53))\n"
					  "except OSError: pass\n"
					  "os.mkdir('/tmp/a\\nb')\n",
					  NULL);
	assert_int_equal(ask(first, SYS_socket, 2, 2), FILTER_ALLOW);
	assert_int_equal(ask(first, SYS_socket, 1, 1), FILTER_DENY);
	assert_int_equal(ask(first, SYS_socketpair, 1, 1), FILTER_ALLOW);
	assert_int_equal(ask(first, SYS_mkdir, 0, 0755), FILTER_ALLOW);
	assert_int_equal(ask(first, SYS_mkdir, 0, 04755), FILTER_DENY); /* as the group has it */
	assert_int_equal(ask(first, SYS_rmdir, 0, 0), FILTER_ERRNO);
	assert_int_equal(ask(first, SYS_fork, 0, 0), FILTER_DENY);
	assert_int_equal(ask(first, SYS_ptrace, 0, 0), FILTER_DENY);
	assert_int_equal(ask(first, SYS_clone, 0x10000000, 0), FILTER_DENY);
	assert_true(strlist_has(&learn->addresses, "192.0.2.1:53"));
	assert_false(first->exec_writable);

	json_open(&out, NULL, '{');
	learn_json(learn, &out);
	json_close(&out, '}');
	assert_non_null(strstr(json.data, "/tmp/a\\nb"));
	learn_done(learn);

	/* Joined: the calls of both, and nothing else. */
	struct policy *both =
		learn_from(learn, "import os; os.mkdir('/tmp/x'); os.rmdir('/tmp/x')", first);
	assert_int_equal(ask(both, SYS_rmdir, 0, 0), FILTER_ALLOW);
	assert_int_equal(ask(both, SYS_socket, 2, 2), FILTER_ALLOW);
	assert_int_equal(ask(both, SYS_socket, 1, 1), FILTER_DENY);
	assert_int_equal(ask(both, SYS_socket, 2, 1), FILTER_DENY);
	assert_int_equal(ask(both, SYS_fork, 0, 0), FILTER_DENY);
	learn_done(learn);
	policy_free(first);
	policy_free(both);
	free(learn);
}

/* For any call, and by any rule: the proposal allows nothing that its base does not. */
static void never_more_than_the_base(void **state)
{
	struct learn *learn = calloc(1, sizeof(*learn));
	struct policy *under = base();

	(void)state;
	assert_non_null(learn);
	struct policy *policy =
		learn_from(learn,
			   "import ctypes\n"
			   "c = ctypes.CDLL(None)\n"
			   "skip = {15, 34, 37, 56, 57, 58, 60, 130, 231, 219, 12, "
			   "11, 435, 335, 336}\n"
			   "for n in range(480):\n"
			   "    if n not in skip: c.syscall(n, *[ctypes.c_long(-1)] * 6)\n",
			   NULL);
	for (unsigned call = 0; call < FILTER_CALLS_MAX; call++) {
		for (unsigned bit = 0; bit < 65; bit++) {
			uint64_t arg = bit == 64 ? 0 : UINT64_C(1) << bit;
			uint64_t same[6] = { arg, arg, arg, arg, arg, arg };
			uint64_t small[6] = { bit, bit, bit, bit, bit, bit };
			const uint64_t *tries[] = { same, small };

			for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
				if (filter_decide(&policy->filter, AUDIT_ARCH_X86_64, call,
						  tries[i])
					    .action != FILTER_ALLOW) {
					continue;
				}
				assert_int_equal(filter_decide(&under->filter, AUDIT_ARCH_X86_64,
							       call, tries[i])
							 .action,
						 FILTER_ALLOW);
			}
		}
	}
	learn_done(learn);
	policy_free(policy);
	policy_free(under);
	free(learn);
}

static void texts_are_harmless(void **state)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };

	(void)state;
	learn_print_plain(&out, "a\nb\r\t\x1b[0m\x85\xe2\x80\xa8\"//*/");
	assert_string_equal(out.data, "a?b???[0m????\"//*/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_a_run),
		cmocka_unit_test(never_more_than_the_base),
		cmocka_unit_test(texts_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
