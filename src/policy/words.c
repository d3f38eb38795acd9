/* SPDX-License-Identifier: Apache-2.0 */
/* Words in data files: see words.h. */
#include "policy/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

int words_at(const struct words *words, const char *text, size_t *ret_length)
{
	size_t size = text[0] == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;

	if (size == 0 || text[1 + size] != '}') {
		return -2;
	}
	*ret_length = size + 2;
	for (size_t i = 0; i < words->count; i++) {
		const char *name = words->list[i].name;
		if (strlen(name) == size && memcmp(name, text + 1, size) == 0) {
			return (int)i;
		}
	}
	return -1;
}

int words_check(const struct words *words, const char *text, char *why, size_t size)
{
	if (strstr(text, "/.brig")) {
		(void)snprintf(why, size, "/.brig is brig's own: use a word in braces");
		return -EINVAL;
	}
	for (; *text; text++) {
		size_t length = 0;
		int word = words_at(words, text, &length);
		if (word == -1) {
			(void)snprintf(why, size, "%.*s is not known", (int)length, text);
			return -EINVAL;
		}
		if (word >= 0 && words->list[word].last && text[length]) {
			(void)snprintf(why, size, "nothing may follow %.*s", (int)length, text);
			return -EINVAL;
		}
	}
	return 0;
}

static bool has_word(const struct words *words, const char *text, int wanted)
{
	for (size_t length; *text; text++) {
		if (words_at(words, text, &length) == wanted) {
			return true;
		}
	}
	return false;
}

bool words_have(const struct words *words, const struct strlist *texts, int wanted)
{
	for (size_t i = 0; i < texts->count; i++) {
		if (has_word(words, texts->items[i], wanted)) {
			return true;
		}
	}
	return false;
}

void words_put(const struct words *words, const char *text, const char *const *values,
	       struct buf *out)
{
	while (*text) {
		size_t length = 1;
		int word = words_at(words, text, &length);
		if (word >= 0) {
			buf_adds(out, values[word]);
		} else {
			length = 1;
			buf_addc(out, *text);
		}
		text += length;
	}
}

int words_expand(const struct words *words, const struct strlist *texts, const char *const *values,
		 struct strlist *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < texts->count; i++) {
		_cleanup_(buf_done)
		struct buf out = { 0 };
		words_put(words, texts->items[i], values, &out);
		r = out.failed ? -ENOMEM : strlist_add(ret, out.data ? out.data : "");
	}
	return r;
}
