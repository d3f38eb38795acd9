/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of brig's own processes: see filter_seal.h. */
#include "kernel/filter/filter_seal.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

static const uint64_t zero[] = { 0 };
const struct filter_test seal_not_executable = {
	.arg = 2, .mask = PROT_EXEC, .values_count = 1, .values = zero
};
static const uint64_t quiet_prctl[] = { PR_SET_VMA };
const struct filter_test seal_names_memory = {
	.arg = 0, .mask = UINT32_MAX, .values_count = 1, .values = quiet_prctl
};
const struct filter_test seal_of_itself = { .arg = 0, .mask = UINT32_MAX };

const struct sealed_call *sealed_call_find(const struct sealed_call *calls, size_t count,
					   unsigned user, const char *name)
{
	for (size_t i = 0; name && i < count; i++) {
		if ((calls[i].users & user) && strcmp(calls[i].name, name) == 0) {
			return &calls[i];
		}
	}
	return NULL;
}

static struct filter_rule allow(unsigned number, const struct sealed_call *call,
				const struct filter_test *itself)
{
	uint8_t count = call->tests_count ? call->tests_count : 1;

	return (struct filter_rule){
		.call = (uint16_t)number,
		.action = FILTER_ALLOW,
		.tests = call->tests == &seal_of_itself ? itself : call->tests,
		.tests_count = call->tests ? count : 0,
		.reason = call->reason,
	};
}

int filter_seal(const struct sealed_call *calls, size_t count, unsigned user,
		struct brig_error *err)
{
	_cleanup_free_ struct filter_rule *rules = calloc(2 * FILTER_CALLS_MAX, sizeof(*rules));
	_cleanup_(bpf_program_done)
	struct bpf_program program = { 0 };
	uint64_t self = (uint64_t)getpid();
	struct filter_test itself = seal_of_itself;
	struct filter filter = { .rules = rules };

	if (!rules) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "system-call filter");
	}
	itself.values = &self;
	itself.values_count = 1;
	/* Every number has a rule, because a call without one would fail with ENOSYS. */
	for (unsigned number = 0; number < FILTER_CALLS_MAX; number++) {
		const struct sealed_call *call =
			sealed_call_find(calls, count, user, syscall_name(number));
		if (call) {
			rules[filter.count++] = allow(number, call, &itself);
		}
		if (!call || call->tests) {
			rules[filter.count++] = (struct filter_rule){ .call = (uint16_t)number,
								      .action = FILTER_KILL };
		}
	}
	int r = filter_compile(&filter, false, &program, err);
	if (r < 0) {
		return r;
	}
	struct sock_fprog code = { .len = (unsigned short)program.count, .filter = program.code };
	r = sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &code);
	return r < 0 ? error_errno(err, BRIG_E_HOST, -r, "cannot load the system-call filter") : 0;
}
