/* SPDX-License-Identifier: Apache-2.0 */
/* The whole proposal: a complete policy file whose comments explain each line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/learn/learn.h"

void learn_print_quoted(struct buf *out, const char *text)
{
	struct json_out json = { .buf = out };

	json_text(&json, NULL, text);
}

static void print_head(const struct learn *learn, const struct learn_origin *origin,
		       struct buf *out)
{
	const struct brig_result *result = origin->result;

	buf_adds(out, "// Learned by brig policy learn. This is what the program did, not what it "
		      "should be allowed:\n"
		      "// a hostile program is recorded as exactly as a good one. Read it before "
		      "you use it.\n// Program: ");
	learn_print_plain(out, origin->program);
	buf_adds(out, "\n// Learned under the policy ");
	learn_print_plain(out, origin->base);
	buf_addf(out, ", in %u run%s; the last one ended as %s", learn->runs,
		 learn->runs == 1 ? "" : "s", brig_status_name(result->status));
	if (result->exit_code >= 0) {
		buf_addf(out, " with exit status %d", result->exit_code);
	}
	buf_adds(out, ".\n");
	if (result->status != BRIG_OK) {
		buf_adds(out, "// IT DID NOT END WELL: calls that it would have made later are "
			      "missing here.\n");
	}
	buf_adds(out, "// Another run may do more. --extend adds its calls to this file.\n");
}

static void print_list(struct buf *out, const char *key, const struct strlist *list)
{
	buf_addf(out, "\"%s\": [", key);
	for (size_t i = 0; i < list->count; i++) {
		buf_adds(out, i ? ", " : "");
		learn_print_quoted(out, list->items[i]);
	}
	buf_adds(out, "]");
}

static void print_consent(const struct policy *under, struct buf *out)
{
	if (!under->risk.ask && !under->risk.refuse) {
		buf_addf(out, "\t\"auto_run\": \"%s\",\n", auto_run_names[under->auto_run]);
		return;
	}
	buf_adds(out, "\t\"auto_run\": { ");
	if (under->risk.ask) {
		buf_addf(out, "\"ask_from\": %u%s", under->risk.ask,
			 under->risk.refuse ? ", " : "");
	}
	if (under->risk.refuse) {
		buf_addf(out, "\"refuse_from\": %u", under->risk.refuse);
	}
	buf_adds(out, " },\n");
}

static bool had_layer(const struct brig_result *result, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = result->layers; *at; at += strcspn(at, " "), at += *at == ' ') {
		if (strcspn(at, " ") == length && memcmp(at, name, length) == 0) {
			return true;
		}
	}
	return false;
}

/* Only the layers that were missing here: on another host a missing layer refuses the run. */
static void print_layers(const struct learn_origin *origin, struct buf *out)
{
	const char *between = "";

	buf_adds(out, "\t\"may_miss\": [");
	for (int layer = 0; layer < LAYER_COUNT; layer++) {
		const char *name = layer_table[layer].name;

		bool earlier =
			origin->extended && (origin->extended->may_miss & LAYER_BIT(layer)) != 0;
		if (earlier || ((origin->under->may_miss & LAYER_BIT(layer)) &&
				!had_layer(origin->result, name))) {
			buf_addf(out, "%s\"%s\"", between, name);
			between = ", ";
		}
	}
	buf_adds(out, "], // layers that this host did not give\n");
}

#define OUT_BYTES_LEAST (64u << 10)

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void print_amounts(const struct learn *learn, const struct learn_origin *origin,
			  struct buf *out)
{
	const struct policy *under = origin->under, *earlier = origin->extended;
	/* The source is a file as well, and a compiler may leave several. */
	uint64_t in = origin->compiled ? under->files_in_count : origin->request->files_count + 1;
	uint64_t out_count = learn->files_count * 2, out_bytes = learn->files_bytes * 2;

	/* A file of a few bytes may be longer next time: a minimum, as for stdout. */
	out_bytes = learn->files_count ? greater(out_bytes, OUT_BYTES_LEAST) : 0;
	in = in < under->files_in_count ? in : under->files_in_count;
	out_count = out_count < under->files_out_count ? out_count : under->files_out_count;
	out_bytes = out_bytes < under->files_out_bytes ? out_bytes : under->files_out_bytes;
	buf_addf(out,
		 "\t// Input files: %zu besides the program itself. Output files: %" PRIu64
		 ", and twice that is allowed.\n"
		 "\t\"files\": { \"in_bytes\": %" PRIu64 ", \"in_count\": %" PRIu64
		 ", \"out_bytes\": %" PRIu64 ", \"out_count\": %" PRIu64 " },\n",
		 origin->request->files_count, learn->files_count,
		 greater(under->files_in_bytes, earlier ? earlier->files_in_bytes : 0),
		 greater(in, earlier ? earlier->files_in_count : 0),
		 greater(out_bytes, earlier ? earlier->files_out_bytes : 0),
		 greater(out_count, earlier ? earlier->files_out_count : 0));
}

static int print_environment(const struct learn_origin *origin, struct buf *out)
{
	const struct policy *under = origin->under;
	_cleanup_(strlist_done)
	struct strlist allow = { 0 };
	const char *const *env = origin->request->env;
	int r = 0;

	for (size_t i = 0; r == 0 && env && env[i]; i++) {
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(env[i], "="), env[i]);
		r = strlist_has(&allow, name) ? 0 : strlist_add(&allow, name);
	}
	for (size_t i = 0; r == 0 && origin->extended && i < origin->extended->env_allow.count;
	     i++) {
		const char *name = origin->extended->env_allow.items[i];
		r = strlist_has(&allow, name) ? 0 : strlist_add(&allow, name);
	}
	buf_adds(out, "\t\"env\": { \"set\": { ");
	for (size_t i = 0; i < under->env_set.count; i++) {
		const char *pair = under->env_set.items[i];
		size_t length = strcspn(pair, "=");
		char name[256];

		snprintf(name, sizeof(name), "%.*s", (int)length, pair);
		buf_adds(out, i ? ", " : "");
		learn_print_quoted(out, name);
		buf_adds(out, ": ");
		learn_print_quoted(out, pair[length] ? pair + length + 1 : "");
	}
	buf_adds(out, " }, ");
	print_list(out, "allow", &allow);
	buf_adds(out, " }, // variables that the run was given\n");
	return r;
}

static int print_runtimes(const struct learn_origin *origin, struct buf *out)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	bool code = strcmp(origin->result->language, "command") != 0;
	/* An empty list means all: if the base names runtimes, so does the proposal. */
	bool named = code || origin->under->runtimes.count > 0;
	int r = named ? strlist_add(&names, origin->result->language) : 0;

	for (size_t i = 0;
	     r == 0 && named && origin->extended && i < origin->extended->runtimes.count; i++) {
		const char *name = origin->extended->runtimes.items[i];
		r = strlist_has(&names, name) ? 0 : strlist_add(&names, name);
	}
	buf_adds(out, "\t");
	print_list(out, "runtimes", &names);
	buf_adds(out, named ? ",\n" : ", // a program, not a language: an empty list means all\n");
	return r;
}

static void print_guard(const struct learn_origin *origin, struct buf *out)
{
	const struct policy_guard *guard = &origin->under->guard;
	enum guard_mode mode = guard->mode;

	policy_guard_mode(origin->under, origin->request->guard, &mode, NULL);
	if (!guard->own_modules && !guard->operations && !guard->recursion) {
		buf_addf(out, "\t\"guard\": \"%s\",\n", guard_mode_names[mode]);
		return;
	}
	buf_addf(out, "\t\"guard\": { \"mode\": \"%s\"", guard_mode_names[mode]);
	if (guard->own_modules) {
		buf_adds(out, ", ");
		print_list(out, "allowed_modules", &guard->modules);
	}
	if (guard->operations) {
		buf_addf(out, ", \"operations\": %" PRIu64, guard->operations);
	}
	if (guard->recursion) {
		buf_addf(out, ", \"recursion\": %" PRIu64, guard->recursion);
	}
	buf_adds(out, " },\n");
}

/* The program cannot widen its policy by trying: what the base forbids stays forbidden. */
static void print_exec(const struct learn *learn, const struct learn_origin *origin,
		       struct buf *out)
{
	bool kept = origin->extended && origin->extended->exec_writable;
	bool allowed = kept || (learn->exec_writable && origin->under->exec_writable);

	buf_addf(out, "\t\"exec_writable\": %s, // %s\n\n", allowed ? "true" : "false",
		 !learn->exec_writable ? "it ran no code from a place that it can write to"
		 : allowed             ? "it ran code from a place that it can write to"
				       : "it tried to run code from a place that it can write to");
}

/* The base's settings for monitoring stay as they are. */
static void print_monitor(const struct policy_monitor *monitor, struct buf *out)
{
	const struct event_limits *most = &monitor->end_after;

	buf_adds(out, "\t\"monitor\": { ");
	print_list(out, "calls", &monitor->calls);
	buf_adds(out, ", ");
	print_list(out, "files", &monitor->files);
	buf_addf(out,
		 ", \"end_after\": { \"denied_calls\": %" PRIu64
		 ", \"refused_connections\": %" PRIu64 ", \"watched\": %" PRIu64 " } },\n",
		 most->denied_calls, most->refused_connections, most->watched);
}

int learn_propose(const struct learn *learn, const struct learn_origin *origin, struct buf *out)
{
	const struct policy *under = origin->under;

	print_head(learn, origin, out);
	buf_addf(out,
		 "{\n\t\"description\": \"learned from one program: only what it did\",\n"
		 "\t\"provider\": \"%s\",\n",
		 under->provider->name);
	print_consent(under, out);
	print_layers(origin, out);
	buf_adds(out, "\n");
	learn_print_limits(learn, origin, out);
	buf_addf(out, "\t\"on_output_limit\": \"%s\",\n\n",
		 under->on_output_limit == OUTPUT_CUT ? "cut" : "end");
	print_amounts(learn, origin, out);
	learn_print_files(learn, origin, out);
	int r = print_environment(origin, out);
	r = r < 0 ? r : print_runtimes(origin, out);
	buf_adds(out, "\n");
	learn_print_network(learn, origin, out);
	print_guard(origin, out);
	print_monitor(&under->monitor, out);
	print_exec(learn, origin, out);
	r = r < 0 ? r : learn_print_syscalls(learn, under, out);
	buf_adds(out, "}\n");
	return out->failed ? -ENOMEM : r;
}
