/* SPDX-License-Identifier: Apache-2.0 */
/* Parses values; errors name the expected format. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/config.h"

#define TEXT_BYTES_MAX 1024

static int wrong(const struct config_key *key, const char *text, const char *wanted,
		 struct brig_error *err)
{
	return error_set(err, BRIG_E_INPUT, EINVAL, "%s: \"%.64s\" is not %s", key->name, text,
			 wanted);
}

static int set_number(uint64_t *field, const struct config_key *key, const char *text,
		      struct brig_error *err)
{
	uint64_t value;
	char most[40];

	if (unit_parse(key->unit, text, &value) < 0) {
		return wrong(key, text, unit_describe(key->unit), err);
	}
	if (value > key->most || value < key->least) {
		return error_set(err, BRIG_E_INPUT, ERANGE, "%s: %.64s is more than %s", key->name,
				 text, unit_format(key->unit, key->most, most, sizeof(most)));
	}
	*field = value;
	return 0;
}

static int set_mode(uint64_t *field, const struct config_key *key, const char *text,
		    struct brig_error *err)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 8);
	if (text[0] < '0' || text[0] > '7' || *end || errno || value > key->most) {
		return wrong(key, text, "a mode such as 0660", err);
	}
	*field = value;
	return 0;
}

static int set_level(uint64_t *field, const struct config_key *key, const char *text,
		     struct brig_error *err)
{
	enum role_level level;

	if (role_level_parse(text, &level) < 0) {
		return wrong(key, text, "one of error, warning, notice, info, debug", err);
	}
	*field = level;
	return 0;
}

static int set_flag(bool *field, const struct config_key *key, const char *text,
		    struct brig_error *err)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
		return wrong(key, text, "true or false", err);
	}
	*field = strcmp(text, "true") == 0;
	return 0;
}

static int check_text(const struct config_key *key, const char *text, struct brig_error *err)
{
	if (!*text || strlen(text) > TEXT_BYTES_MAX) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s: must have 1 to %d bytes",
				 key->name, TEXT_BYTES_MAX);
	}
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			return error_set(err, BRIG_E_INPUT, EINVAL,
					 "%s: must not have control characters", key->name);
		}
	}
	return 0;
}

static int set_text(char **field, const struct config_key *key, const char *text,
		    struct brig_error *err)
{
	int r = check_text(key, text, err);
	if (r < 0) {
		return r;
	}
	char *copy = strdup(text);
	if (!copy) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", key->name);
	}
	free(*field);
	*field = copy;
	return 0;
}

static int add_item(struct strlist *field, const struct config_key *key, const char *text,
		    struct brig_error *err)
{
	int r = check_text(key, text, err);
	if (r < 0) {
		return r;
	}
	if (field->count >= key->most) {
		return error_set(err, BRIG_E_INPUT, E2BIG, "%s: more than %u", key->name,
				 (unsigned)key->most);
	}
	r = strlist_add(field, text);
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "%s", key->name) : 0;
}

int config_set(struct serve_config *config, const struct config_key *key, const char *text,
	       struct brig_error *err)
{
	void *field = (char *)config + key->offset;

	switch (key->kind) {
	case CONFIG_NUMBER:
		return set_number(field, key, text, err);
	case CONFIG_MODE:
		return set_mode(field, key, text, err);
	case CONFIG_LEVEL:
		return set_level(field, key, text, err);
	case CONFIG_FLAG:
		return set_flag(field, key, text, err);
	case CONFIG_TEXT:
		return set_text(field, key, text, err);
	case CONFIG_LIST:
		return add_item(field, key, text, err);
	}
	return -EINVAL;
}

int config_set_word(struct serve_config *config, const char *word, struct brig_error *err)
{
	const char *equals = strchr(word, '=');
	_cleanup_free_ char *name = NULL;

	if (!equals) {
		error_set(err, BRIG_E_INPUT, EINVAL, "\"%.64s\" is not KEY=VALUE", word);
		error_remedy(err, "write for example: --set runs.max=8");
		return -EINVAL;
	}
	if (asprintf(&name, "%.*s", (int)(equals - word), word) < 0) {
		name = NULL;
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", word);
	}
	const struct config_key *key = config_key_find(name);
	if (!key || key->internal) {
		error_set(err, BRIG_E_INPUT, EINVAL, "unknown key \"%.64s\"", name);
		error_remedy(err, "brig-serve(1) has the list of keys");
		return -EINVAL;
	}
	return config_set(config, key, equals + 1, err);
}
