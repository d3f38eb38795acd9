/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment: variables that a policy sets, and names that a request may set.
 *
 * Variables that change which code an interpreter or loader runs are refused unless the policy
 * names them exactly: a pattern never allows them. They could only affect the cell itself, but a
 * service that passes on a client's variables should not pass on these.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"

#define VALUE_MAX 8192

/* A trailing '*' matches any rest. */
static const char *const dangerous[] = {
	/* the dynamic loader and the C library */
	"LD_*", "GLIBC_TUNABLES", "GCONV_PATH", "GETCONF_DIR", "HOSTALIASES", "LOCALDOMAIN",
	"LOCPATH", "MALLOC_*", "NIS_PATH", "NLSPATH", "RESOLV_*", "RES_OPTIONS", "TZDIR",
	"OPENSSL_*",
	/* shells */
	"BASH_ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "ENV", "IFS", "PS4", "PROMPT_COMMAND",
	"CDPATH", "GLOBIGNORE", "FPATH", "ZDOTDIR", "PATH", "SHELL",
	/* interpreters */
	"PYTHON*", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_*", "NODE_V8_COVERAGE",
	"NODE_CHANNEL_FD", "PERL5*", "PERLLIB", "PERLIO*", "RUBYOPT", "RUBYLIB", "RUBYPATH",
	"GEM_*", "BUNDLE_*", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JAVA_OPTS",
	"CLASSPATH", "LUA_PATH*", "LUA_CPATH*", "LUA_INIT*", "PHPRC", "PHP_INI_SCAN_DIR",
	"DOTNET_*", "COR_*", "CORECLR_*",
	/* compilers */
	"GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH",
	"CPLUS_INCLUDE_PATH", "GOFLAGS", "GOROOT", "GOENV", "GOTOOLDIR", "GODEBUG", "RUSTFLAGS",
	"RUSTC*", "RUSTDOC*", "CARGO_*",
	/* brig itself */
	"BRIG_*"
};

/* Python's variables that change its output, not the code that it runs. */
static const char *const harmless[] = {
	"PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONHASHSEED",
	"PYTHONIOENCODING",        "PYTHONUNBUFFERED",   "PYTHONUTF8",
};

static bool matches(const char *pattern, const char *name)
{
	size_t length = strlen(pattern);

	if (length > 0 && pattern[length - 1] == '*') {
		return strncmp(pattern, name, length - 1) == 0;
	}
	return strcmp(pattern, name) == 0;
}

static bool listed(const char *const *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (matches(list[i], name)) {
			return true;
		}
	}
	return false;
}

static bool name_valid(const char *name, size_t length)
{
	if (length == 0 || length > 128 || (*name >= '0' && *name <= '9')) {
		return false;
	}
	for (size_t i = 0; i < length; i++) {
		char c = name[i];

		if (!(c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
		      (c >= '0' && c <= '9'))) {
			return false;
		}
	}
	return true;
}

bool policy_env_dangerous(const char *name)
{
	return listed(dangerous, ARRAY_SIZE(dangerous), name) &&
	       !listed(harmless, ARRAY_SIZE(harmless), name);
}

int policy_env_entry(const struct policy *policy, const char *name)
{
	bool exact = policy_env_dangerous(name);

	if (!name_valid(name, strlen(name))) {
		return -1;
	}
	for (size_t i = 0; i < policy->env_allow.count; i++) {
		if (strcmp(policy->env_allow.items[i], name) == 0 ||
		    (!exact && matches(policy->env_allow.items[i], name))) {
			return (int)i;
		}
	}
	return -1;
}

bool policy_env_allowed(const struct policy *policy, const char *name)
{
	return policy_env_entry(policy, name) >= 0;
}

static int check_pattern(struct policy_reader *reader, const char *path, const char *item)
{
	size_t length = strlen(item);
	bool star = length > 0 && item[length - 1] == '*';

	if (strcmp(item, "*") == 0 || name_valid(item, length - star)) {
		return 0;
	}
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
		       "\"%.64s\" is not a valid variable name", item);
	error_remedy(reader->err, "write NAME, PREFIX_* or * (every name but the dangerous ones)");
	return -EINVAL;
}

static int read_allow(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_strings(reader, path, value, check_pattern, &reader->policy->env_allow);
}

/* Sets NAME in the list, replacing the value of an inherited policy. */
static int set_variable(struct strlist *list, const char *name, const char *value)
{
	_cleanup_(strlist_done)
	struct strlist merged = { 0 };
	size_t length = strlen(name);

	for (size_t i = 0; i < list->count; i++) {
		const char *item = list->items[i];
		bool same = strncmp(item, name, length) == 0 && item[length] == '=';
		if (!same && strlist_add(&merged, item) < 0) {
			return -ENOMEM;
		}
	}
	int r = strlist_addf(&merged, "%s=%s", name, value);
	if (r < 0) {
		return r;
	}
	struct strlist old = *list;

	*list = merged;
	merged = old;
	return 0;
}

static int read_variable(struct policy_reader *reader, const char *path, const char *name,
			 json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (!name_valid(name, strlen(name))) {
		return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
				      "\"%.64s\" is not a valid variable name", name);
	}
	if (strlen(text) > VALUE_MAX) {
		return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
				      "longer than %d bytes", VALUE_MAX);
	}
	return set_variable(&reader->policy->env_set, name, text) < 0
		       ? error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path)
		       : 0;
}

static int read_set(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *key;
	json_t *item;
	int r = read_is_object(reader, path, value);

	if (r < 0) {
		return r;
	}
	json_object_foreach(value, key, item)
	{
		char below[POLICY_PATH_MAX];

		reader_path(below, path, key);
		r = read_variable(reader, below, key, item);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int read_env(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = { { "set", read_set }, { "allow", read_allow } };

	return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
}
