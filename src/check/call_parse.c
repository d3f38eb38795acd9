/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a system call as users write it: "ptrace" leaves all of its arguments unknown; in
 * "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC)" missing arguments are zero, and "_" is unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "check/internal.h"

#define WORD_MAX 64

/* Constants that rules do not use. */
static const struct {
	const char *name;
	uint64_t value;
} flags[] = {
	{ "NULL", 0 },
	{ "SOCK_CLOEXEC", 02000000 },
	{ "SOCK_NONBLOCK", 04000 },
	{ "AT_FDCWD", (uint64_t)-100 },
	{ "F_RDLCK", 0 },
	{ "F_WRLCK", 1 },
	{ "O_RDONLY", 0 },
	{ "O_WRONLY", 1 },
	{ "O_RDWR", 2 },
	{ "O_CLOEXEC", 02000000 },
};

static const char *skip(const char *text)
{
	return text + strspn(text, " \t");
}

static bool value_of(const char *word, uint64_t *ret)
{
	char *end;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (strcmp(word, flags[i].name) == 0) {
			*ret = flags[i].value;
			return true;
		}
	}
	if (syscall_constant(word, ret) == 0) {
		return true;
	}
	errno = 0;
	*ret = word[0] == '-' ? (uint64_t)strtoll(word, &end, 0) : strtoull(word, &end, 0);
	return errno == 0 && end != word && *end == '\0';
}

static int unknown_word(const char *word, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%s\" is not a valid argument", word);

	error_remedy(err, "write a number, or a constant such as AF_INET, several with |; _ is any "
			  "value");
	return r;
}

/* "A|B", up to a comma or the closing bracket. */
static int parse_argument(const char **at, uint64_t *ret, bool *known, struct brig_error *err)
{
	const char *text = *at;

	*ret = 0;
	*known = true;
	for (;;) {
		char word[WORD_MAX];
		uint64_t value;
		text = skip(text);
		size_t length = strcspn(text, " \t|,)");
		if (length == 0 || length >= sizeof(word)) {
			return unknown_word(length ? "..." : "", err);
		}
		memcpy(word, text, length);
		word[length] = '\0';
		text = skip(text + length);
		if (strcmp(word, "_") == 0) {
			*known = false;
		} else if (value_of(word, &value)) {
			*ret |= value;
		} else {
			return unknown_word(word, err);
		}
		if (*text != '|') {
			*at = text;
			return 0;
		}
		text++;
	}
}

static int parse_arguments(const char *at, struct check_call *ret, struct brig_error *err)
{
	unsigned count = 0;

	memset(ret->known, true, sizeof(ret->known));
	at = skip(at);
	while (*at != ')') {
		if (count == ARRAY_SIZE(ret->args)) {
			return error_set(err, BRIG_E_INPUT, E2BIG,
					 "a system call has at most 6 arguments");
		}
		int r = parse_argument(&at, &ret->args[count], &ret->known[count], err);
		if (r < 0) {
			return r;
		}
		count++;
		if (*at == ',') {
			at = skip(at + 1);
		} else if (*at != ')') {
			return error_set(err, BRIG_E_INPUT, EINVAL, "missing \")\"");
		}
	}
	return *skip(at + 1) ? error_set(err, BRIG_E_INPUT, EINVAL, "unexpected text after \")\"")
			     : 0;
}

int check_call_parse(const char *text, struct check_call *ret, struct brig_error *err)
{
	struct suggestion best = { 0 };
	char name[WORD_MAX];
	size_t length = strcspn(text, " \t(");
	const char *rest = skip(text + length);

	*ret = (struct check_call){ 0 };
	if (length >= sizeof(name)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "the name of the call is too long");
	}
	memcpy(name, text, length);
	name[length] = '\0';
	int number = syscall_number(name);
	if (number < 0 || number >= FILTER_CALLS_MAX) {
		for (unsigned i = 0; i < FILTER_CALLS_MAX; i++) {
			const char *candidate = syscall_name(i);
			if (candidate) {
				suggest(&best, name, candidate);
			}
		}
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%s\" is not a system call", name);
		error_remedy(err, "%s%s%swrite CALL or CALL(ARGUMENT, ...)",
			     best.word ? "did you mean " : "", best.word ? best.word : "",
			     best.word ? "? " : "");
		return r;
	}
	ret->number = (unsigned)number;
	if (*rest == '\0') {
		return 0;
	}
	return *rest == '(' ? parse_arguments(rest + 1, ret, err)
			    : error_set(err, BRIG_E_INPUT, EINVAL,
					"\"%s\" is not a system call with arguments", text);
}
