/* SPDX-License-Identifier: Apache-2.0 */
/* Reads pyvenv.cfg as Python does: lines of "key = value", small and capital letters are equal. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "runtime/venv/venv.h"

struct slice {
	const char *text;
	size_t size;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trim(struct slice it)
{
	while (it.size && is_blank(it.text[0])) {
		it.text++;
		it.size--;
	}
	while (it.size && is_blank(it.text[it.size - 1])) {
		it.size--;
	}
	return it;
}

static bool is_key(struct slice key, const char *name)
{
	return key.size == strlen(name) && strncasecmp(key.text, name, key.size) == 0;
}

static void keep(struct slice value, char *ret, size_t room)
{
	ret[0] = '\0';
	if (value.size < room && !memchr(value.text, '\0', value.size)) {
		memcpy(ret, value.text, value.size);
		ret[value.size] = '\0';
	}
}

static void take(struct slice key, struct slice value, struct pyvenv_cfg *ret)
{
	if (is_key(key, "home")) {
		keep(value, ret->home, sizeof(ret->home));
	} else if (is_key(key, "version") || is_key(key, "version_info")) {
		keep(value, ret->version, sizeof(ret->version));
	} else if (is_key(key, "include-system-site-packages")) {
		ret->system_packages = is_key(value, "true");
	}
}

void pyvenv_cfg_parse(const char *text, size_t size, struct pyvenv_cfg *ret)
{
	*ret = (struct pyvenv_cfg){ 0 };
	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t line = end ? (size_t)(end - text) : size;
		const char *equals = memchr(text, '=', line);

		if (equals) {
			size_t before = (size_t)(equals - text);
			take(trim((struct slice){ text, before }),
			     trim((struct slice){ equals + 1, line - before - 1 }), ret);
		}
		text += line + (end != NULL);
		size -= line + (end != NULL);
	}
}
