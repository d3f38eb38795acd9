/* SPDX-License-Identifier: Apache-2.0 */
/* `brig policy check`: is a file a policy? */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json_out.h"
#include "cli/cli_policy.h"
#include "cli/command.h"
#include "cli/report.h"

#define POLICY_BYTES_MAX (1u << 20)

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

static int check(const void *of, const char *operand)
{
	const struct policy_line *line = of;
	struct brig_error error = { 0 };
	_cleanup_(buf_done)
	struct buf text = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };
	_cleanup_(policy_freep)
	struct policy *policy = NULL;
	char name[65];

	if (!operand) {
		error_set(&error, BRIG_E_INPUT, EINVAL, "policy check: no file was given");
		error_remedy(&error, "brig policy check FILE, or - for stdin");
		return report_usage(&error, line->json);
	}
	name_of(operand, name, sizeof(name));
	if (read_file(operand, &text, &error) < 0 ||
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
	buf_addf(&out, "%s: ok\n", operand);
	return report_text(&out);
}

int policy_command_check(int argc, char **argv)
{
	static const struct option_info options[] = {
		{ "--json", POLICY_JSON },
		{ "--config", POLICY_CONFIG },
	};
	static const struct syntax syntax = {
		.command = "policy check",
		.usage = "policy check FILE [OPTIONS]",
		.about = "Checks a file, or - for stdin: 0 when it is a policy, 1 when not.",
		.options = options,
		.options_count = ARRAY_SIZE(options),
		.operands_max = 1,
	};
	struct policy_line line = { 0 };

	return command_simple(&syntax, argc, argv, &line, check);
}
