/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System-call filters: a written table (what the policy says), compiled to a BPF decision tree.
 *
 * The table is the truth. filter_decide() interprets it slowly and plainly; bpf_evaluate() runs
 * the compiled program; the policy proof in the tests holds the two against each other.
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
	FILTER_ERRNO, /* answered with an errno, not recorded (for programs that probe) */
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
	const char *origin;              /* group that the line stands in: "@basic"; or "policy" */
	const char *remedy;              /* for the operator; NULL: allow it in the policy */
	bool watch;                      /* told of first: filter_watch() */
};

/* For one call the first rule whose tests hold decides; none holds: deny EPERM; no rule: ENOSYS. */
struct filter {
	struct filter_rule *rules; /* owned; sorted by call, stable */
	unsigned count;
	struct filter_test *tests; /* owned; what the rules point into */
	uint64_t *values;          /* owned; what the tests point into */
	char *texts;               /* owned; likewise, what of reasons and origins is not static */
};

struct filter_decision {
	enum filter_action action;
	uint16_t errnum;
	const struct filter_rule *rule; /* NULL: by default */
};

void filter_done(struct filter *filter);
struct filter_decision filter_decide(const struct filter *filter, uint32_t arch, uint32_t call,
				     const uint64_t args[6]);

/* The names of the calls that it kills for, as many as fit: "mount, uname"; "": none, or no filter. */
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
 * Marks what is not refused of these calls as watched: filter_watch.c says which never are, and why
 * it is safe. What is decided stays the same. -EINVAL: the filter allows what must not be combined
 * with it; then nothing is marked.
 */
int filter_watch(struct filter *filter, const struct call_set *calls, struct brig_error *err);

/*
 * notify: FILTER_DENY, and what is watched, become SECCOMP_RET_USER_NOTIF; else SECCOMP_RET_ERRNO,
 * and nothing is watched.
 */
int filter_compile(const struct filter *filter, bool notify, struct bpf_program *ret,
		   struct brig_error *err);
/* Runs a program on paper: the SECCOMP_RET_* value. Only the instructions that we emit. */
uint32_t bpf_evaluate(const struct bpf_program *program, const struct seccomp_data *data);

/* Names, from the kernel's own headers at build time. */
int syscall_number(const char *name);      /* or -1 */
const char *syscall_name(unsigned number); /* or NULL */
/* "socket(AF_ALG, SOCK_SEQPACKET, 0)": what a refused call meant, from its scalar arguments. */
void syscall_describe(unsigned number, const uint64_t args[6], char *text, size_t size);
/* A symbolic constant that may stand in a rule ("AF_UNIX", "CLONE_NEWUSER"): 0 or -1. */
int syscall_constant(const char *name, uint64_t *ret);
#endif
