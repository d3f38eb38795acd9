/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a head that the reader has checked. */
#include <string.h>
#include <strings.h>

#include "http1/characters.h"
#include "http1/http1.h"

static void trim(struct http1_text *text)
{
	while (text->size && character_is_space((unsigned char)text->at[0])) {
		text->at++;
		text->size--;
	}
	while (text->size && character_is_space((unsigned char)text->at[text->size - 1])) {
		text->size--;
	}
}

/* Each line has a colon and an end: the reader has checked them. */
bool http1_next_field(const char *head, size_t *at, struct http1_field *ret)
{
	const char *line = head + *at;

	if (*line == '\r') {
		return false;
	}
	const char *colon = rawmemchr(line, ':');
	const char *end = rawmemchr(colon, '\r');
	ret->name = (struct http1_text){ line, (size_t)(colon - line) };
	ret->value = (struct http1_text){ colon + 1, (size_t)(end - colon - 1) };
	trim(&ret->value);
	*at = (size_t)(end + 2 - head);
	return true;
}

bool http1_next_word(struct http1_text *list, struct http1_text *ret)
{
	if (!list->at) {
		return false;
	}
	const char *comma = memchr(list->at, ',', list->size);
	size_t size = comma ? (size_t)(comma - list->at) : list->size;
	*ret = (struct http1_text){ list->at, size };
	trim(ret);
	list->at = comma ? comma + 1 : NULL;
	list->size -= comma ? size + 1 : size;
	return true;
}

bool http1_text_is(const struct http1_text *text, const char *word)
{
	return strlen(word) == text->size && strncasecmp(text->at, word, text->size) == 0;
}
