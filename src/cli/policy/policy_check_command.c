/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig policy check`: checks a file; and answers whether something would be allowed, and by which
 * line.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json/json_out.h"
#include "cli/cli_report.h"
#include "cli/policy/cli_policy.h"
#include "cli/policy/policy_questions.h"
#include "cli/read_input.h"

struct check_args {
	struct policy_args common; /* first: the shared options fill it */
	const char *policy;
	struct questions questions;
};

/* "strict" of "dir/strict.json". */
static void name_of(const char *path, char name[65])
{
	const char *slash = strrchr(path, '/');
	const char *start = slash ? slash + 1 : path;
	size_t length = strlen(start);

	if (length > 5 && strcmp(start + length - 5, ".json") == 0) {
		length -= 5;
	}
	snprintf(name, 65, "%.*s", length < 64 ? (int)length : 64, start);
	if (!id_name_valid(name)) {
		snprintf(name, 65, "unnamed");
	}
}

static int print_valid(const struct policy *policy, const char *place, bool as_json)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };

	if (!as_json) {
		buf_addf(&out, "%s: ok\n", place);
		return report_text(&out);
	}
	struct json_out json = { .buf = &out };
	json_open(&json, NULL, '{');
	json_text(&json, "policy", policy->name);
	json_bool(&json, "valid", true);
	json_text(&json, "sha256", policy->hash);
	json_close(&json, '}');
	return report_json(out.failed ? NULL : out.data);
}

/*
 * Without a directory of policies the file is checked alone: the host's own directory is not used.
 */
static int validate(const struct check_args *args, const struct policy_given *given)
{
	const struct policy_source source = { .config_dir = args->common.config, .given = given };
	struct brig_error error = { 0 };
	_cleanup_(policy_freep)
	struct policy *policy = NULL;

	if (policy_load(&source, given->name, &policy, &error) < 0) {
		/* A check with findings has succeeded: 1, as linters return. */
		report_error(&error, args->common.json);
		return 1;
	}
	return print_valid(policy, given->place, args->common.json);
}

static int usage(const struct check_args *args, const char *what)
{
	struct brig_error error = { 0 };

	error_set(&error, BRIG_E_INPUT, EINVAL, "policy check: %s", what);
	error_remedy(&error, "brig policy check FILE, or - for stdin; with questions, FILE or "
			     "--policy NAME");
	return report_usage(&error, args->common.json);
}

static int check_file(const struct check_args *args, const char *operand)
{
	struct brig_error error = { 0 };
	_cleanup_(buf_done)
	struct buf text = { 0 };
	const char *place = strcmp(operand, "-") == 0 ? "stdin" : operand;
	char name[65];

	name_of(place, name);
	if (read_input(operand, POLICY_BYTES_MAX, &text, &error) < 0) {
		report_error(&error, args->common.json);
		return 1;
	}
	const struct policy_given given = { name, place, text.data ? text.data : "", text.size };
	return args->questions.count ? questions_answer(&args->questions, args->common.config, name,
							&given, args->common.json)
				     : validate(args, &given);
}

static int check(const struct check_args *args, const char *operand)
{
	if (operand && args->policy) {
		return usage(args, "a file and --policy cannot be combined");
	}
	if (operand) {
		return check_file(args, operand);
	}
	if (args->questions.count == 0) {
		return usage(args, args->policy ? "missing question" : "missing file");
	}
	return questions_answer(&args->questions, args->common.config,
				args->policy ? args->policy : "default", NULL, args->common.json);
}

static int take_question(void *into, const struct option_info *option, const char *value,
			 struct brig_error *err)
{
	struct check_args *args = into;

	return questions_add(&args->questions, option->data, value, err);
}

/* Values of questions that a shell can complete. */
static const struct completion *completion_of(const struct check_kind *kind)
{
	static const struct {
		const char *name;
		const struct completion *complete;
	} known[] = {
		{ "read", &complete_file },
		{ "write", &complete_file },
		{ "exec", &complete_file },
		{ "language", &complete_language },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].name, kind->name) == 0) {
			return known[i].complete;
		}
	}
	return NULL;
}

static size_t make_options(struct option_info ret[OPTIONS_MAX])
{
	static const struct option_info own[] = {
		POLICY_OPTIONS,
		OPTION_TEXT("--policy", "NAME", &complete_policy,
			    offsetof(struct check_args, policy), "the policy to check (default)"),
	};
	size_t count = ARRAY_SIZE(own);

	memcpy(ret, own, sizeof(own));
	for (size_t i = 0; i < check_kinds_count && count < OPTIONS_MAX; i++) {
		const struct check_kind *kind = &check_kinds[i];
		ret[count++] = (struct option_info){ .name = kind->option,
						     .value = kind->value,
						     .about = kind->about,
						     .take = take_question,
						     .data = kind,
						     .complete = completion_of(kind),
						     .repeats = true };
	}
	return count;
}

const struct syntax policy_check_syntax = {
	.command = "policy check",
	.usage = "policy check FILE [OPTIONS]\n"
		 "policy check [FILE | --policy NAME] QUESTION... [OPTIONS]",
	.about = "Checks a file, or - for stdin: 0 when it is a valid policy, 1 when\n"
		 "not. With questions: would this be allowed, and by which line? 0 when\n"
		 "everything is, 1 when something is refused, requires consent, or\n"
		 "depends on details that the question leaves open. A real cell answers\n"
		 "for files, and the guard for modules; your code is not run.",
	.make_options = make_options,
	.operands_max = 1,
	.operands = &complete_file,
	.notes = "Files are those of a cell for the first --language, else for python.",
};

int policy_command_check(int argc, char **argv)
{
	struct check_args args = { 0 };
	struct arguments given;
	struct brig_error error = { 0 };
	int status;

	if (options_parse(&policy_check_syntax, argc, argv, &args, &given, &error) < 0) {
		status = report_usage(&error, options_mention(argc, argv, "--json"));
	} else if (given.help) {
		status = report_help(&policy_check_syntax);
	} else {
		status = check(&args, given.operands_count ? given.operands[0] : NULL);
	}
	questions_done(&args.questions);
	return status;
}
