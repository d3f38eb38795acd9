/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a watched run: see learn.h. */
#include "lib/learn/learn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "kernel/filter/syscall_constant.h"

#define ALL_BITS UINT32_MAX

/* Calls whose arguments decide what they do: the proposal names the used values. */
const struct learn_narrowing learn_narrowings[LEARN_NARROWED] = {
	{ "socket", { { 0, ALL_BITS, CONSTANT_FAMILY }, { 1, 0xf, CONSTANT_SOCKTYPE } } },
	{ "socketpair", { { 0, ALL_BITS, CONSTANT_FAMILY } } },
	{ "ioctl", { { 1, ALL_BITS, CONSTANT_IOCTL } } },
	{ "prctl", { { 0, ALL_BITS, CONSTANT_PRCTL } } },
	{ "arch_prctl", { { 0, ALL_BITS, CONSTANT_ARCH } } },
	{ "fcntl", { { 1, ALL_BITS, CONSTANT_FCNTL } } },
	{ "setsockopt", { { 1, ALL_BITS, CONSTANT_LEVEL } } },
};

static void add_value(struct learn_values *values, uint32_t value)
{
	for (unsigned i = 0; i < values->count; i++) {
		if (values->items[i] == value) {
			return;
		}
	}
	if (values->count == FILTER_VALUES_MAX) {
		values->any = true;
		return;
	}
	values->items[values->count++] = value;
}

static void note_values(struct learn *learn, unsigned call, const uint64_t args[6])
{
	for (unsigned i = 0; i < LEARN_NARROWED; i++) {
		if (syscall_number(learn_narrowings[i].call) != (int)call) {
			continue;
		}
		for (unsigned k = 0; k < LEARN_ARGUMENTS; k++) {
			uint32_t mask = learn_narrowings[i].arguments[k].mask;
			uint8_t index = learn_narrowings[i].arguments[k].index;
			if (mask) {
				add_value(&learn->values[i][k], (uint32_t)args[index] & mask);
			}
		}
	}
}

/* "@basic" of "@basic:ioctl". */
static void copy_group(char *to, size_t size, const char *origin)
{
	snprintf(to, size, "%.*s", (int)strcspn(origin, ":"), origin);
}

static bool makes_child(unsigned call)
{
	return call == SYS_clone || call == SYS_fork || call == SYS_vfork;
}

static void note_refusal(struct learn_call *use, const struct watched_call *call, const char *about)
{
	const struct filter_rule *rule = call->decision.rule;

	if (use->refused++) {
		return;
	}
	snprintf(use->denial, sizeof(use->denial), "%s",
		 rule ? rule->reason : "not on the policy's list");
	syscall_describe(call->number, call->args, use->denied_first, sizeof(use->denied_first));
	if (about[0]) {
		snprintf(use->denied_first, sizeof(use->denied_first), "%s", about);
	}
}

static void note_use(struct learn *learn, struct learn_call *use, const struct watched_call *call,
		     const char *about)
{
	const struct filter_rule *rule = call->decision.rule;

	if (!use->group[0] && rule) {
		copy_group(use->group, sizeof(use->group), rule->origin);
	}
	if (call->decision.action != FILTER_ALLOW) {
		use->answered++;
		return;
	}
	if (use->allowed++ == 0) {
		snprintf(use->reason, sizeof(use->reason), "%s", rule ? rule->reason : "");
		snprintf(use->first, sizeof(use->first), "%s", about);
	}
	learn->children += makes_child(call->number);
	note_values(learn, call->number, call->args);
}

static void note_call(void *user, const struct watched_call *call)
{
	struct learn *learn = user;
	char about[LEARN_FIRST_MAX] = "";

	if (call->number >= FILTER_CALLS_MAX) {
		return;
	}
	struct learn_call *use = &learn->calls[call->number];
	learn_paths_note(learn, call, about, sizeof(about));
	learn_network_note(learn, call, about, sizeof(about));
	/* Brig answers sysinfo with figures of the cell: that is not a refusal. */
	bool refused = call->decision.action == FILTER_DENY && call->number != SYS_sysinfo;
	if (refused) {
		note_refusal(use, call, about);
	} else {
		note_use(learn, use, call, about);
	}
}

void learn_init(struct learn *learn)
{
	*learn = (struct learn){ .watch = { .needed = true, .on_call = note_call, .user = learn } };
	call_set_fill(&learn->watch.calls);
}

void learn_done(struct learn *learn)
{
	for (size_t i = 0; i < learn->paths_count; i++) {
		free(learn->paths[i].path);
	}
	free(learn->paths);
	strlist_done(&learn->names);
	strlist_done(&learn->addresses);
	strlist_done(&learn->reached);
	strlist_done(&learn->missed);
	*learn = (struct learn){ 0 };
}

static void raise(uint64_t *peak, uint64_t value)
{
	*peak = value > *peak ? value : *peak;
}

static int note_connection(struct learn *learn, const struct brig_connection *connection)
{
	char text[NET_NAME_MAX + 64];
	bool allowed = strcmp(connection->verdict, "allowed") == 0;
	struct strlist *list = allowed ? &learn->reached : &learn->missed;

	if (connection->port) {
		snprintf(text, sizeof(text), "%s:%u", connection->host, connection->port);
	} else {
		snprintf(text, sizeof(text), "%s", connection->host);
	}
	if (list->count >= LEARN_NAMES_MAX || strlist_has(list, text)) {
		return 0;
	}
	return strlist_add(list, text);
}

int learn_take_connections(struct learn *learn, const struct brig_result *result)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < result->connections_count; i++) {
		r = note_connection(learn, &result->connections[i]);
	}
	return r;
}

int learn_take_result(struct learn *learn, const struct brig_result *result)
{
	const struct brig_usage *usage = &result->usage;
	uint64_t bytes = 0;

	learn->runs++;
	raise(&learn->peak.wall_ns, usage->wall_ns);
	raise(&learn->peak.cpu_ns, usage->cpu_ns);
	raise(&learn->peak.memory_peak_bytes, usage->memory_peak_bytes);
	raise(&learn->peak.processes_peak, usage->processes_peak);
	raise(&learn->peak.disk_bytes, usage->disk_bytes);
	raise(&learn->peak.net_bytes, usage->net_bytes);
	raise(&learn->stdout_bytes, result->stdout_size);
	raise(&learn->stderr_bytes, result->stderr_size);
	for (size_t i = 0; i < result->files_count; i++) {
		bytes += result->files[i].size;
	}
	raise(&learn->files_count, result->files_count);
	raise(&learn->files_bytes, bytes);
	return learn_take_connections(learn, result);
}

/* --- earlier policies ----------------------------------------------------------------------- */

static bool test_has(const struct filter_test *test, uint32_t value)
{
	bool found = false;

	for (unsigned i = 0; i < test->values_count; i++) {
		found |= (uint32_t)(test->values[i] & test->mask) == (value & test->mask);
	}
	return found != test->negate;
}

/* The values of one argument that a rule allows: those that pass all of its tests. */
static void keep_values(struct learn_values *values, const struct filter_rule *rule, uint8_t arg)
{
	const struct filter_test *first = NULL;

	for (unsigned t = 0; t < rule->tests_count && !first; t++) {
		const struct filter_test *test = &rule->tests[t];
		first = test->arg == arg && !test->negate ? test : NULL;
	}
	if (!first) {
		values->any = true;
		return;
	}
	for (unsigned v = 0; v < first->values_count; v++) {
		uint32_t value = (uint32_t)first->values[v];
		bool all = true;
		for (unsigned t = 0; t < rule->tests_count; t++) {
			const struct filter_test *test = &rule->tests[t];
			all &= test->arg != arg || test_has(test, value);
		}
		if (all) {
			add_value(values, value);
		}
	}
}

static void keep_rule(struct learn *learn, const struct filter_rule *rule)
{
	for (unsigned i = 0; i < LEARN_NARROWED; i++) {
		if (syscall_number(learn_narrowings[i].call) != (int)rule->call) {
			continue;
		}
		for (unsigned k = 0; k < LEARN_ARGUMENTS; k++) {
			if (learn_narrowings[i].arguments[k].mask) {
				keep_values(&learn->values[i][k], rule,
					    learn_narrowings[i].arguments[k].index);
			}
		}
	}
}

void learn_extend(struct learn *learn, const struct policy *earlier)
{
	for (unsigned i = 0; i < earlier->filter.count; i++) {
		const struct filter_rule *rule = &earlier->filter.rules[i];
		struct learn_call *use = &learn->calls[rule->call];

		if (rule->action != FILTER_ALLOW && rule->action != FILTER_ERRNO) {
			continue;
		}
		use->kept = true;
		if (!use->group[0]) {
			copy_group(use->group, sizeof(use->group), rule->origin);
			snprintf(use->reason, sizeof(use->reason), "%s", rule->reason);
		}
		if (rule->action == FILTER_ALLOW) {
			keep_rule(learn, rule);
		}
	}
	learn->exec_writable |= earlier->exec_writable;
}
