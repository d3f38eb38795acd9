/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a policy's list ("@basic", "@basic:ioctl arg1 == TCGETS", "ptrace", "-kill", "kill:mount")
 * to the table of a filter.
 *
 * A group adds its rules; "@group:call" those for one call, and a condition after it narrows only
 * what they allow. A call that is in the list by name is decided by that entry alone, wherever it
 * is in the list: the groups' rules for it are ignored.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/embedded.h"
#include "base/suggest.h"
#include "policy/syscall_rules.h"
#include "policy/syscalls.h"

#define GROUP_PREFIX   "syscalls/"
#define GROUP_SUFFIX   ".rules"
#define GROUP_NAME_MAX 32

/* Prefixes of a call's name. */
static const struct {
	const char *prefix;
	enum filter_action action;
	uint16_t errnum;
	const char *reason;
} entry_kinds[] = {
	{ "-", FILTER_DENY, EPERM, "refused by name in this policy" },
	{ "kill:", FILTER_KILL, 0, "ends the program, by name in this policy" },
	/* last: every name begins with it */
	{ "", FILTER_ALLOW, 0, "allowed by name in this policy" },
};

/* The name of the group in a file: `length` bytes of the result; or NULL. */
static const char *group_of(const struct embedded_file *file, size_t *length)
{
	size_t prefix = strlen(GROUP_PREFIX);
	size_t suffix = strlen(GROUP_SUFFIX);
	size_t whole = strlen(file->path);

	if (whole <= prefix + suffix || strncmp(file->path, GROUP_PREFIX, prefix) != 0 ||
	    strcmp(file->path + whole - suffix, GROUP_SUFFIX) != 0) {
		return NULL;
	}
	*length = whole - prefix - suffix;
	return file->path + prefix;
}

/* The name ends at a colon where only one call of it is meant. */
static const struct embedded_file *find_group(const char *name)
{
	char path[sizeof(GROUP_PREFIX GROUP_SUFFIX) + GROUP_NAME_MAX];
	size_t length = strcspn(name, ":");

	if (length > GROUP_NAME_MAX) {
		return NULL;
	}
	snprintf(path, sizeof(path), GROUP_PREFIX "%.*s" GROUP_SUFFIX, (int)length, name);
	return embedded_find(path);
}

static int unknown_group(const char *entry, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf list = { 0 };

	for (size_t i = 0; i < embedded_files_count; i++) {
		size_t length;
		const char *group = group_of(&embedded_files[i], &length);

		if (group) {
			buf_addf(&list, "%s@%.*s", list.size > 0 ? ", " : "", (int)length, group);
		}
	}
	error_set(err, BRIG_E_POLICY, EINVAL, "\"%.64s\" is not a group of system calls", entry);
	error_remedy(err, "the groups are %s", list.data ? list.data : "none");
	return -EINVAL;
}

static int unknown_call(const char *entry, const char *name, struct brig_error *err)
{
	struct suggestion best = { 0 };

	for (unsigned i = 0; i < FILTER_CALLS_MAX; i++) {
		const char *candidate = syscall_name(i);

		if (candidate) {
			suggest(&best, name, candidate);
		}
	}
	error_set(err, BRIG_E_POLICY, EINVAL, "\"%.64s\": unknown system call%s%s%s", entry,
		  best.word ? "; did you mean \"" : "", best.word ? best.word : "",
		  best.word ? "\"?" : "");
	error_remedy(err, "write \"@group\", \"call\" to allow, \"-call\" to refuse, "
			  "\"kill:call\" to end the program");
	return -EINVAL;
}

static unsigned entry_kind(const char *entry, const char **name)
{
	unsigned i = 0;

	while (strncmp(entry, entry_kinds[i].prefix, strlen(entry_kinds[i].prefix)) != 0) {
		i++;
	}
	*name = entry + strlen(entry_kinds[i].prefix);
	return i;
}

#define CALL_NAME_MAX 32

/* "@group:call CONDITION": the call's number, and the condition or NULL; -1: all of a group. */
static int one_call(const char *entry, const char **where)
{
	const char *colon = *entry == '@' ? strchr(entry, ':') : NULL;
	char name[CALL_NAME_MAX] = "";

	*where = NULL;
	if (!colon) {
		return -1;
	}
	size_t length = strcspn(colon + 1, " ");
	if (length < sizeof(name)) {
		memcpy(name, colon + 1, length);
		name[length] = '\0';
	}
	if (colon[1 + length]) {
		*where = colon + 1 + length + 1;
	}
	int number = syscall_number(name);
	return number >= 0 && number < FILTER_CALLS_MAX ? number : FILTER_CALLS_MAX;
}

static int check_one_call(const char *entry, struct brig_error *err)
{
	struct strlist alone = { 0 };
	struct filter filter = { 0 };
	const char *where;

	if (one_call(entry, &where) == FILTER_CALLS_MAX) {
		return unknown_call(entry, strchr(entry, ':') + 1, err);
	}
	if (!where) {
		return 0;
	}
	int r = strlist_add(&alone, entry);
	r = r < 0 ? error_errno(err, BRIG_E_SYSTEM, ENOMEM, "system-call rules")
		  : syscalls_resolve(&alone, &filter, err);
	filter_done(&filter);
	strlist_done(&alone);
	return r;
}

int syscall_entry_check(const char *entry, struct brig_error *err)
{
	const char *name;

	if (*entry == '@' && !find_group(entry + 1)) {
		return unknown_group(entry, err);
	}
	if (*entry == '@') {
		return strchr(entry, ':') ? check_one_call(entry, err) : 0;
	}
	entry_kind(entry, &name);
	return syscall_number(name) >= 0 ? 0 : unknown_call(entry, name, err);
}

/* Calls by name come first, so that groups can leave them out. */
static int add_calls(struct rule_builder *builder, const struct strlist *wanted,
		     struct brig_error *err)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const char *name, *where;
		bool grouped = *wanted->items[i] == '@';

		if (grouped && !strchr(wanted->items[i], ':')) {
			continue;
		}

		unsigned kind = entry_kind(wanted->items[i], &name);
		int number = grouped ? one_call(wanted->items[i], &where) : syscall_number(name);

		if (number < 0 || number >= FILTER_CALLS_MAX) {
			return unknown_call(wanted->items[i], name, err);
		}
		if (builder->skip[number]) {
			return error_set(err, BRIG_E_POLICY, EINVAL,
					 "system call %s is listed twice",
					 syscall_name((unsigned)number));
		}
		builder->skip[number] = true;
		if (grouped) {
			continue; /* its rules come with the groups */
		}
		builder->rules[builder->count++] = (struct filter_rule){
			.call = (uint16_t)number,
			.action = entry_kinds[kind].action,
			.errnum = entry_kinds[kind].errnum,
			.reason = entry_kinds[kind].reason,
			.origin = "policy",
		};
	}
	return 0;
}

/* The memory for the names of groups in rules. */
static size_t texts_size(const struct strlist *wanted)
{
	size_t size = 1;

	for (size_t i = 0; i < wanted->count; i++) {
		if (*wanted->items[i] == '@') {
			size += strlen(wanted->items[i]) + 1;
		}
	}
	return size;
}

/* `texts` has room for all of texts_size(). */
static int add_groups(struct rule_builder *builder, const struct strlist *wanted, char *texts,
		      struct brig_error *err)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const char *entry = wanted->items[i];

		if (*entry != '@') {
			continue;
		}

		const struct embedded_file *file = find_group(entry + 1);

		if (!file) {
			return unknown_group(entry, err);
		}

		const char *origin = texts;
		unsigned before = builder->count;

		/* Without the condition, which follows the call's name. */
		texts = stpncpy(texts, entry, strcspn(entry, " "));
		*texts++ = '\0';
		builder->only = one_call(entry, &builder->where);
		builder->single = builder->only >= 0;

		int r = syscall_rules_parse(builder, origin, file->data, file->size, err);

		if (r < 0) {
			return r;
		}
		if (builder->single && builder->count == before) {
			r = error_set(err, BRIG_E_POLICY, EINVAL,
				      "%s: the call is not in the group", origin);
			error_remedy(err, "brig policy show lists the calls of a group");
			return r;
		}
	}
	return 0;
}

/*
 * By call number, keeping the order of lines. In place, by following cycles of moved rules: fewer
 * pages are touched than with a second array.
 */
static void sort_rules(struct filter_rule *rules, unsigned count)
{
	uint16_t first[FILTER_CALLS_MAX + 1] = { 0 };
	uint16_t place[FILTER_RULES_MAX];

	for (unsigned i = 0; i < count; i++) {
		first[rules[i].call + 1]++;
	}
	for (unsigned i = 0; i < FILTER_CALLS_MAX; i++) {
		first[i + 1] = (uint16_t)(first[i + 1] + first[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		place[i] = first[rules[i].call]++;
	}
	for (unsigned i = 0; i < count; i++) {
		while (place[i] != i) {
			unsigned to = place[i];
			struct filter_rule rule = rules[to];

			rules[to] = rules[i];
			rules[i] = rule;
			place[i] = place[to];
			place[to] = (uint16_t)to;
		}
	}
}

static int resolve(const struct strlist *wanted, struct filter *filter, struct brig_error *err)
{
	struct rule_builder builder = { 0 };

	/* Room for the maximum; pages that are not written to cost nothing. */
	filter->rules = builder.rules = malloc(FILTER_RULES_MAX * sizeof(*filter->rules));
	filter->tests = builder.tests = malloc(RULE_TESTS_TOTAL_MAX * sizeof(*filter->tests));
	filter->values = builder.values = malloc(RULE_VALUES_TOTAL_MAX * sizeof(*filter->values));
	filter->texts = malloc(texts_size(wanted));
	if (!filter->rules || !filter->tests || !filter->values || !filter->texts) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "system-call rules");
	}
	int r = add_calls(&builder, wanted, err);
	if (r < 0) {
		return r;
	}
	r = add_groups(&builder, wanted, filter->texts, err);
	if (r < 0) {
		return r;
	}
	sort_rules(filter->rules, builder.count);
	filter->count = builder.count;
	return 0;
}

int syscalls_resolve(const struct strlist *wanted, struct filter *ret, struct brig_error *err)
{
	struct filter filter = { 0 };

	if (wanted->count > SYSCALL_ENTRIES_MAX) {
		return error_set(err, BRIG_E_POLICY, E2BIG, "more than %d entries of system calls",
				 SYSCALL_ENTRIES_MAX);
	}
	int r = resolve(wanted, &filter, err);
	if (r < 0) {
		filter_done(&filter);
		return r;
	}
	*ret = filter;
	return 0;
}
