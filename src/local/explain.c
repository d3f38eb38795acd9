/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a local run's start, for `brig explain`. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "local/local.h"
#include "run/spec/rlimits.h"

struct explain_printer {
	const struct spec *spec;
	bool as_json;
	struct json_out json;
	struct buf *out;
	unsigned count;
};

static void print_step(struct explain_printer *printer, const char *actor, const char *name,
		       const char *what, const char *why)
{
	printer->count++;
	if (!printer->as_json) {
		buf_addf(printer->out, "%3u  %-10s  %-13s  %-40s  %s\n", printer->count, actor,
			 name, what, why);
		return;
	}
	json_open(&printer->json, NULL, '{');
	json_u64(&printer->json, "number", printer->count);
	json_text(&printer->json, "actor", actor);
	json_text(&printer->json, "step", name);
	json_text(&printer->json, "what", what[0] ? what : NULL);
	json_text(&printer->json, "why", why);
	json_close(&printer->json, '}');
}

static void print_limits(struct explain_printer *printer)
{
	struct rlimit_value values[RLIMITS_MAX];
	size_t count = rlimits_of(printer->spec, RLIMITS_ALL, values);

	for (size_t i = 0; i < count; i++) {
		char what[64];
		snprintf(what, sizeof(what), "%s=%" PRIu64, values[i].name, values[i].value);
		print_step(printer, "program", "rlimit", what, "a limit of each process");
	}
}

/* The directory has a different name in each run. */
static void add_word(const char *own, const char *word, struct buf *out)
{
	size_t length = strlen(own);

	if (strncmp(word, own, length) == 0) {
		buf_addf(out, "WORKDIR%s", word + length);
	} else {
		buf_adds(out, word);
	}
}

static void print_exec(struct explain_printer *printer)
{
	_cleanup_(buf_done)
	struct buf words = { 0 };

	for (const char *const *word = printer->spec->argv; word && *word; word++) {
		buf_adds(&words, word == printer->spec->argv ? "" : " ");
		add_word(printer->spec->workdir, *word, &words);
	}
	for (size_t i = 0; i < words.size; i++) {
		unsigned char c = (unsigned char)words.data[i];
		words.data[i] = !printer->as_json && (c < 0x20 || c == 0x7f) ? '?' : words.data[i];
	}
	print_step(printer, "program", "exec", words.data ? words.data : "", "the program begins");
	printer->out->failed |= words.failed;
}

void local_explain(const struct spec *spec, bool json, struct buf *out)
{
	struct explain_printer printer = {
		.spec = spec, .as_json = json, .json = { .buf = out }, .out = out
	};

	if (json) {
		json_open(&printer.json, NULL, '{');
		json_open(&printer.json, "steps", '[');
	}
	if (spec->layers & LAYERS_CGROUP) {
		print_step(&printer, "warden", "cgroup", "", "limits of all processes together");
	}
	print_step(&printer, "warden", "clone", "", "the supervisor, with the caller's rights");
	print_step(&printer, "supervisor", "subreaper", "",
		   "processes that the program leaves are ended");
	print_step(&printer, "supervisor", "spawn", "", "the process that becomes the program");
	print_step(&printer, "program", "session", "", "a process group of its own");
	print_step(&printer, "program", "stdio", "", "the streams");
	print_step(&printer, "program", "workdir", "WORKDIR", "where the program starts");
	print_limits(&printer);
	print_exec(&printer);
	if (json) {
		json_close(&printer.json, ']');
		json_close(&printer.json, '}');
	}
}
