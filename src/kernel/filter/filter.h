/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System-call filters: a table (from the policy), compiled to a BPF decision tree.
 *
 * The table is the reference. filter_decide() interprets it slowly and simply; bpf_evaluate()
 * simulates the compiled program; the policy proof in the tests compares the two.
 */
#ifndef BRIG_KERNEL_FILTER_FILTER_H
#define BRIG_KERNEL_FILTER_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define FILTER_CALLS_MAX  1024 /* call numbers above are unknown: ENOSYS */
#define FILTER_RULES_MAX  1024
#define FILTER_TESTS_MAX  8  /* conditions of one rule, all of which must hold */
#define FILTER_VALUES_MAX 24 /* alternatives of one condition */
#define FILTER_REASON_MAX 96

enum filter_action {
	FILTER_ALLOW,
	FILTER_DENY,  /* refused with an errno, and recorded */
	FILTER_ERRNO, /* returns an errno, not recorded (for programs that probe) */
	FILTER_KILL,  /* the process is killed */
};

/* One condition on the low 32 bits (or all 64) of an argument. */
struct filter_test {
	uint8_t arg;
	bool wide;   /* compare 64 bits; else only the low 32, as the kernel's int arguments are */
	bool negate; /* none of the values, instead of one of them */
	uint64_t mask;          /* argument & mask, before comparing */
	uint8_t values_count;   /* 1 to FILTER_VALUES_MAX */
	const uint64_t *values; /* in filter.values */
};

struct filter_rule {
	uint16_t call; /* x86_64 number */
	enum filter_action action;
	uint16_t errnum;
	uint8_t tests_count;             /* 0: always */
	const struct filter_test *tests; /* in filter.tests */
	const char *reason;              /* shorter than FILTER_REASON_MAX */
	const char *origin;              /* the group of the line: "@basic"; or "policy" */
	const char *remedy;              /* for the operator; NULL: allow it in the policy */
	bool watch;                      /* reported to the listener first: filter_watch() */
};

/* For one call the first rule whose tests hold decides; none holds: deny EPERM; no rule: ENOSYS. */
struct filter {
	struct filter_rule *rules; /* owned; sorted by call, stable */
	unsigned count;
	struct filter_test *tests; /* owned; the rules point into it */
	uint64_t *values;          /* owned; the tests point into it */
	char *texts; /* owned; likewise, for reasons and origins that are not static */
};

struct filter_decision {
	enum filter_action action;
	uint16_t errnum;
	const struct filter_rule *rule; /* NULL: the default */
};

void filter_done(struct filter *filter);
struct filter_decision filter_decide(const struct filter *filter, uint32_t arch, uint32_t call,
				     const uint64_t args[6]);

/*
 * The names of the calls that it kills for, as many as fit: "mount, uname"; "": none, or no filter.
 */
void filter_kill_calls(const struct filter *filter, char *ret, size_t size);

struct bpf_program {
	struct sock_filter *code; /* owned */
	unsigned count;
};
void bpf_program_done(struct bpf_program *program);

/* Calls by number. */
struct call_set {
	uint64_t bits[FILTER_CALLS_MAX / 64];
};
void call_set_fill(struct call_set *set);
void call_set_add(struct call_set *set, unsigned call);
bool call_set_has(const struct call_set *set, unsigned call);

/*
 * Marks the calls of this set that are not refused as watched: filter_watch.c lists those that
 * never are, and why it is safe. Decisions stay the same. -EINVAL: the filter allows a call that
 * must not be combined with it; then nothing is marked.
 */
int filter_watch(struct filter *filter, const struct call_set *calls, struct brig_error *err);

/*
 * notify: FILTER_DENY and watched calls become SECCOMP_RET_USER_NOTIF; else SECCOMP_RET_ERRNO, and
 * nothing is watched.
 */
int filter_compile(const struct filter *filter, bool notify, struct bpf_program *ret,
		   struct brig_error *err);
/* Simulates a program: the SECCOMP_RET_* value. Only the instructions that we emit. */
uint32_t bpf_evaluate(const struct bpf_program *program, const struct seccomp_data *data);

/* Names, from the kernel's own headers at build time. */
int syscall_number(const char *name);      /* or -1 */
const char *syscall_name(unsigned number); /* or NULL */
/* "socket(AF_ALG, SOCK_SEQPACKET, 0)": describes a refused call by its scalar arguments. */
void syscall_describe(unsigned number, const uint64_t args[6], char *text, size_t size);
/* A symbolic constant that is allowed in a rule ("AF_UNIX", "CLONE_NEWUSER"): 0 or -1. */
int syscall_constant(const char *name, uint64_t *ret);
#endif
