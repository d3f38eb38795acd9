/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates a filter program, as the kernel would run it. Supports the instructions that the
 * compiler emits and no other; anything unexpected returns a kill, so that a faulty program cannot
 * pass.
 */
#include <string.h>

#include "kernel/filter/filter.h"

static bool jump_taken(uint16_t op, uint32_t a, uint32_t k)
{
	switch (op) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGE:
		return a >= k;
	case BPF_JGT:
		return a > k;
	default: /* BPF_JSET */
		return (a & k) != 0;
	}
}

uint32_t bpf_evaluate(const struct bpf_program *program, const struct seccomp_data *data)
{
	uint32_t a = 0;

	/* Jumps only go forwards: it ends after at most `count` instructions. */
	for (uint64_t i = 0; i < program->count; i++) {
		const struct sock_filter *insn = &program->code[i];

		switch (insn->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (insn->k % 4 != 0 || insn->k > sizeof(*data) - sizeof(a)) {
				return SECCOMP_RET_KILL_PROCESS;
			}
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= insn->k;
			break;
		case BPF_JMP | BPF_JA:
			i += insn->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
		case BPF_JMP | BPF_JGE | BPF_K:
		case BPF_JMP | BPF_JGT | BPF_K:
		case BPF_JMP | BPF_JSET | BPF_K:
			i += jump_taken(BPF_OP(insn->code), a, insn->k) ? insn->jt : insn->jf;
			break;
		case BPF_RET | BPF_K:
			return insn->k;
		default:
			return SECCOMP_RET_KILL_PROCESS;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}
