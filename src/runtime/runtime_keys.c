/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a runtime file; docs/runtimes.md explains them. */
#include "runtime/runtime_keys.h"

#include "runtime/runtime.h"
#include "runtime/runtime_rules.h"

#define AT(field)    .offset = offsetof(struct runtime, field)
#define SIZED(field) AT(field), .size = sizeof(((struct runtime *)0)->field)

static const struct runtime_key compile_keys[] = {
	{ "argv", KEY_LIST, AT(compile), .rule = rule_argv },
	{ "output", KEY_TEXT, SIZED(output), .rule = rule_file },
	{ "env", KEY_ENV, AT(compile_env), .rule = rule_text },
	{ "closure", KEY_LIST, AT(compile_closure), .rule = rule_closure },
	/* of the compiler's cell, and the minimum that a request cannot lower */
	{ "limits", KEY_LIMITS, AT(compile_limits) },
	{ "least", KEY_LIMITS, AT(compile_least) },
	{ 0 },
};

static const struct runtime_key run_keys[] = {
	{ "argv", KEY_LIST, AT(run), .rule = rule_argv },
	{ "env", KEY_ENV, AT(env), .rule = rule_text },
	{ 0 },
};

static const struct runtime_key version_keys[] = {
	{ "argv", KEY_LIST, AT(version_argv), .rule = rule_text },
	{ "after", KEY_OWNED, AT(version_pattern), .rule = rule_text },
	{ 0 },
};

static const struct runtime_key word_keys[] = {
	{ "exported", KEY_TEXT, SIZED(words.exported), .rule = rule_word },
	{ "types", KEY_LIST, AT(words.types), .rule = rule_word },
	{ "package", KEY_TEXT, SIZED(words.package), .rule = rule_word },
	{ "entry", KEY_TEXT, SIZED(words.entry), .rule = rule_word },
	{ "fallback", KEY_TEXT, SIZED(words.fallback), .rule = rule_word },
	{ 0 },
};

static const struct runtime_key least_keys[] = {
	{ "memory", KEY_NUMBER, AT(least_memory_bytes), .unit = UNIT_BYTES },
	{ "processes", KEY_NUMBER, AT(least_processes), .unit = UNIT_COUNT },
	{ 0 },
};

static const struct runtime_key warm_keys[] = {
	{ "template", KEY_FLAG, AT(template) },
	{ "preload", KEY_LIST, AT(preload), .rule = rule_module },
	{ "wait", KEY_TEXT, SIZED(waiting_driver), .rule = rule_file },
	{ "driver", KEY_TEXT, SIZED(driver), .rule = rule_file },
	{ "argv", KEY_LIST, AT(driver_argv), .rule = rule_warm_argv },
	{ "early_env", KEY_LIST, AT(driver_env), .rule = rule_env_name },
	{ 0 },
};

static const struct runtime_key value_keys[] = {
	{ "driver", KEY_TEXT, SIZED(value_driver), .rule = rule_file },
	{ "argv", KEY_LIST, AT(value_argv), .rule = rule_value_argv },
	{ 0 },
};

static const struct runtime_key session_keys[] = {
	{ "driver", KEY_TEXT, SIZED(session_driver), .rule = rule_file },
	{ "argv", KEY_LIST, AT(session_argv), .rule = rule_warm_argv },
	{ 0 },
};

const struct runtime_key runtime_keys[] = {
	{ "aliases", KEY_LIST, AT(aliases), .rule = rule_name },
	{ "extensions", KEY_LIST, AT(extensions), .rule = rule_name },
	{ "shebangs", KEY_LIST, AT(shebangs), .rule = rule_name },
	{ "source", KEY_TEXT, SIZED(source), .rule = rule_file },
	{ "named_by", KEY_OBJECT, .keys = word_keys },
	{ "generic", KEY_FLAG, AT(generic) },
	{ "engine", KEY_FLAG, AT(engine) },
	{ "program", KEY_LIST, AT(candidates), .rule = rule_program },
	{ "package", KEY_OWNED, AT(package_hint), .rule = rule_name },
	{ "version", KEY_OBJECT, .keys = version_keys },
	{ "compile", KEY_OBJECT, .keys = compile_keys },
	{ "run", KEY_OBJECT, .keys = run_keys },
	{ "closure", KEY_LIST, AT(closure), .rule = rule_closure },
	{ "least", KEY_OBJECT, .keys = least_keys },
	{ "warm", KEY_OBJECT, .keys = warm_keys },
	{ "value", KEY_OBJECT, .keys = value_keys },
	{ "session", KEY_OBJECT, .keys = session_keys },
	{ 0 },
};
