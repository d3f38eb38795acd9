/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the section of a policy about events: which are recorded, and how many of them end a run.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"

#define END_MAX      UINT64_C(1000000000)
#define WATCHED_MAX  64
#define PATTERN_SIZE 255

/*
 * Each watched call makes a detour through brig: very frequent calls cannot be watched. Nor can
 * calls that end a process or return from a signal.
 */
static const char *const too_frequent[] = {
	"read", "write",         "futex",          "mmap",         "munmap",
	"brk",  "clock_gettime", "rt_sigprocmask", "sysinfo",      "epoll_wait",
	"poll", "exit",          "exit_group",     "rt_sigreturn", "restart_syscall",
};

static int wrong_item(struct policy_reader *reader, const char *path, const char *item,
		      const char *why, const char *remedy)
{
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "\"%.64s\" %s", item, why);
	error_remedy(reader->err, "%s", remedy);
	return -EINVAL;
}

static int check_call(struct policy_reader *reader, const char *path, const char *item)
{
	for (size_t i = 0; i < ARRAY_SIZE(too_frequent); i++) {
		if (strcmp(item, too_frequent[i]) == 0) {
			return wrong_item(
				reader, path, item,
				"cannot be watched: it is called too often, or must not wait",
				"watch a call that leads to it, such as \"openat\" or "
				"\"socket\"");
		}
	}
	return syscall_number(item) >= 0
		       ? 0
		       : wrong_item(reader, path, item, "is not a system call of this machine",
				    "use the names of the manual, such as \"execve\" or "
				    "\"socket\"");
}

static int check_pattern(struct policy_reader *reader, const char *path, const char *item)
{
	static const char remedy[] = "use paths in the cell, such as \"/etc/shadow\", "
				     "\"/proc/*/mem\" or \"/sandbox/**\"";

	if (item[0] != '/' || !item[1]) {
		return wrong_item(reader, path, item, "is not an absolute path", remedy);
	}
	if (strlen(item) > PATTERN_SIZE) {
		return wrong_item(reader, path, item, "is longer than 255 bytes", remedy);
	}
	if (strstr(item, "//") || strstr(item, "/../") || strstr(item, "/./")) {
		return wrong_item(reader, path, item,
				  "has an empty part, \".\" or \"..\", and would never match",
				  remedy);
	}
	for (const char *at = item; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f) {
			return wrong_item(reader, path, item, "has a control character", remedy);
		}
	}
	return 0;
}

static int read_watched(struct policy_reader *reader, const char *path, json_t *value,
			int (*check)(struct policy_reader *, const char *, const char *),
			struct strlist *ret)
{
	int r = read_array(reader, path, value, WATCHED_MAX);

	return r < 0 ? r : read_strings(reader, path, value, check, ret);
}

static int read_calls(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_watched(reader, path, value, check_call, &reader->policy->monitor.calls);
}

static int read_patterns(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_watched(reader, path, value, check_pattern, &reader->policy->monitor.files);
}

static int read_most(struct policy_reader *reader, const char *path, json_t *value, uint64_t *ret)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 0, END_MAX, ret);
}

int read_denials_max(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_most(reader, path, value, &reader->policy->monitor.end_after.denied_calls);
}

static int read_refused(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_most(reader, path, value,
			 &reader->policy->monitor.end_after.refused_connections);
}

static int read_watched_most(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_most(reader, path, value, &reader->policy->monitor.end_after.watched);
}

static int read_end_after(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "denied_calls", read_denials_max },
		{ "refused_connections", read_refused },
		{ "watched", read_watched_most },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

int read_monitor(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "calls", read_calls },
		{ "files", read_patterns },
		{ "end_after", read_end_after },
	};

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}

static int add_all(struct strlist *list, const struct strlist *more)
{
	int r = 0;

	for (size_t i = 0; i < more->count && r == 0; i++) {
		r = strlist_has(list, more->items[i]) ? 0 : strlist_add(list, more->items[i]);
	}
	return r;
}

static void lower_to(uint64_t *most, uint64_t other)
{
	if (other != 0 && (*most == 0 || other < *most)) {
		*most = other;
	}
}

/* Of several providers, those that cannot watch are not used then. */
static bool can_watch(const struct policy *policy)
{
	for (size_t i = 0; i < policy->candidates_count; i++) {
		const struct policy_candidate *one = &policy->candidates[i];
		if (!one->lack && provider_can(one->provider, ABILITY_CALL_WATCH)) {
			return true;
		}
	}
	return false;
}

int monitor_tighten(struct policy *policy, const struct policy_monitor *more)
{
	struct event_limits *most = &policy->monitor.end_after;

	/* Where nothing is filtered nothing can be watched. */
	if (can_watch(policy)) {
		int r = add_all(&policy->monitor.calls, &more->calls);
		r = r < 0 ? r : add_all(&policy->monitor.files, &more->files);
		if (r < 0) {
			return r;
		}
	}
	lower_to(&most->denied_calls, more->end_after.denied_calls);
	lower_to(&most->refused_connections, more->end_after.refused_connections);
	lower_to(&most->watched, more->end_after.watched);
	return 0;
}
