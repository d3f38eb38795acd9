/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the deciding line: see trace.h. Nothing is stored while policies are read; it is looked up
 * afterwards.
 */
#include "policy/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "policy/policy_reader.h"

void policy_trace_done(struct policy_trace *trace)
{
	for (int i = 0; i < TRACE_LEVELS; i++) {
		json_doc_done(&trace->texts[i].doc);
		free(trace->texts[i].place);
	}
	*trace = (struct policy_trace){ 0 };
}

int policy_trace_add(struct policy_trace *trace, enum trace_level level, const char *name,
		     const struct policy_text *text, struct brig_error *err)
{
	struct trace_text *to = &trace->texts[level];

	json_doc_done(&to->doc);
	free(to->place);
	*to = (struct trace_text){ .place = strdup(text->place), .built_in = text->built_in };
	if (!to->place) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", text->place);
	}
	snprintf(to->name, sizeof(to->name), "%s", name);
	return json_doc_load(&to->doc, to->place, text->data, text->size, err);
}

/*
 * A word instead of a section stands for all of it, except for the guard: there it is the mode, and
 * the modules are not affected.
 */
static json_t *find(const struct trace_text *text, const char *section, const char *key,
		    bool *ret_whole)
{
	json_t *value = json_object_get(text->doc.root, section);

	*ret_whole = key == NULL;
	if (!key || !value) {
		return value;
	}
	if (json_is_object(value)) {
		return json_object_get(value, key);
	}
	*ret_whole = true;
	return strcmp(section, "guard") != 0 || strcmp(key, "mode") == 0 ? value : NULL;
}

static void locate(const struct trace_text *text, const char *path, struct origin *ret)
{
	*ret = (struct origin){ .kind = text->built_in ? ORIGIN_POLICY : ORIGIN_FILE };
	snprintf(ret->name, sizeof(ret->name), "%s", text->built_in ? text->name : text->place);
	snprintf(ret->key, sizeof(ret->key), "%s", path);
	json_doc_locate(&text->doc, path, &ret->line, &ret->column);
}

static json_t *find_at(const struct trace_text *text, const char *section, const char *key,
		       int index, struct origin *ret)
{
	char path[POLICY_PATH_MAX];
	bool whole = false;
	json_t *value = text->doc.root ? find(text, section, key, &whole) : NULL;

	if (!value) {
		return NULL;
	}
	snprintf(path, sizeof(path), "%s%s%s", section, whole ? "" : ".", whole ? "" : key);
	if (index >= 0 && json_is_array(value)) {
		size_t used = strlen(path);
		snprintf(path + used, sizeof(path) - used, "[%d]", index);
	}
	locate(text, path, ret);
	return value;
}

static bool find_first(const struct policy_trace *trace, const char *section, const char *key,
		       int index, struct origin *ret)
{
	*ret = (struct origin){ 0 };
	return find_at(&trace->texts[TRACE_OWN], section, key, index, ret) ||
	       find_at(&trace->texts[TRACE_PARENT], section, key, index, ret);
}

bool policy_trace_key(const struct policy_trace *trace, const char *section, const char *key,
		      struct origin *ret)
{
	return find_first(trace, section, key, -1, ret);
}

bool policy_trace_item(const struct policy_trace *trace, const char *section, const char *key,
		       size_t index, struct origin *ret)
{
	return find_first(trace, section, key, (int)index, ret);
}

json_t *policy_trace_ceiling(const struct policy_trace *trace, const char *section, const char *key,
			     struct origin *ret)
{
	*ret = (struct origin){ 0 };
	return find_at(&trace->texts[TRACE_OPERATOR], section, key, -1, ret);
}

/* Reasons point into the group's text, whose lines end with NUL. */
static bool group_line(const struct filter_rule *rule, struct origin *ret)
{
	char path[96];

	snprintf(path, sizeof(path), "syscalls/%s.rules", rule->origin + 1);
	for (size_t i = 0; i < embedded_files_count; i++) {
		const struct embedded_file *file = &embedded_files[i];
		if (strcmp(file->path, path) != 0 || rule->reason < file->data ||
		    rule->reason >= file->data + file->size) {
			continue;
		}
		*ret = (struct origin){ .kind = ORIGIN_GROUP, .line = 1, .column = 1 };
		snprintf(ret->name, sizeof(ret->name), "%s", rule->origin);
		for (const char *at = file->data; at < rule->reason; at++) {
			ret->line += *at == '\0';
		}
		return true;
	}
	return false;
}

bool policy_trace_rule(const struct policy_trace *trace, const struct policy *policy,
		       const struct filter_rule *rule, struct origin *ret)
{
	const char *name = syscall_name(rule->call);

	*ret = (struct origin){ 0 };
	if (rule->origin[0] == '@') {
		return group_line(rule, ret);
	}
	for (size_t i = 0; name && i < policy->syscalls.count; i++) {
		const char *entry = policy->syscalls.items[i];
		const char *mark = strchr(entry, ':');
		const char *call = entry[0] == '-' ? entry + 1 : mark ? mark + 1 : entry;
		if (strcmp(call, name) == 0) {
			return policy_trace_item(trace, "syscalls", NULL, i, ret);
		}
	}
	return false;
}
