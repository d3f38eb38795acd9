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

int run_start_parse(const char *from, const char *word, enum brig_start *ret,
		    struct brig_error *err)
{
	static const char *const names[] = {
		[BRIG_START_AUTO] = "auto", [BRIG_START_COLD] = "cold", [BRIG_START_WARM] = "warm"
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(word, names[i]) == 0) {
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
	{ ALL, { "-c", "CODE", "the code to run", option_take_text, AT(code), NULL } },
	{ ALL,
	  { "--lang", "LANGUAGE", "language; else by extension or #! line", option_take_text,
	    AT(language), NULL } },
	{ ALL,
	  { "--policy", "POLICY", "the policy of the run: default, strict, open, ...",
	    option_take_text, AT(policy), NULL } },
};

/* ...and after them. */
static const struct option_row last[] = {
	{ ALL,
	  { "--clamp", NULL, "change refused limits to the nearest that the policy allows",
	    option_take_flag, AT(clamp), NULL } },
	{ ALL,
	  { "--guard", "MODE", "check Python code before it runs: off, imports, strict",
	    option_take_text, AT(guard), NULL } },
	{ RUN,
	  { "--check", NULL, "only check the code with the guard, and print its risk",
	    option_take_flag, AT(check), NULL } },
	{ ALL,
	  { "--in", "[NAME=]FILE", "copy a file to /sandbox/NAME; repeatable", option_take_list,
	    AT(in), NULL } },
	{ ALL,
	  { "--project", NULL, "also copy the files of FILE's directory, except hidden ones",
	    option_take_flag, AT(project), NULL } },
	{ BOTH,
	  { "--out", "GLOB", "return files of /sandbox in addition to out/; repeatable",
	    option_take_list, AT(out), NULL } },
	{ RUN,
	  { "--out-dir", "DIR", "write returned files below DIR (\".\" with --out)",
	    option_take_text, AT(out_dir), NULL } },
	{ RUN,
	  { "--out-exec", NULL, "keep the execute bits of returned files", option_take_flag,
	    AT(out_exec), NULL } },
	{ RUN | LEARN,
	  { "--force", NULL, "replace existing files", option_take_flag, AT(force), NULL } },
	{ BOTH,
	  { "--changes", NULL, "report created, modified and deleted files", option_take_flag,
	    AT(changes), NULL } },
	{ ALL,
	  { "--ro", "[NAME=]DIR", "mount a directory at /mnt/NAME; repeatable", option_take_list,
	    AT(ro), NULL } },
	{ ALL,
	  { "--rw", "[NAME=]DIR", "the same, writable; repeatable", option_take_list, AT(rw),
	    NULL } },
	{ ALL,
	  { "--net", "HOST[:PORTS]", "allow connections to a host; repeatable", option_take_list,
	    AT(net), NULL } },
	{ ALL,
	  { "--env", "NAME[=VALUE]", "set a variable, or pass brig's own; repeatable",
	    option_take_list, AT(env), NULL } },
	{ ALL,
	  { "--yes", NULL, "consent to this run (policies with auto_run \"ask\")", option_take_flag,
	    AT(yes), NULL } },
	{ BOTH,
	  { "--no-cache", NULL, "compile again, and store nothing", option_take_flag, AT(no_cache),
	    NULL } },
	{ ALL,
	  { "--config", "DIR", "the operator's policies and runtimes (/etc/brig)",
	    option_take_directory, AT(config), NULL } },
	{ RUN,
	  { "--audit", "FILE", "add a record of the run to this audit chain ($BRIG_AUDIT)",
	    option_take_text, AT(audit), NULL } },
	{ RUN,
	  { "-it", NULL, "give the program this terminal (policies with \"terminal\" true)",
	    option_take_flag, AT(terminal), NULL } },
	{ RUN, { "--tty", NULL, "the same", option_take_flag, AT(terminal), NULL } },
	{ RUN,
	  { "--service", "URL", "run it on a service: http://HOST:PORT, unix:PATH ($BRIG_TOKEN)",
	    option_take_text, AT(service), NULL } },
	{ RUN,
	  { "--start", "HOW", "cold; warm: from a template; auto (cold)", take_start, 0, NULL } },
	{ RUN,
	  { "--tenant", "NAME", "the owner of the code; tenants share no prepared cells",
	    option_take_text, AT(tenant), NULL } },
	{ RUN,
	  { "--value", NULL, "report the value of the last expression, or of `result`",
	    option_take_flag, AT(value), NULL } },
	{ RUN,
	  { "--time", NULL, "print the resources that the run used, on stderr", option_take_flag,
	    AT(time), NULL } },
	{ EXPLAIN,
	  { "--time", NULL, "run it, and show the time of each step", option_take_flag, AT(time),
	    NULL } },
	{ RUN,
	  { "--json", NULL, "print the result as one JSON object", option_take_flag, AT(json),
	    NULL } },
	{ EXPLAIN, { "--json", NULL, "print the plan as JSON", option_take_flag, AT(json), NULL } },
	{ RUN,
	  { "--json-schema", NULL, "print the schema of that object", option_take_flag, AT(schema),
	    NULL } },
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

	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		ret[count++] = first[i].option;
	}
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		/* A limit on something that cells do not have is not an option. */
		if (info->option && info->most > 0 && count < RUN_OPTIONS_MAX - ARRAY_SIZE(last)) {
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
