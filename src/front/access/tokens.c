/* SPDX-License-Identifier: Apache-2.0 */
/* The list of tokens. */
#include "front/access/tokens.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json/json_in.h"
#include "base/limits.h"
#include "front/request/execution_request.h"

#define HASH_PREFIX "blake2b:"

static int take_hash(void *into, const struct field *field, json_t *value, const char *where,
		     struct problem *problem)
{
	struct token *token = into;
	const char *text = json_string_value(value);
	size_t prefix = strlen(HASH_PREFIX);
	size_t size = 0;

	(void)field;
	if (!text || strncmp(text, HASH_PREFIX, prefix) != 0 || strlen(text) != prefix + 64 ||
	    sodium_hex2bin(token->hash, sizeof(token->hash), text + prefix, 64, NULL, &size,
			   NULL) != 0 ||
	    size != sizeof(token->hash)) {
		problem_set(problem, PROBLEM_INVALID_REQUEST,
			    "%s: wanted " HASH_PREFIX " and 64 hex digits", where);
		problem_remedy(problem, "brig token new NAME makes one");
		return -EINVAL;
	}
	return 0;
}

/* A name, or for a tenant also a local user's, such as uid:1000: `min` is 1. */
static bool name_ok(const char *text, bool tenant)
{
	return id_name_valid(tenant && strncmp(text, "uid:", 4) == 0 ? text + 4 : text);
}

static int take_label(void *into, const struct field *field, json_t *value, const char *where,
		      struct problem *problem)
{
	const char *text = json_string_value(value);

	if (!text || strlen(text) > TOKEN_NAME_MAX || !name_ok(text, field->min)) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: not a name", where);
	}
	memcpy((char *)into + field->offset, text, strlen(text) + 1);
	return 0;
}

static int take_policies(void *into, const struct field *field, json_t *value, const char *where,
			 struct problem *problem)
{
	struct token *token = into;
	json_t *item;
	size_t index;

	(void)field;
	if (!json_is_array(value) || json_array_size(value) == 0) {
		return field_wrong(problem, where, "an array of policies' names", value);
	}
	json_array_foreach(value, index, item)
	{
		if (!json_is_string(item) || !id_name_valid(json_string_value(item))) {
			return problem_set(problem, PROBLEM_INVALID_REQUEST,
					   "%s: item %zu is not a policy's name", where, index);
		}
		if (strlist_add(&token->policies, json_string_value(item)) < 0) {
			return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory");
		}
	}
	return 0;
}

static int take_limits(void *into, const struct field *field, json_t *value, const char *where,
		       struct problem *problem)
{
	(void)field;
	return execution_request_ceilings(value, where, &((struct token *)into)->ceilings, problem);
}

/*
 * Seconds since the epoch, by arithmetic alone: the C library's functions would read the host's
 * time zone, and this process cannot open files.
 */
static time_t seconds_of(int year, int month, int day, int seconds)
{
	/* Years begin in March, so that the leap day is the last day. */
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t m = (month + 9) % 12;
	int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (m * 306 + 5) / 10 + day - 1;

	return (time_t)((days - 719468) * 86400 + seconds);
}

/* The next number of exactly so many digits, followed by `behind`; -1: not found. */
static int take_digits(const char **text, int digits, char behind)
{
	int value = 0;

	for (int i = 0; i < digits; i++, (*text)++) {
		if (**text < '0' || **text > '9') {
			return -1;
		}
		value = 10 * value + (**text - '0');
	}
	return *(*text)++ == behind ? value : -1;
}

static int take_time(void *into, const struct field *field, json_t *value, const char *where,
		     struct problem *problem)
{
	static const struct {
		int digits, min, max;
		char behind;
	} parts[] = { { 4, 1970, 9999, '-' }, { 2, 1, 12, '-' }, { 2, 1, 31, 'T' },
		      { 2, 0, 23, ':' },      { 2, 0, 59, ':' }, { 2, 0, 60, 'Z' } };
	struct token *token = into;
	const char *text = json_string_value(value);
	int found[ARRAY_SIZE(parts)] = { 0 };
	bool good = text && strlen(text) == 20;

	(void)field;
	for (size_t i = 0; good && i < ARRAY_SIZE(parts); i++) {
		found[i] = take_digits(&text, parts[i].digits, parts[i].behind);
		good = found[i] >= parts[i].min && found[i] <= parts[i].max;
	}
	if (!good) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "%s: wanted a time such as 2027-01-01T00:00:00Z", where);
	}
	token->expires = seconds_of(found[0], found[1], found[2],
				    found[3] * 3600 + found[4] * 60 + found[5]);
	return 0;
}

#define AT(name) offsetof(struct token, name)

static const struct field token_fields[] = {
	{ "name", take_label, AT(name), 0, 0 },
	{ "hash", take_hash, 0, 0, 0 },
	{ "tenant", take_label, AT(tenant), 1, 0 },
	{ "policies", take_policies, 0, 0, 0 },
	{ "limits", take_limits, 0, 0, 0 },
	{ "rate_per_minute", field_count, AT(rate_per_minute), 1, 1000000 },
	{ "concurrency", field_count, AT(concurrency), 1, 100000 },
	{ "cpu_seconds_per_day", field_count, AT(cpu_seconds_per_day), 1, 1000000000 },
	{ "expires", take_time, 0, 0, 0 },
	{ "consent", field_flag, AT(consent), 0, 0 },
	{ "operator", field_flag, AT(is_operator), 0, 0 },
};

/* A token under two names would stay valid when one of them is revoked. */
static int check_single(const struct tokens *tokens, const struct token *token, const char *where,
			struct problem *problem)
{
	for (const struct token *it = tokens->items; it < token; it++) {
		if (strcmp(it->name, token->name) == 0) {
			return problem_set(problem, PROBLEM_INVALID_REQUEST,
					   "%s: the name %s is there twice", where, token->name);
		}
		if (memcmp(it->hash, token->hash, sizeof(token->hash)) == 0) {
			return problem_set(problem, PROBLEM_INVALID_REQUEST,
					   "%s: %s has the same hash as %s", where, token->name,
					   it->name);
		}
	}
	return 0;
}

static int read_token(struct tokens *tokens, json_t *value, const char *where,
		      struct problem *problem)
{
	static const unsigned char none[32];
	struct token *token = &tokens->items[tokens->count];

	/* Counted first, so that it is freed in any case. */
	tokens->count++;
	int r = fields_read(value, where, token_fields, ARRAY_SIZE(token_fields), token, problem);
	if (r < 0) {
		return r;
	}
	if (!token->name[0] || memcmp(token->hash, none, sizeof(none)) == 0) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: name and hash are needed",
				   where);
	}
	if (!token->tenant[0]) {
		memcpy(token->tenant, token->name, sizeof(token->tenant));
	}
	return check_single(tokens, token, where, problem);
}

static int read_all(struct tokens *tokens, json_t *root, struct problem *problem)
{
	struct holder {
		json_t *list;
	} holder = { NULL };
	static const struct field fields[] = {
		{ "tokens", field_array, offsetof(struct holder, list), 0, TOKENS_MAX },
	};
	int r = fields_read(root, "", fields, ARRAY_SIZE(fields), &holder, problem);
	size_t count = json_array_size(holder.list);
	char where[32];

	if (r < 0 || count == 0) {
		return r;
	}
	tokens->items = calloc(count, sizeof(*tokens->items));
	if (!tokens->items) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory");
	}
	for (size_t i = 0; i < count; i++) {
		snprintf(where, sizeof(where), "tokens[%zu]", i);
		r = read_token(tokens, json_array_get(holder.list, i), where, problem);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int tokens_parse(const char *text, size_t size, struct tokens *ret, struct brig_error *error)
{
	struct json_doc doc = { 0 };
	struct tokens tokens = { 0 };
	struct problem problem = { 0 };
	int r = json_doc_load(&doc, "tokens", text, size, error);

	if (r < 0) {
		return r;
	}
	r = read_all(&tokens, doc.root, &problem);
	json_doc_done(&doc);
	if (r < 0) {
		tokens_done(&tokens);
		error_set(error, BRIG_E_INPUT, EINVAL, "tokens: %s", problem.detail);
		if (problem.remedy[0]) {
			error_remedy(error, "%s", problem.remedy);
		}
		return -EINVAL;
	}
	*ret = tokens;
	return 0;
}

void tokens_done(struct tokens *tokens)
{
	for (size_t i = 0; i < tokens->count; i++) {
		strlist_done(&tokens->items[i].policies);
	}
	free(tokens->items);
	*tokens = (struct tokens){ 0 };
}

bool token_expired(const struct token *token, time_t now)
{
	return token->expires != 0 && now >= token->expires;
}

const struct token *tokens_find(const struct tokens *tokens, const char *presented, time_t now)
{
	unsigned char hash[32];
	const struct token *found = NULL;

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)presented, strlen(presented),
			   NULL, 0);
	for (size_t i = 0; i < tokens->count; i++) {
		const struct token *token = &tokens->items[i];
		bool same = sodium_memcmp(hash, token->hash, sizeof(hash)) == 0;

		found = same ? token : found;
	}
	return found && !token_expired(found, now) ? found : NULL;
}

const struct token *tokens_named(const struct tokens *tokens, const char *name)
{
	for (size_t i = 0; i < tokens->count; i++) {
		if (strcmp(tokens->items[i].name, name) == 0) {
			return &tokens->items[i];
		}
	}
	return NULL;
}

int token_allows(const struct token *token, const char *policy, struct problem *problem)
{
	const char *name = policy ? policy : "default";

	if (!token || token->policies.count == 0 || strlist_has(&token->policies, name)) {
		return 0;
	}
	struct buf names = { 0 };
	for (size_t i = 0; i < token->policies.count; i++) {
		buf_addf(&names, "%s%s", i ? ", " : "", token->policies.items[i]);
	}
	problem_set(problem, PROBLEM_POLICY_NOT_ALLOWED, "policy: %s is not for this token", name);
	problem_remedy(problem, "it may use: %s", names.data ? names.data : "");
	buf_done(&names);
	return -EACCES;
}

int token_bound(const struct token *token, const struct brig_limits *limits,
		struct problem *problem)
{
	for (size_t i = 0; token && i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t ceiling = limit_value(&token->ceilings, info);

		if (ceiling && limit_value(limits, info) > ceiling) {
			problem_set(problem, PROBLEM_INVALID_REQUEST,
				    "limits.%s: at most %llu with this token", info->name,
				    (unsigned long long)(ceiling / limit_scale(info)));
			return -ERANGE;
		}
	}
	return 0;
}
