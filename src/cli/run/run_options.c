/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `brig run`, `brig explain` and `brig policy learn`, as a table. */
#include "cli/run/run_options.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"

#define AT(field) offsetof(struct run_args, field)

enum { RUN = 1, EXPLAIN = 2, LEARN = 4, BOTH = RUN | EXPLAIN, ALL = BOTH | LEARN };

struct option_row {
	unsigned commands;
	struct option_info option;
};

static const char *const start_names[] = {
	[BRIG_START_AUTO] = "auto", [BRIG_START_COLD] = "cold", [BRIG_START_WARM] = "warm"
};
static const struct completion start_words = COMPLETE_NAMES(start_names);
static const struct completion guard_modes = COMPLETE_NAMES(guard_mode_names);

int run_start_parse(const char *from, const char *word, enum brig_start *ret,
		    struct brig_error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(start_names); i++) {
		if (strcmp(word, start_names[i]) == 0) {
			*ret = (enum brig_start)i;
			return 0;
		}
	}
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "%s: '%s' is not a start mode", from, word);
	error_remedy(err, "write auto, cold or warm");
	return r;
}

static int take_start(void *into, const struct option_info *option, const char *value,
		      struct brig_error *err)
{
	struct run_args *args = into;

	args->start_given = true;
	return run_start_parse(option->name, value, &args->start, err);
}

/* Before the limits... */
static const struct option_row first[] = {
	{ ALL, OPTION_TEXT("-c", "CODE", NULL, AT(code), "the code to run") },
	{ ALL, OPTION_TEXT("--lang", "LANGUAGE", &complete_language, AT(language),
			   "language; else by extension or #! line") },
	{ ALL, OPTION_TEXT("--policy", "POLICY", &complete_policy, AT(policy),
			   "the policy of the run: default, strict, open, ...") },
	{ ALL, OPTION_TEXT("--provider", "NAME", &complete_provider, AT(provider),
			   "hold the run with this one of the policy's providers") },
	{ ALL, OPTION_TEXT("--venv", "NAME|DIR", &complete_directory, AT(venv),
			   "run it with the Python of this virtualenv") },
};

/* ...and after them. */
static const struct option_row last[] = {
	{ ALL, OPTION_FLAG("--clamp", AT(clamp),
			   "change refused limits to the nearest that the policy allows") },
	{ ALL, OPTION_TEXT("--guard", "MODE", &guard_modes, AT(guard),
			   "check Python code before it runs: off, imports, strict") },
	{ RUN, OPTION_FLAG("--check", AT(check),
			   "only check the code with the guard, and print its risk") },
	{ ALL, OPTION_LIST("--in", "[NAME=]FILE", &complete_file, AT(in),
			   "copy a file to /sandbox/NAME; repeatable") },
	{ ALL, OPTION_FLAG("--project", AT(project),
			   "also copy the files of FILE's directory, except hidden ones") },
	{ BOTH, OPTION_LIST("--out", "GLOB", NULL, AT(out),
			    "return files of /sandbox in addition to out/; repeatable") },
	{ RUN, OPTION_TEXT("--out-dir", "DIR", &complete_directory, AT(out_dir),
			   "write returned files below DIR (\".\" with --out)") },
	{ RUN, OPTION_FLAG("--out-exec", AT(out_exec), "keep the execute bits of returned files") },
	{ RUN | LEARN, OPTION_FLAG("--force", AT(force), "replace existing files") },
	{ BOTH,
	  OPTION_FLAG("--changes", AT(changes), "report created, modified and deleted files") },
	{ ALL, OPTION_LIST("--ro", "[NAME=]DIR", &complete_directory, AT(ro),
			   "mount a directory at /mnt/NAME; repeatable") },
	{ ALL, OPTION_LIST("--rw", "[NAME=]DIR", &complete_directory, AT(rw),
			   "the same, writable; repeatable") },
	{ ALL, OPTION_LIST("--net", "HOST[:PORTS]", NULL, AT(net),
			   "allow connections to a host; repeatable") },
	{ ALL, OPTION_LIST("--env", "NAME[=VALUE]", NULL, AT(env),
			   "set a variable, or pass brig's own; repeatable") },
	{ ALL,
	  OPTION_FLAG("--yes", AT(yes), "consent to this run (policies with auto_run \"ask\")") },
	{ BOTH, OPTION_FLAG("--no-cache", AT(no_cache), "compile again, and store nothing") },
	{ ALL, OPTION_DIRECTORY("--config", "DIR", AT(config),
				"the operator's policies and runtimes (/etc/brig)") },
	{ RUN, OPTION_TEXT("--audit", "FILE", &complete_file, AT(audit),
			   "add a record of the run to this audit chain ($BRIG_AUDIT)") },
	{ RUN, OPTION_FLAG("-it", AT(terminal),
			   "give the program this terminal (policies with \"terminal\" true)") },
	{ RUN, OPTION_FLAG("--tty", AT(terminal), "the same") },
	{ RUN, OPTION_TEXT("--service", "URL", NULL, AT(service),
			   "run it on a service: http://HOST:PORT, unix:PATH ($BRIG_TOKEN)") },
	{ RUN,
	  { .name = "--start",
	    .value = "HOW",
	    .about = "cold; warm: from a template; auto (cold)",
	    .take = take_start,
	    .complete = &start_words } },
	{ RUN, OPTION_TEXT("--tenant", "NAME", NULL, AT(tenant),
			   "the owner of the code; tenants share no prepared cells") },
	{ RUN, OPTION_FLAG("--value", AT(value),
			   "report the value of the last expression, or of `result`") },
	{ RUN,
	  OPTION_FLAG("--time", AT(time), "print the resources that the run used, on stderr") },
	{ EXPLAIN, OPTION_FLAG("--time", AT(time), "run it, and show the time of each step") },
	{ RUN, OPTION_FLAG("--json", AT(json), "print the result as one JSON object") },
	{ EXPLAIN, OPTION_FLAG("--json", AT(json), "print the plan as JSON") },
	{ RUN, OPTION_FLAG("--json-schema", AT(schema), "print the schema of that object") },
};

static int take_limit(void *into, const struct option_info *option, const char *value,
		      struct brig_error *err)
{
	struct run_args *args = into;
	const struct limit_info *info = option->data;
	uint64_t number;
	int r = unit_parse(info->unit, value, &number);

	if (r == -EINVAL) {
		r = error_set(err, BRIG_E_INPUT, EINVAL, "%s: '%s' is not %s", option->name, value,
			      unit_describe(info->unit));
		error_remedy(err, "%s", unit_spelling(info->unit));
		return r;
	}
	/*
	 * The policy's own error names the valid range; 0 would mean "use the policy's value" to
	 * it.
	 */
	if (r == 0 && number == 0 && info->least <= 1 && info->usual) {
		r = error_set(err, BRIG_E_INPUT, ERANGE, "%s: %s is out of range", option->name,
			      value);
		error_remedy(err, "give 1 or more");
		return r;
	}
	*limit_of(&args->limits, info) = r < 0                    ? info->most + 1
					 : number || !info->usual ? number
								  : 1;
	return 0;
}

static const char *unit_value(enum unit unit)
{
	static const char *const names[] = {
		[UNIT_COUNT] = "NUMBER",
		[UNIT_BYTES] = "SIZE",
		[UNIT_TIME] = "TIME",
		[UNIT_MILLICORES] = "CORES",
	};

	return (size_t)unit < ARRAY_SIZE(names) ? names[unit] : "NUMBER";
}

size_t run_options(enum run_command command, struct option_info ret[RUN_OPTIONS_MAX])
{
	static const unsigned bits[] = { [RUN_COMMAND_RUN] = RUN,
					 [RUN_COMMAND_EXPLAIN] = EXPLAIN,
					 [RUN_COMMAND_LEARN] = LEARN };
	unsigned wanted = bits[command];
	size_t count = 0;

	_Static_assert(ARRAY_SIZE(first) + LIMITS_COUNT + ARRAY_SIZE(last) <= RUN_OPTIONS_MAX,
		       "room for all");
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		ret[count++] = first[i].option;
	}
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		/* A limit on something that cells do not have is not an option. */
		if (info->option && info->most > 0) {
			ret[count++] = (struct option_info){ .name = info->option,
							     .value = unit_value(info->unit),
							     .about = info->about,
							     .take = take_limit,
							     .data = info };
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(last); i++) {
		if (last[i].commands & wanted) {
			ret[count++] = last[i].option;
		}
	}
	return count;
}

void run_args_done(struct run_args *args)
{
	strlist_done(&args->in);
	strlist_done(&args->out);
	strlist_done(&args->ro);
	strlist_done(&args->rw);
	strlist_done(&args->env);
	strlist_done(&args->net);
}
