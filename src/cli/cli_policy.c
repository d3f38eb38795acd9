/* SPDX-License-Identifier: Apache-2.0 */
/* `brig policy`: which policies there are, what one says, and whether a file is one. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_out.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/exit_status.h"
#include "cli/policy_print.h"
#include "cli/report.h"
#include "lib/listing.h"

#define POLICY_BYTES_MAX (1u << 20)

struct line {
	bool json;
	const char *config;
	const char *operand; /* behind the action; or NULL */
};

static void cleanup_policy(struct policy **policy)
{
	policy_free(*policy);
}

static struct policy_source source_of(const struct line *line)
{
	return (struct policy_source){ .config_dir = line->config ? line->config : "/etc/brig" };
}

static int list(const struct line *line)
{
	struct policy_source source = source_of(line);
	struct brig_error error = { 0 };
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };

	if (line->json) {
		int r = listing_print_policies(&source, &out, &error);
		return r < 0 ? report_error(&error, true)
			     : report_json(out.failed ? NULL : out.data);
	}
	if (policy_names(&source, &names, &error) < 0) {
		return report_error(&error, false);
	}
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(cleanup_policy)
		struct policy *policy = NULL;
		const char *about = "";

		/* One bad file must not hide the others. */
		if (policy_load(&source, names.items[i], &policy, &error) == 0) {
			about = policy->description ? policy->description : "";
		} else {
			about = error.message;
		}
		buf_addf(&out, "%-12s %s\n", names.items[i], about);
	}
	return report_text(&out);
}

static int print(const struct policy *policy, bool as_json)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };

	if (as_json) {
		policy_print_json(policy, &out);
		return report_json(out.failed ? NULL : out.data);
	}
	policy_print(policy, &out);
	return report_text(&out);
}

static int show(const struct line *line)
{
	struct policy_source source = source_of(line);
	struct brig_error error = { 0 };
	_cleanup_(cleanup_policy)
	struct policy *policy = NULL;

	if (policy_load(&source, line->operand ? line->operand : "default", &policy, &error) < 0) {
		return report_error(&error, line->json);
	}
	return print(policy, line->json);
}

static int read_file(const char *path, struct buf *text, struct brig_error *err)
{
	char chunk[8192];
	bool is_stdin = strcmp(path, "-") == 0;
	_cleanup_close_ int own = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int fd = is_stdin ? STDIN_FILENO : own;
	ssize_t n = fd < 0 ? -1 : 1;

	while (n > 0 && text->size <= POLICY_BYTES_MAX) {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR) {
			n = 1;
		} else if (n > 0) {
			buf_add(text, chunk, (size_t)n);
		}
	}
	if (n < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot read %s", path);
	}
	return text->failed ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for %s", path) : 0;
}

/* "strict" of "dir/strict.json". */
static void name_of(const char *path, char *name, size_t size)
{
	const char *slash = strrchr(path, '/');
	const char *start = strcmp(path, "-") == 0 ? "stdin" : slash ? slash + 1 : path;
	size_t length = strlen(start);

	if (length > 5 && strcmp(start + length - 5, ".json") == 0) {
		length -= 5;
	}
	if (length >= size) {
		length = size - 1;
	}
	memcpy(name, start, length);
	name[length] = '\0';
}

static int check(const struct line *line)
{
	struct brig_error error = { 0 };
	_cleanup_(buf_done)
	struct buf text = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };
	_cleanup_(cleanup_policy)
	struct policy *policy = NULL;
	char name[65];

	if (!line->operand) {
		error_set(&error, BRIG_E_INPUT, EINVAL, "policy check: no file was given");
		error_remedy(&error, "brig policy check FILE, or - for stdin");
		return report_usage(&error, line->json);
	}
	name_of(line->operand, name, sizeof(name));
	if (read_file(line->operand, &text, &error) < 0 ||
	    policy_parse(name, text.data ? text.data : "", text.size, &policy, &error) < 0) {
		/* A check that finds something has done its work: 1, as linters say it. */
		report_error(&error, line->json);
		return 1;
	}
	if (line->json) {
		struct json_out json = { .buf = &out };
		json_open(&json, NULL, '{');
		json_text(&json, "policy", policy->name);
		json_bool(&json, "valid", true);
		json_text(&json, "sha256", policy->hash);
		json_close(&json, '}');
		return report_json(out.failed ? NULL : out.data);
	}
	buf_addf(&out, "%s: ok\n", line->operand);
	return report_text(&out);
}

static const struct action {
	const char *name;
	int (*act)(const struct line *line);
	bool operand;
} actions[] = {
	{ "list", list, false },
	{ "show", show, true },
	{ "check", check, true },
};

static int act(const struct arguments *given, struct line *line)
{
	struct suggestion best = { 0 };
	struct brig_error error = { 0 };
	const char *name = given->operands_count > 0 ? given->operands[0] : "list";

	line->operand = given->operands_count > 1 ? given->operands[1] : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		suggest(&best, name, actions[i].name);
		if (strcmp(actions[i].name, name) != 0) {
			continue;
		}
		if (line->operand && !actions[i].operand) {
			error_set(&error, BRIG_E_INPUT, EINVAL,
				  "policy %s: unexpected argument '%s'", name, line->operand);
			return report_usage(&error, line->json);
		}
		return actions[i].act(line);
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "policy: unknown action '%s'", name);
	error_remedy(&error, "%s%s%sactions are list, show NAME and check FILE",
		     best.word ? "did you mean " : "", best.word ? best.word : "",
		     best.word ? "? " : "");
	return report_usage(&error, line->json);
}

int command_policy(int argc, char **argv)
{
	static const struct option_info options[] = {
		{ "--json", NULL, "print JSON", option_take_flag, offsetof(struct line, json),
		  NULL },
		{ "--config", "DIR", "the operator's policies (/etc/brig)", option_take_text,
		  offsetof(struct line, config), NULL },
	};
	static const struct syntax syntax = {
		.command = "policy",
		.usage = "policy [list] [OPTIONS]\npolicy show [NAME] [OPTIONS]\n"
			 "policy check FILE [OPTIONS]",
		.about = "Lists the policies, shows what one says with all that it leaves unsaid "
			 "filled in,\n"
			 "or checks a file: 0 when it is a policy, 1 when not.",
		.options = options,
		.options_count = ARRAY_SIZE(options),
		.operands_max = 2,
	};
	struct line line = { 0 };
	struct arguments given;
	struct brig_error error = { 0 };

	if (options_parse(&syntax, argc, argv, &line, &given, &error) < 0) {
		return report_usage(&error, options_mention(argc, argv, "--json"));
	}
	return given.help ? report_help(&syntax) : act(&given, &line);
}
