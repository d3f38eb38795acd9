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

/* In front of the limits... */
static const struct option_row first[] = {
	{ ALL, { "-c", "CODE", "the code itself", option_take_text, AT(code), NULL } },
	{ ALL,
	  { "--lang", "LANGUAGE", "language; else by extension or #! line", option_take_text,
	    AT(language), NULL } },
	{ ALL,
	  { "--policy", "POLICY", "what it may do: default, strict, open, ...", option_take_text,
	    AT(policy), NULL } },
};

/* ...and behind them. */
static const struct option_row last[] = {
	{ ALL,
	  { "--clamp", NULL, "limits that the policy refuses become the nearest it allows",
	    option_take_flag, AT(clamp), NULL } },
	{ ALL,
	  { "--guard", "MODE", "look at Python before it runs: off, imports, strict",
	    option_take_text, AT(guard), NULL } },
	{ RUN,
	  { "--check", NULL, "only look at the code: what the guard says, and its risk",
	    option_take_flag, AT(check), NULL } },
	{ ALL,
	  { "--in", "[NAME=]FILE", "copy a file to /sandbox/NAME; repeatable", option_take_list,
	    AT(in), NULL } },
	{ ALL,
	  { "--project", NULL, "copy the files of FILE's directory too, but for hidden ones",
	    option_take_flag, AT(project), NULL } },
	{ BOTH,
	  { "--out", "GLOB", "bring back files of /sandbox besides out/; repeatable",
	    option_take_list, AT(out), NULL } },
	{ RUN,
	  { "--out-dir", "DIR", "write files that come back beneath DIR (\".\" with --out)",
	    option_take_text, AT(out_dir), NULL } },
	{ RUN,
	  { "--out-exec", NULL, "let files that come back keep their execute bits",
	    option_take_flag, AT(out_exec), NULL } },
	{ RUN | LEARN,
	  { "--force", NULL, "replace files that are there already", option_take_flag, AT(force),
	    NULL } },
	{ BOTH,
	  { "--changes", NULL, "report what was created, modified and deleted", option_take_flag,
	    AT(changes), NULL } },
	{ ALL,
	  { "--ro", "[NAME=]DIR", "show a directory as /mnt/NAME; repeatable", option_take_list,
	    AT(ro), NULL } },
	{ ALL,
	  { "--rw", "[NAME=]DIR", "the same, writable; repeatable", option_take_list, AT(rw),
	    NULL } },
	{ ALL,
	  { "--net", "HOST[:PORTS]", "let it connect to a host; repeatable", option_take_list,
	    AT(net), NULL } },
	{ ALL,
	  { "--env", "NAME[=VALUE]", "set a variable, or pass brig's own; repeatable",
	    option_take_list, AT(env), NULL } },
	{ ALL,
	  { "--yes", NULL, "a person agrees to this run (policies with auto_run \"ask\")",
	    option_take_flag, AT(yes), NULL } },
	{ BOTH,
	  { "--no-cache", NULL, "compile anew, keep nothing", option_take_flag, AT(no_cache),
	    NULL } },
	{ ALL,
	  { "--config", "DIR", "the operator's policies and runtimes (/etc/brig)",
	    option_take_directory, AT(config), NULL } },
	{ RUN,
	  { "--audit", "FILE", "add a record of the run to this audit chain ($BRIG_AUDIT)",
	    option_take_text, AT(audit), NULL } },
	{ RUN,
	  { "-it", NULL, "give it a terminal: this one (policies with \"terminal\" true)",
	    option_take_flag, AT(terminal), NULL } },
	{ RUN, { "--tty", NULL, "the same", option_take_flag, AT(terminal), NULL } },
	{ RUN,
	  { "--service", "URL", "let a service run it: http://HOST:PORT, unix:PATH ($BRIG_TOKEN)",
	    option_take_text, AT(service), NULL } },
	{ RUN,
	  { "--start", "HOW", "cold; warm: from a template; auto (cold)", take_start, 0, NULL } },
	{ RUN,
	  { "--tenant", "NAME", "whose code this is; cells made ahead are not shared",
	    option_take_text, AT(tenant), NULL } },
	{ RUN,
	  { "--value", NULL, "report what the last expression, or `result`, evaluates to",
	    option_take_flag, AT(value), NULL } },
	{ RUN,
	  { "--time", NULL, "say on stderr what the run used", option_take_flag, AT(time), NULL } },
	{ EXPLAIN,
	  { "--time", NULL, "run it, and show how long each step took", option_take_flag, AT(time),
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
	/* The policy names the range that holds; 0 would mean "as the policy says" to it. */
	if (r == 0 && number == 0 && info->least <= 1 && info->usual) {
		r = error_set(err, BRIG_E_INPUT, ERANGE, "%s: %s is out of range", option->name,
			      value);
		error_remedy(err, "give at least 1");
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
	for (size_t i = 0; i < limit_table_count; i++) {
		const struct limit_info *info = &limit_table[i];
		/* A limit of what cells do not have cannot be asked for. */
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
