/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a filter's table to a BPF program: a balanced tree over ranges of call numbers, with the
 * tests of arguments at its leaves. Why it is our own:
 * docs/design/decisions/0001-own-bpf-compiler.md.
 *
 * The program is written from its end to its beginning. BPF jumps only forwards, so every target
 * already exists when a jump to it is written: no second pass, no patching, and a target too far
 * for the 8 bits of a conditional jump gets an unconditional one in between.
 */
#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/filter/filter.h"
#include "kernel/filter/filter_abi.h"

#define REACH        250 /* of 255: room for the two trampolines that one branch may need */
#define RETURNS_KEPT 16

struct filter_builder {
	struct sock_filter code[BPF_MAXINSNS];
	unsigned head; /* the program so far is code[head..] */
	bool full;
	bool notify;
	/* The position of each recent return, so that nearby branches share it. */
	struct {
		uint32_t value;
		unsigned at;
	} returns[RETURNS_KEPT];
	unsigned returns_count;
};

/* Numbers [first, next range's first) with the same result. */
struct range {
	uint16_t first;
	uint16_t rules; /* number of rules that decide; 0: `value` is the result */
	uint16_t rule;  /* first of them */
	uint32_t value;
};

static unsigned emit(struct filter_builder *b, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
	if (b->head == 0) {
		b->full = true;
		return 0;
	}
	b->head--;
	b->code[b->head] = (struct sock_filter){ code, yes, no, k };
	return b->head;
}

/* `target`, or a jump to it nearby. */
static unsigned within_reach(struct filter_builder *b, unsigned target)
{
	if (target - b->head <= REACH) {
		return target;
	}
	return emit(b, BPF_JMP | BPF_JA, 0, 0, target - b->head);
}

static unsigned emit_branch(struct filter_builder *b, uint16_t op, uint32_t k, unsigned yes,
			    unsigned no)
{
	yes = within_reach(b, yes);
	no = within_reach(b, no);
	return emit(b, BPF_JMP | op | BPF_K, (uint8_t)(yes - b->head), (uint8_t)(no - b->head), k);
}

static unsigned emit_return(struct filter_builder *b, uint32_t value)
{
	unsigned i;

	for (i = 0; i < b->returns_count; i++) {
		if (b->returns[i].value == value) {
			break;
		}
	}
	if (i < b->returns_count && b->returns[i].at - b->head <= REACH) {
		return b->returns[i].at;
	}

	unsigned at = emit(b, BPF_RET | BPF_K, 0, 0, value);

	if (i == RETURNS_KEPT) {
		return at;
	}
	b->returns[i].value = value;
	b->returns[i].at = at;
	if (i == b->returns_count) {
		b->returns_count++;
	}
	return at;
}

static uint32_t return_value(const struct filter_builder *b, enum filter_action action,
			     uint16_t errnum)
{
	switch (action) {
	case FILTER_ALLOW:
		return SECCOMP_RET_ALLOW;
	case FILTER_DENY:
		if (b->notify) {
			return SECCOMP_RET_USER_NOTIF;
		}
		return SECCOMP_RET_ERRNO | errnum;
	case FILTER_ERRNO:
		return SECCOMP_RET_ERRNO | errnum;
	case FILTER_KILL:
		break;
	}
	return SECCOMP_RET_KILL_PROCESS;
}

static uint32_t rule_value(const struct filter_builder *b, const struct filter_rule *rule)
{
	if (b->notify && rule->watch && rule->action != FILTER_KILL) {
		return SECCOMP_RET_USER_NOTIF;
	}
	return return_value(b, rule->action, rule->errnum);
}

static void emit_load(struct filter_builder *b, unsigned arg, bool high, uint32_t mask)
{
	size_t offset =
		offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t) + (high ? 4 : 0);

	if (mask != UINT32_MAX) {
		emit(b, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
	}
	emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

/* Both words of each value: low, then high, then the next value. */
static unsigned emit_wide_test(struct filter_builder *b, const struct filter_test *test,
			       unsigned found, unsigned missed)
{
	unsigned next = missed;

	for (unsigned i = test->values_count; i-- > 0;) {
		uint64_t value = test->values[i];

		emit_branch(b, BPF_JEQ, (uint32_t)(value >> 32), found, next);
		emit_load(b, test->arg, true, (uint32_t)(test->mask >> 32));

		unsigned high = b->head;

		emit_branch(b, BPF_JEQ, (uint32_t)value, high, next);
		emit_load(b, test->arg, false, (uint32_t)test->mask);
		next = b->head;
	}
	return next;
}

/* A run of consecutive values costs two comparisons, so three are worth it. */
#define RUN_WORTH 3

/* The first of the consecutive values that end with the one at `last`. */
static unsigned run_start(const struct filter_test *test, unsigned last)
{
	while (last > 0 && test->values[last] <= UINT32_MAX &&
	       test->values[last - 1] < UINT32_MAX &&
	       test->values[last - 1] + 1 == test->values[last]) {
		last--;
	}
	return last;
}

static unsigned emit_test(struct filter_builder *b, const struct filter_test *test, unsigned holds,
			  unsigned fails)
{
	unsigned found = test->negate ? fails : holds;
	unsigned missed = test->negate ? holds : fails;

	if (test->wide) {
		return emit_wide_test(b, test, found, missed);
	}

	unsigned next = missed;

	for (unsigned i = test->values_count; i > 0;) {
		unsigned first = run_start(test, i - 1);
		uint32_t last_value = (uint32_t)test->values[i - 1];

		if (i - first >= RUN_WORTH) {
			/* The cost is per instruction: two for the whole run of values. */
			unsigned above = emit_branch(b, BPF_JGT, last_value, next, found);
			next = emit_branch(b, BPF_JGE, (uint32_t)test->values[first], above, next);
			i = first;
		} else {
			next = emit_branch(b, BPF_JEQ, last_value, found, next);
			i--;
		}
	}
	emit_load(b, test->arg, false, (uint32_t)test->mask);
	return b->head;
}

/* The rules of one call, last to first: if one does not hold, the next is tested. */
static unsigned emit_rules(struct filter_builder *b, const struct filter_rule *rules,
			   unsigned count)
{
	unsigned next = emit_return(b, return_value(b, FILTER_DENY, EPERM));

	for (unsigned i = count; i-- > 0;) {
		const struct filter_rule *rule = &rules[i];
		unsigned holds = emit_return(b, rule_value(b, rule));

		for (unsigned t = rule->tests_count; t-- > 0;) {
			holds = emit_test(b, &rule->tests[t], holds, next);
		}
		next = holds;
	}
	return next;
}

/* Depth is the logarithm of the number of ranges: 11 at most. */
static unsigned emit_tree(struct filter_builder *b, const struct filter *filter,
			  const struct range *ranges, unsigned count)
{
	if (count == 1) {
		if (ranges->rules == 0) {
			return emit_return(b, ranges->value);
		}
		return emit_rules(b, filter->rules + ranges->rule, ranges->rules);
	}

	unsigned half = count / 2;
	unsigned above = emit_tree(b, filter, ranges + half, count - half);
	unsigned below = emit_tree(b, filter, ranges, half);

	return emit_branch(b, BPF_JGE, ranges[half].first, above, below);
}

static void add_range(struct range *ranges, unsigned *count, struct range range)
{
	struct range *last = *count > 0 ? &ranges[*count - 1] : NULL;

	if (last && last->rules == 0 && range.rules == 0 && last->value == range.value) {
		return;
	}
	if (last && last->first == range.first) {
		*last = range;
		return;
	}
	ranges[(*count)++] = range;
}

/* A call with one rule and no test has a fixed result; the gaps between calls are ENOSYS. */
static unsigned make_ranges(const struct filter_builder *b, const struct filter *filter,
			    struct range *ranges)
{
	uint32_t unknown = return_value(b, FILTER_ERRNO, ENOSYS);
	unsigned count = 0;
	unsigned end = 0; /* numbers below it have a range */

	for (unsigned i = 0; i < filter->count;) {
		const struct filter_rule *rule = &filter->rules[i];
		struct range range = { .first = rule->call, .rule = (uint16_t)i };

		while (i < filter->count && filter->rules[i].call == rule->call) {
			i++;
		}
		if (rule->tests_count == 0) {
			range.value = rule_value(b, rule);
		} else {
			range.rules = (uint16_t)(i - range.rule);
		}
		if (rule->call > end) {
			add_range(ranges, &count,
				  (struct range){ .first = (uint16_t)end, .value = unknown });
		}
		add_range(ranges, &count, range);
		end = rule->call + 1u;
	}
	add_range(ranges, &count, (struct range){ .first = (uint16_t)end, .value = unknown });
	return count;
}

static void emit_program(struct filter_builder *b, const struct filter *filter)
{
	struct range ranges[2 * FILTER_CALLS_MAX + 1];
	unsigned count = make_ranges(b, filter, ranges);
	unsigned tree = emit_tree(b, filter, ranges, count);
	unsigned kill = emit_return(b, SECCOMP_RET_KILL_PROCESS);

	emit_branch(b, BPF_JGE, FILTER_X32_BIT, kill, tree);
	emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	emit_branch(b, BPF_JEQ, AUDIT_ARCH_X86_64, b->head, kill);
	emit(b, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
}

static bool tests_valid(const struct filter_rule *rule)
{
	if (rule->tests_count > FILTER_TESTS_MAX) {
		return false;
	}
	for (unsigned i = 0; i < rule->tests_count; i++) {
		const struct filter_test *test = &rule->tests[i];

		if (test->arg > 5 || test->values_count == 0 ||
		    test->values_count > FILTER_VALUES_MAX) {
			return false;
		}
	}
	return true;
}

/* The table must fulfil its contract, or the tree would be wrong without an error. */
static int check_table(const struct filter *filter, struct brig_error *err)
{
	for (unsigned i = 0; i < filter->count; i++) {
		const struct filter_rule *rule = &filter->rules[i];

		if (rule->call >= FILTER_CALLS_MAX || !tests_valid(rule) ||
		    (i > 0 && filter->rules[i - 1].call > rule->call)) {
			return error_set(err, BRIG_E_POLICY, EINVAL,
					 "system-call filter: rule %u is out of order or range", i);
		}
	}
	return 0;
}

int filter_compile(const struct filter *filter, bool notify, struct bpf_program *ret,
		   struct brig_error *err)
{
	int r = check_table(filter, err);

	if (r < 0) {
		return r;
	}

	/* On the heap: libbrig may be called from a thread with a small stack. */
	struct filter_builder *b = malloc(sizeof(*b));

	if (!b) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "system-call filter");
	}
	b->head = BPF_MAXINSNS;
	b->full = false;
	b->notify = notify;
	b->returns_count = 0;
	emit_program(b, filter);

	unsigned count = BPF_MAXINSNS - b->head;
	struct sock_filter *code = NULL;

	if (b->full) {
		r = error_set(
			err, BRIG_E_POLICY, E2BIG,
			"system-call filter: more than the %d instructions that the kernel accepts",
			BPF_MAXINSNS);
		error_remedy(err,
			     "name fewer single system calls, or use groups without conditions");
	} else {
		code = malloc(count * sizeof(*code));
		if (!code) {
			r = error_errno(err, BRIG_E_SYSTEM, ENOMEM, "system-call filter");
		}
	}
	if (code) {
		memcpy(code, b->code + b->head, count * sizeof(*code));
		ret->code = code;
		ret->count = count;
	}
	free(b);
	return r;
}
