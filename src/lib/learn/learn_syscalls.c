/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a proposal, one in a line, each as a member of its group: a call by its bare
 * name would lose the group's conditions. If an argument decides the purpose of a call, the values
 * that were used are named.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/filter/syscall_constant.h"
#include "lib/learn/learn.h"

/*
 * Calls that are proposed even if they were not seen: those that are never watched, and those that
 * the same program makes in one run and not in the next (memory, locks, signals). None of them
 * gives access to anything.
 */
static const struct {
	const char *call, *why;
} always[] = {
	{ "write", "every program writes; brig starts it by that" },
	{ "read", "every program reads; brig starts it by that" },
	{ "close", "brig starts the program by that" },
	{ "execve", "brig starts the program by that" },
	{ "exit", "end a thread" },
	{ "exit_group", "end the process" },
	{ "rt_sigreturn", "come back from a signal handler" },
	{ "restart_syscall", "the kernel itself continues an interrupted sleep" },
	{ "sysinfo", "answered by brig with the cell's own figures" },
	{ "brk", "memory: not the same in every run" },
	{ "mmap", "memory: not the same in every run" },
	{ "munmap", "memory: not the same in every run" },
	{ "mremap", "memory: not the same in every run" },
	{ "mprotect", "memory: not the same in every run" },
	{ "madvise", "memory: not the same in every run" },
	{ "futex", "locks: not the same in every run" },
	{ "sched_yield", "locks: not the same in every run" },
	{ "clock_gettime", "time, where the kernel's page for it does not do" },
	{ "getpid", "own process number" },
	{ "gettid", "own thread number" },
	{ "tgkill", "abort, and signals between own threads" },
	{ "rt_sigaction", "handle a signal" },
	{ "rt_sigprocmask", "block signals" },
	{ "close_range", "brig starts a cell that was made ahead by that" },
	{ "getcwd", "brig starts a cell that was made ahead by that" },
};

/* Refused by name if they were not used, so that the verdict reports a program that does more. */
static const char *const reported[] = { "socket", "clone",        "fork",
					"vfork",  "memfd_create", "execveat" };

static const char *always_why(unsigned call)
{
	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		if (syscall_number(always[i].call) == (int)call) {
			return always[i].why;
		}
	}
	return NULL;
}

static const struct filter_rule *rule_of(const struct filter *filter, unsigned call)
{
	for (unsigned i = 0; i < filter->count; i++) {
		if (filter->rules[i].call == call) {
			return &filter->rules[i];
		}
	}
	return NULL;
}

static void print_value(struct buf *out, int set, uint32_t value)
{
	const char *name = constant_name((enum constant_set)set, value);
	uint64_t same;

	if (name && syscall_constant(name, &same) == 0 && same == value) {
		buf_adds(out, name);
	} else {
		buf_addf(out, "0x%" PRIx32, value);
	}
}

/* The condition of the policy `under` for the call, beyond its group: "arg0 == AF_UNIX"; or NULL. */
static const char *condition_above(const struct policy *under, const char *group, const char *name)
{
	char head[64];
	size_t length = (size_t)snprintf(head, sizeof(head), "%s:%s ", group, name);

	for (size_t i = 0; i < under->syscalls.count; i++) {
		if (strncmp(under->syscalls.items[i], head, length) == 0) {
			return under->syscalls.items[i] + length;
		}
	}
	return NULL;
}

static void print_condition(const struct learn *learn, const char *above, unsigned call,
			    struct buf *out)
{
	const char *between = " ";

	if (above) {
		buf_addf(out, " %s", above);
		between = " ; ";
	}

	for (unsigned i = 0; i < LEARN_NARROWED; i++) {
		const struct learn_narrowing *narrowing = &learn_narrowings[i];

		for (unsigned k = 0; k < LEARN_ARGUMENTS; k++) {
			const struct learn_values *values = &learn->values[i][k];
			uint32_t mask = narrowing->arguments[k].mask;

			if (syscall_number(narrowing->call) != (int)call || !mask || values->any) {
				continue;
			}
			unsigned index = narrowing->arguments[k].index;
			if (values->count == 0) {
				/* Only probed and answered: no allowed value was used. */
				buf_addf(out, "%swide arg%u == 0xffffffffffffffff", between, index);
				between = " ; ";
				continue;
			}
			buf_addf(out, "%sarg%u ", between, index);
			if (mask != UINT32_MAX) {
				buf_addf(out, "& 0x%" PRIx32 " ", mask);
			}
			buf_adds(out, values->count > 1 ? "in " : "== ");
			for (unsigned v = 0; v < values->count; v++) {
				buf_adds(out, v ? "," : "");
				print_value(out, narrowing->arguments[k].set, values->items[v]);
			}
			between = " ; ";
		}
	}
}

void learn_print_plain(struct buf *out, const char *text)
{
	for (; *text; text++) {
		buf_addc(out, *text >= ' ' && *text < 0x7f ? *text : '?');
	}
}

static void print_times(struct buf *out, uint64_t times)
{
	if (times == 1) {
		buf_adds(out, "once");
	} else {
		buf_addf(out, "%" PRIu64 " times", times);
	}
}

static void print_reason(const struct learn_call *use, const char *why, struct buf *out)
{
	learn_print_plain(out, use->reason[0] ? use->reason : why ? why : "as the group has it");
	if (use->allowed) {
		buf_adds(out, ": ");
		print_times(out, use->allowed);
	}
	if (use->answered) {
		buf_adds(out, use->allowed ? ", and probed " : ": only probed ");
		print_times(out, use->answered);
	}
	if (use->first[0]) {
		buf_adds(out, ", first ");
		learn_print_plain(out, use->first);
	}
	if (!use->allowed && !use->answered && use->kept) {
		buf_adds(out, " (kept: not used this time)");
	}
}

static void print_call(const struct learn *learn, const struct policy *under, unsigned call,
		       const char *group, bool dangerous, struct buf *out)
{
	const char *name = syscall_name(call);

	buf_adds(out, dangerous ? "\t\t// \"" : "\t\t\"");
	if (group[0] == '@') {
		buf_addf(out, "%s:%s", group, name);
		print_condition(learn, condition_above(under, group, name), call, out);
	} else {
		buf_adds(out, name);
	}
	buf_adds(out, dangerous ? "\", // DANGEROUS, not proposed by itself: " : "\", // ");
	print_reason(&learn->calls[call], always_why(call), out);
	buf_adds(out, "\n");
}

/* All calls of one group; "" stands for calls that the policy has by name. */
static void print_group(const struct learn *learn, const struct policy *under,
			const struct filter *dangerous, const char *group, struct buf *out)
{
	for (unsigned call = 0; call < FILTER_CALLS_MAX; call++) {
		const struct learn_call *use = &learn->calls[call];
		const struct filter_rule *rule = rule_of(&under->filter, call);
		bool used = use->allowed || use->answered || use->kept;
		char own[16] = "";

		/* A call that was not used is proposed only if the policy `under` has it. */
		if (!used && (!always_why(call) || !rule)) {
			continue;
		}
		if (use->group[0]) {
			snprintf(own, sizeof(own), "%s", use->group);
		} else if (rule) {
			snprintf(own, sizeof(own), "%.*s", (int)strcspn(rule->origin, ":"),
				 rule->origin);
		}
		/* A bare name allows all of a call: only if the policy `under` does so. */
		if (own[0] != '@' && !use->kept && (!rule || rule->action != FILTER_ALLOW)) {
			continue;
		}
		if (strcmp(own[0] == '@' ? own : "", group) == 0) {
			print_call(learn, under, call, own, rule_of(dangerous, call) != NULL, out);
		}
	}
}

static void print_refused(const struct learn *learn, struct buf *out)
{
	bool first = true;

	for (unsigned call = 0; call < FILTER_CALLS_MAX; call++) {
		const struct learn_call *use = &learn->calls[call];

		if (!use->refused) {
			continue;
		}
		if (first) {
			buf_adds(out, "\n\t\t// Refused while it was learned, and not proposed. "
				      "A call that is\n"
				      "\t\t// allowed by name is allowed with all arguments; read "
				      "docs/policy.md first.\n");
			first = false;
		}
		buf_addf(out, "\t\t// \"%s\", // refused ", syscall_name(call));
		print_times(out, use->refused);
		buf_adds(out, ", first ");
		learn_print_plain(out, use->denied_first);
		buf_adds(out, ": ");
		learn_print_plain(out, use->denial);
		buf_adds(out, "\n");
	}
}

static void print_reported(const struct learn *learn, const struct filter *dangerous,
			   struct buf *out)
{
	buf_adds(out, "\n\t\t// Not used: refused by name, so that the verdict reports them. All "
		      "other calls are\n\t\t// unknown (ENOSYS).\n");
	for (size_t i = 0; i < ARRAY_SIZE(reported); i++) {
		int number = syscall_number(reported[i]);
		const struct learn_call *use = number < 0 ? NULL : &learn->calls[number];

		if (use && !use->allowed && !use->answered && !use->kept &&
		    !rule_of(dangerous, (unsigned)number)) {
			buf_addf(out, "\t\t\"-%s\",\n", reported[i]);
		}
	}
}

int learn_print_syscalls(const struct learn *learn, const struct policy *under, struct buf *out)
{
	static const char *const groups[] = { "@basic",  "@file", "@process", "@thread", "@netlink",
					      "@socket", "@unix", "@ipc",     "" };
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	_cleanup_(filter_done)
	struct filter dangerous = { 0 };

	if (strlist_add(&names, "@dangerous") < 0 ||
	    syscalls_resolve(&names, &dangerous, NULL) < 0) {
		return -ENOMEM;
	}
	buf_adds(out, "\t\"syscalls\": [\n");
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		print_group(learn, under, &dangerous, groups[i], out);
	}
	print_reported(learn, &dangerous, out);
	print_refused(learn, out);
	buf_adds(out, "\t\t\"@dangerous\" // refused, and recorded in the verdict\n\t]\n");
	return out->failed ? -ENOMEM : 0;
}
