/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig token`: tokens for access to the service by TCP. A new one is shown once; its hash is
 * stored in the file. Also lists the tokens of the file, and removes them.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/strlist.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/token/token_file.h"

#define TOKEN_BYTES 32
#define DAY_S       86400

struct token_args {
	bool json, consent, is_operator;
	const char *tenant, *file, *rate, *concurrency, *cpu, *days;
	struct strlist policies;
};

struct made {
	char token[5 + 64];
	char hash[8 + 64 + 1];
};

static void make(struct made *made)
{
	unsigned char bytes[TOKEN_BYTES], hash[32];
	char hex[65];

	randombytes_buf(bytes, sizeof(bytes));
	memcpy(made->token, "brig_", 5);
	sodium_bin2base64(made->token + 5, sizeof(made->token) - 5, bytes, sizeof(bytes),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	crypto_generichash(hash, sizeof(hash), (const unsigned char *)made->token,
			   strlen(made->token), NULL, 0);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(made->hash, sizeof(made->hash), "blake2b:%s", hex);
	sodium_memzero(bytes, sizeof(bytes));
}

static int add_count(json_t *entry, const char *key, const char *option, const char *text,
		     struct brig_error *err)
{
	uint64_t value = 0;

	if (!text) {
		return 0;
	}
	if (unit_parse(UNIT_COUNT, text, &value) < 0 || value == 0 || value > INT64_MAX) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s: %s is not a number of 1 or more",
				 option, text);
	}
	json_object_set_new(entry, key, json_integer((json_int_t)value));
	return 0;
}

static int add_expiry(json_t *entry, const char *days, struct brig_error *err)
{
	uint64_t count = 0;
	char text[32];

	if (!days) {
		return 0;
	}
	if (unit_parse(UNIT_COUNT, days, &count) < 0 || count == 0 || count > 36500) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 "--days: %s is not a number from 1 to 36500", days);
	}
	time_t end = time(NULL) + (time_t)count * DAY_S;
	struct tm parts;
	gmtime_r(&end, &parts);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
	json_object_set_new(entry, "expires", json_string(text));
	return 0;
}

static int make_entry(const struct token_args *args, const char *name, const char *hash,
		      json_t *entry, struct brig_error *err)
{
	json_object_set_new(entry, "name", json_string(name));
	json_object_set_new(entry, "hash", json_string(hash));
	json_object_set_new(entry, "tenant", json_string(args->tenant ? args->tenant : name));
	if (args->policies.count > 0) {
		json_t *list = json_array();
		for (size_t i = 0; i < args->policies.count; i++) {
			if (!id_name_valid(args->policies.items[i])) {
				json_decref(list);
				return error_set(err, BRIG_E_INPUT, EINVAL,
						 "--policy: %s is not a valid policy name",
						 args->policies.items[i]);
			}
			json_array_append_new(list, json_string(args->policies.items[i]));
		}
		json_object_set_new(entry, "policies", list);
	}
	if (args->consent) {
		json_object_set_new(entry, "consent", json_true());
	}
	if (args->is_operator) {
		json_object_set_new(entry, "operator", json_true());
	}
	int r = add_count(entry, "rate_per_minute", "--rate", args->rate, err);
	r = r < 0 ? r : add_count(entry, "concurrency", "--concurrency", args->concurrency, err);
	r = r < 0 ? r : add_count(entry, "cpu_seconds_per_day", "--cpu-per-day", args->cpu, err);
	return r < 0 ? r : add_expiry(entry, args->days, err);
}

static int print(const struct token_args *args, const char *token, json_t *entry)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };
	_cleanup_free_ char *text = NULL;

	if (args->json) {
		json_t *both = json_pack("{s:s,s:O}", "token", token, "entry", entry);
		text = json_dumps(both, JSON_COMPACT);
		json_decref(both);
		return report_json(text);
	}
	buf_addf(&out, "%s\n", token);
	if (args->file) {
		report_line(
			"the token is shown only once; its hash is now in %s. A running service "
			"uses it after a reload (SIGHUP)",
			args->file);
	} else {
		text = json_dumps(entry, JSON_COMPACT);
		report_line("the token is shown only once; add this entry to the list \"tokens\" "
			    "of the service's file:");
		report_line("%s", text ? text : "");
	}
	return report_text(&out);
}

static int make_token(const struct token_args *args, const char *name, struct made *made,
		      json_t *entry, struct brig_error *err)
{
	if (!id_name_valid(name) || (args->tenant && !*args->tenant)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "'%s' is not a valid token name",
				  name);
		error_remedy(err, "use letters, digits, '.', '_' and '-': brig token new NAME");
		return r;
	}
	if (!entry || sodium_init() < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory, or no random bytes");
	}
	make(made);
	int r = make_entry(args, name, made->hash, entry, err);
	return r < 0 || !args->file ? r : token_file_add(args->file, entry, err);
}

static int token_new(const struct token_args *args, const char *name)
{
	struct brig_error error = { 0 };
	struct made made = { 0 };
	json_auto_t *entry = json_object();
	int r = make_token(args, name, &made, entry, &error);
	int status = r < 0 ? report_error(&error, args->json) : print(args, made.token, entry);

	sodium_memzero(&made, sizeof(made));
	return status;
}

/* --- existing tokens -------------------------------------------------------------------------- */

static void print_entry(json_t *entry, struct buf *out)
{
	const char *name = json_string_value(json_object_get(entry, "name"));
	const char *tenant = json_string_value(json_object_get(entry, "tenant"));
	const char *expires = json_string_value(json_object_get(entry, "expires"));
	bool is_operator = json_is_true(json_object_get(entry, "operator"));
	bool consent = json_is_true(json_object_get(entry, "consent"));

	name = name ? name : "-";
	buf_addf(out, "%-24s  %-24s  %-20s  %s\n", name, tenant ? tenant : name,
		 expires ? expires : "never",
		 is_operator && consent ? "operator consent"
		 : is_operator          ? "operator"
		 : consent              ? "consent"
					: "-");
}

static int token_list(const struct token_args *args, const char *name)
{
	struct brig_error error = { 0 };
	json_t *root = NULL;
	json_t *entry;
	size_t index;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	int status;

	(void)name;
	if (token_file_read(args->file, &root, &error) < 0) {
		return report_error(&error, args->json);
	}
	json_array_foreach(json_object_get(root, "tokens"), index, entry)
	{
		json_object_del(entry, "hash");
	}
	if (args->json) {
		_cleanup_free_ char *text = json_dumps(root, JSON_COMPACT);
		status = report_json(text);
	} else {
		buf_addf(&out, "%-24s  %-24s  %-20s  %s\n", "NAME", "TENANT", "EXPIRES", "MARK");
		json_array_foreach(json_object_get(root, "tokens"), index, entry)
		{
			print_entry(entry, &out);
		}
		status = report_text(&out);
	}
	json_decref(root);
	return status;
}

static int token_revoke(const struct token_args *args, const char *name)
{
	struct brig_error error = { 0 };
	int r = token_file_remove(args->file, name, &error);

	if (r < 0) {
		return report_error(&error, args->json);
	}
	if (args->json) {
		json_t *told = json_pack("{s:s}", "revoked", name);
		_cleanup_free_ char *text = json_dumps(told, JSON_COMPACT);
		json_decref(told);
		return report_json(text);
	}
	report_line("%s was removed from %s; a running service notices after a reload (SIGHUP)",
		    name, args->file);
	return STATUS_OK;
}

static const struct action {
	const char *word;
	bool file, name; /* are required */
	int (*work)(const struct token_args *args, const char *name);
} actions[] = {
	{ "new", false, true, token_new },
	{ "list", true, false, token_list },
	{ "revoke", true, true, token_revoke },
};

static int lacking(const struct token_args *args, const char *word, const char *what,
		   const char *remedy)
{
	struct brig_error error = { 0 };

	error_set(&error, BRIG_E_INPUT, EINVAL, "token%s%s: %s", *word ? " " : "", word, what);
	error_remedy(&error, "%s", remedy);
	return report_usage(&error, args->json);
}

static int act(void *into, const struct arguments *given)
{
	struct token_args *args = into;
	const char *word = given->operands_count ? given->operands[0] : "";
	const char *name = given->operands_count > 1 ? given->operands[1] : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].word, word) != 0) {
			continue;
		}
		if (actions[i].name && !name) {
			return lacking(args, word, "missing token name",
				       "letters, digits, '.', '_' and '-'");
		}
		if (actions[i].file && !args->file) {
			return lacking(args, word, "missing token file",
				       "give the file of brig serve --tokens with --file FILE");
		}
		return actions[i].work(args, name);
	}
	return lacking(args, word, *word ? "unknown subcommand" : "missing subcommand",
		       "brig token new NAME, brig token list, brig token revoke NAME");
}

static const struct option_info options[] = {
	OPTION_TEXT("--tenant", "NAME", NULL, offsetof(struct token_args, tenant),
		    "the tenant of its executions and sessions (its own name)"),
	OPTION_LIST("--policy", "NAME", &complete_policy, offsetof(struct token_args, policies),
		    "a policy that it may use; repeatable (all)"),
	OPTION_TEXT("--rate", "N", NULL, offsetof(struct token_args, rate),
		    "requests per minute (no limit)"),
	OPTION_TEXT("--concurrency", "N", NULL, offsetof(struct token_args, concurrency),
		    "runs at once (no limit)"),
	OPTION_TEXT("--cpu-per-day", "SECONDS", NULL, offsetof(struct token_args, cpu),
		    "CPU time per day (no limit)"),
	OPTION_TEXT("--days", "N", NULL, offsetof(struct token_args, days),
		    "expires after this many days (never)"),
	OPTION_FLAG("--consent", offsetof(struct token_args, consent),
		    "may give consent, for policies that require it"),
	OPTION_FLAG("--operator", offsetof(struct token_args, is_operator),
		    "may list and end the runs of all tenants; sees all metrics"),
	OPTION_TEXT("--file", "FILE", &complete_file, offsetof(struct token_args, file),
		    "the token file; created by new if it does not exist"),
	OPTION_FLAG("--json", offsetof(struct token_args, json), "print JSON"),
};

static const struct completion action_words = COMPLETE_COLUMN(actions, word);

const struct syntax token_syntax = {
	.command = "token",
	.usage = "token new NAME [OPTIONS]\ntoken list --file FILE [--json]\n"
		 "token revoke NAME --file FILE [--json]",
	.about = "Creates a token for clients of a service by TCP. The token itself is\n"
		 "printed once; its hash goes into the service's token file. Also lists\n"
		 "the tokens of a file, or removes one.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 2,
	.operands = &action_words,
};

int command_token(int argc, char **argv)
{
	struct token_args args = { 0 };
	int status = command_work(&token_syntax, argc, argv, &args, act);

	strlist_done(&args.policies);
	return status;
}
