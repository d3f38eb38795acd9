/* SPDX-License-Identifier: Apache-2.0 */
/* The {words} of a launcher's arguments. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/launcher/launcher.h"

static const struct {
	const char *name;
	bool last; /* nothing may follow it in its argument: "{root}/.." is another directory */
} words[LAUNCHER_WORDS] = {
	[LAUNCHER_ROOT] = { "root", true },          [LAUNCHER_AGENT] = { "agent", true },
	[LAUNCHER_UID] = { "uid", false },           [LAUNCHER_GID] = { "gid", false },
	[LAUNCHER_HOSTNAME] = { "hostname", false },
};

int launcher_word_at(const char *text, size_t *ret_length)
{
	size_t size = text[0] == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;

	if (size == 0 || text[1 + size] != '}') {
		return -2;
	}
	*ret_length = size + 2;
	for (int i = 0; i < LAUNCHER_WORDS; i++) {
		if (strlen(words[i].name) == size && memcmp(words[i].name, text + 1, size) == 0) {
			return i;
		}
	}
	return -1;
}

int launcher_check_argument(const char *text, char *why, size_t size)
{
	if (strstr(text, "/.brig")) {
		(void)snprintf(why, size, "/.brig is brig's own: use {root}");
		return -EINVAL;
	}
	for (; *text; text++) {
		size_t length = 0;
		int word = launcher_word_at(text, &length);
		if (word == -1) {
			(void)snprintf(why, size, "%.*s is not known", (int)length, text);
			return -EINVAL;
		}
		if (word >= 0 && words[word].last && text[length]) {
			(void)snprintf(why, size, "nothing may follow %.*s", (int)length, text);
			return -EINVAL;
		}
	}
	return 0;
}

static int expand_one(const char *text, const char *const values[LAUNCHER_WORDS],
		      struct strlist *ret)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };

	while (*text) {
		size_t length = 1;
		int word = launcher_word_at(text, &length);
		if (word >= 0) {
			buf_adds(&out, values[word]);
		} else {
			length = 1;
			buf_addc(&out, *text);
		}
		text += length;
	}
	return out.failed ? -ENOMEM : strlist_add(ret, out.data ? out.data : "");
}

int launcher_expand(const struct launcher *launcher, const char *const values[LAUNCHER_WORDS],
		    struct strlist *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < launcher->arguments.count; i++) {
		r = expand_one(launcher->arguments.items[i], values, ret);
	}
	return r;
}
