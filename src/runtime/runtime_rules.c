/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for the texts in a runtime file. */
#include "runtime/runtime_rules.h"

#include <string.h>

#include "base/files/path.h"
#include "runtime/closure/closure_rules.h"
#include "runtime/placeholder.h"

#define TEXT_MAX 1023

const char *rule_text(const char *text)
{
	size_t size = strlen(text);

	if (size == 0 || size > TEXT_MAX) {
		return "must have 1 to 1023 bytes";
	}
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
			return "must not have control characters";
		}
	}
	return NULL;
}

const char *rule_name(const char *text)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "._+#-";
	size_t size = strlen(text);

	if (size == 0 || size > 31 || strspn(text, bytes) != size || strchr(".-", text[0])) {
		return "must be 1 to 31 letters, digits and . _ + # -";
	}
	return NULL;
}

/* "numpy", "xml.etree": names for an import statement. */
const char *rule_module(const char *text)
{
	static const char bytes[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	size_t size = strlen(text);

	return size == 0 || size > 127 || strspn(text, bytes) != size || text[0] == '.'
		       ? "must be the name of a module"
		       : NULL;
}

const char *rule_file(const char *text)
{
	if (rule_name(text) || strchr(text, '/') || !path_is_beneath(text, NULL)) {
		return "must be a plain file name such as \"code.py\"";
	}
	return NULL;
}

const char *rule_word(const char *text)
{
	static const char bytes[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
	size_t size = strlen(text);

	return size == 0 || size > 31 || strspn(text, bytes) != size ? "must be one word" : NULL;
}

/* No empty, "." or ".." component: the path means what it says. */
static bool is_plain_absolute(const char *text)
{
	return text[0] == '/' && text[1] != '\0' && path_is_beneath(text + 1, NULL);
}

const char *rule_program(const char *text)
{
	return is_plain_absolute(text) ? NULL : "must be an absolute path without . and .. in it";
}

const char *rule_argv(const char *text)
{
	char bad[32];

	if (rule_text(text)) {
		return rule_text(text);
	}
	if (!placeholder_check(text, PLACE_ARGV, bad, sizeof(bad))) {
		return "must contain no placeholders but {program} {prefix} {source} {output} "
		       "{main} "
		       "{memory_mb} {heap_mb} {args}";
	}
	if (placeholder_used(text, PLACEHOLDER_ARGS) && strcmp(text, "{args}") != 0) {
		return "must contain {args} as a whole argument, not as a part of one";
	}
	return NULL;
}

const char *rule_warm_argv(const char *text)
{
	char bad[32];

	if (rule_text(text)) {
		return rule_text(text);
	}
	return placeholder_check(text, PLACE_WARM, bad, sizeof(bad))
		       ? NULL
		       : "must contain no placeholders but {program} {prefix} {source} {memory_mb} "
			 "{heap_mb} {driver}";
}

const char *rule_value_argv(const char *text)
{
	char bad[32];

	if (rule_text(text)) {
		return rule_text(text);
	}
	if (!placeholder_check(text, PLACE_VALUE, bad, sizeof(bad))) {
		return "must contain no placeholders but {program} {prefix} {source} {memory_mb} "
		       "{heap_mb} {driver} {args}";
	}
	return placeholder_used(text, PLACEHOLDER_ARGS) && strcmp(text, "{args}") != 0
		       ? "must contain {args} as a whole argument, not as a part of one"
		       : NULL;
}

const char *rule_env_name(const char *text)
{
	static const char bytes[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
	size_t size = strspn(text, bytes);

	return size == 0 || size > 64 || (text[size] && strcmp(text + size, "*") != 0)
		       ? "must be a variable name, or a prefix of such names and a *"
		       : NULL;
}

const char *rule_closure(const char *text)
{
	static const char prefix[] = "{prefix}";
	char bad[32];

	if (text[0] == '@') {
		return closure_group(text) ? NULL : "must be one of @libs @locale @shell @cc";
	}
	if (!placeholder_check(text, PLACE_CLOSURE, bad, sizeof(bad))) {
		return "must contain no placeholders but {program} {prefix} {realname} {multiarch}";
	}
	if (strncmp(text, prefix, sizeof(prefix) - 1) == 0) {
		text += sizeof(prefix) - 1;
		return text[0] == '\0' || is_plain_absolute(text)
			       ? NULL
			       : "must continue with / after {prefix}";
	}
	if (!is_plain_absolute(text)) {
		return "must be an absolute path, {prefix}/... or a @group, without . and .. in it";
	}
	return closure_refuses(text) ? "must not be such a large or private part of the host"
				     : NULL;
}
