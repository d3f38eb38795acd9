/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the system-call filter of brig's default policy to standard output as raw BPF, so that
 * every contender is measured with the same filter. Refused calls return an errno: the other
 * contenders have no listener for them.
 *
 * usage: filter_dump POLICY
 */
#include <stdio.h>

#include "kernel/filter/filter.h"
#include "policy/policy.h"

int main(int argc, char **argv)
{
	struct policy_source source = { 0 };
	struct policy *policy = NULL;
	struct bpf_program program = { 0 };
	struct brig_error error = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: filter_dump POLICY\n");
		return 2;
	}
	if (policy_load(&source, argv[1], &policy, &error) < 0 ||
	    filter_compile(&policy->filter, false, &program, &error) < 0) {
		fprintf(stderr, "filter_dump: %s\n", error.message);
		policy_free(policy);
		return 1;
	}
	size_t written = fwrite(program.code, sizeof(program.code[0]), program.count, stdout);
	int status = written == program.count && fflush(stdout) == 0 ? 0 : 1;
	bpf_program_done(&program);
	policy_free(policy);
	return status;
}
