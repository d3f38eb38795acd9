/* SPDX-License-Identifier: Apache-2.0 */
/* `brig audit`: verifies the audit chain, and prints its entries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/suggest.h"
#include "base/units.h"
#include "cli/audit/cli_audit.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "ledger/sqlite/sqlite_store.h"
#include "ledger/store/timestamp.h"

#define CHUNK       (64u << 10)
#define TAIL_SHOWN  20
#define FOLLOW_MS   500
#define DAY_MS      UINT64_C(86400000)
#define STATUS_NONE 1 /* no matching entry */

struct printer {
	const struct audit_args *args;
	struct buf out;
	bool whole; /* the whole entry */
	uint64_t shown;
	uint64_t last; /* sequence */
	int status;
};

static void flush(struct printer *printer)
{
	if (printer->out.size && printer->status == STATUS_OK) {
		printer->status = report_text(&printer->out);
	}
	buf_done(&printer->out);
	printer->out = (struct buf){ 0 };
}

static int each(void *user, const struct audit_row *row)
{
	struct printer *printer = user;

	if (printer->whole && !printer->args->json) {
		audit_print_long(row, &printer->out);
	} else {
		audit_print(row, printer->args->json, &printer->out);
	}
	printer->shown++;
	printer->last = row->entry.sequence;
	if (printer->out.size > CHUNK) {
		flush(printer);
	}
	return printer->status == STATUS_OK ? 0 : 1;
}

/* "1h": an age; "2026-01-31", "2026-01-31T12:00:00Z": a time. */
int audit_time_of(const char *option, const char *text, uint64_t *ret, struct brig_error *error)
{
	uint64_t ns;

	if (!text) {
		return 0;
	}
	size_t digits = strspn(text, "0123456789");
	if (digits > 0 && digits < 6 && strcmp(text + digits, "d") == 0) {
		uint64_t ago = strtoull(text, NULL, 10) * DAY_MS, now = timestamp_now_ms();
		*ret = ago < now ? now - ago : 0;
		return 0;
	}
	if (unit_parse(UNIT_TIME, text, &ns) == 0) {
		uint64_t ago = ns / 1000000, now = timestamp_now_ms();
		*ret = ago < now ? now - ago : 0;
		return 0;
	}
	if (timestamp_parse(text, ret) == 0) {
		return 0;
	}
	error_set(error, BRIG_E_INPUT, EINVAL, "%s: '%s' is not a valid time", option, text);
	error_remedy(error, "give an age such as 90m or 30d, or a date such as 2026-01-31 or "
			    "2026-01-31T12:00:00Z");
	return -EINVAL;
}

static int limit_of(const char *text, uint64_t *ret, struct brig_error *error)
{
	if (!text || (unit_parse(UNIT_COUNT, text, ret) == 0 && *ret > 0)) {
		return 0;
	}
	return error_set(error, BRIG_E_INPUT, EINVAL, "--limit: '%s' is not a valid number", text);
}

static int query_of(const struct audit_args *args, struct audit_query *query,
		    struct brig_error *error)
{
	query->kind = args->kind;
	query->tenant = args->tenant;
	int r = audit_time_of("--since", args->since, &query->since_ms, error);
	return r < 0 ? r : limit_of(args->limit, &query->limit, error);
}

static int open_file(const struct audit_args *args, struct audit_file *file,
		     struct brig_error *error)
{
	_cleanup_free_ char *path = NULL;
	int r = audit_path(args, &path, error);

	return r < 0 ? r : audit_file_open(path, file, error);
}

static int print_some(struct audit_file *file, const struct audit_query *query,
		      struct printer *printer, struct brig_error *error)
{
	int r = audit_file_query(file, query, each, printer, error);

	flush(printer);
	return r;
}

static int print_all(const struct audit_args *args, struct audit_query *query, bool whole,
		     bool follow)
{
	_cleanup_(audit_file_done)
	struct audit_file file = { 0 };
	struct brig_error error = { 0 };
	struct printer printer = { .args = args, .whole = whole };
	const struct timespec pause = { .tv_nsec = FOLLOW_MS * 1000000L };

	int r = open_file(args, &file, &error);
	r = r < 0 ? r : print_some(&file, query, &printer, &error);
	while (follow && r == 0 && printer.status == STATUS_OK) {
		nanosleep(&pause, NULL);
		query->after = printer.last;
		query->last = false;
		query->limit = 0;
		r = audit_file_again(&file, &error);
		r = r < 0 ? r : print_some(&file, query, &printer, &error);
	}
	if (r < 0) {
		return report_error(&error, args->json);
	}
	return printer.status == STATUS_OK && whole && !printer.shown ? STATUS_NONE
								      : printer.status;
}

static int list(const struct audit_args *args)
{
	struct audit_query query = { 0 };
	struct brig_error error = { 0 };

	return query_of(args, &query, &error) < 0 ? report_usage(&error, args->json)
						  : print_all(args, &query, false, false);
}

static int tail(const struct audit_args *args)
{
	struct audit_query query = { .last = true };
	struct brig_error error = { 0 };

	if (query_of(args, &query, &error) < 0) {
		return report_usage(&error, args->json);
	}
	query.limit = query.limit ? query.limit : TAIL_SHOWN;
	return print_all(args, &query, false, args->follow);
}

static int show(const struct audit_args *args)
{
	struct audit_query query = { 0 };
	struct brig_error error = { 0 };
	const char *what = args->operand;

	if (what && id_valid(what)) {
		query.execution = what;
	} else if (!what || unit_parse(UNIT_COUNT, what, &query.sequence) < 0 || !query.sequence) {
		error_set(&error, BRIG_E_INPUT, EINVAL, "audit show: %s%s%s", what ? "'" : "",
			  what ? what : "missing entry", what ? "' is not an entry" : "");
		error_remedy(&error, "give the number of an entry, or the id of an execution");
		return report_usage(&error, args->json);
	}
	int status = print_all(args, &query, true, false);
	if (status == STATUS_NONE) {
		error_set(&error, BRIG_E_INPUT, ENOENT, "entry %s not found in the chain", what);
		report_error(&error, args->json);
	}
	return status;
}

static const struct action {
	const char *name;
	int (*act)(const struct audit_args *args);
	bool operand;
} actions[] = {
	{ "verify", audit_command_verify, false },
	{ "list", list, false },
	{ "show", show, true },
	{ "tail", tail, false },
	{ "archive", audit_command_archive, true },
};

static int act(void *into, const struct arguments *given)
{
	struct audit_args *args = into;
	struct suggestion best = { 0 };
	struct brig_error error = { 0 };
	const char *name = given->operands_count > 0 ? given->operands[0] : "verify";

	args->operand = given->operands_count > 1 ? given->operands[1] : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		suggest(&best, name, actions[i].name);
		if (strcmp(actions[i].name, name) != 0) {
			continue;
		}
		if (args->operand && !actions[i].operand) {
			error_set(&error, BRIG_E_INPUT, EINVAL,
				  "audit %s: unexpected argument '%s'", name, args->operand);
			error_remedy(&error, "give a file with --file FILE, a state directory with "
					     "--state DIR");
			return report_usage(&error, args->json);
		}
		return actions[i].act(args);
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "audit: unknown action '%s'", name);
	error_remedy(&error, "%s%s%sactions are verify, list, show ENTRY, tail and archive FILE",
		     best.word ? "did you mean " : "", best.word ? best.word : "",
		     best.word ? "? " : "");
	return report_usage(&error, args->json);
}

#define AT(field) offsetof(struct audit_args, field)

static const struct option_info options[] = {
	OPTION_TEXT("--state", "DIR", &complete_directory, AT(state),
		    "the state directory of brig serve"),
	OPTION_TEXT("--file", "FILE", &complete_file, AT(file),
		    "a copy of ledger.db, an archive, or a file of --audit"),
	OPTION_LIST("--archive", "FILE", &complete_file, AT(archive),
		    "verify: an archive, verified together with the ledger"),
	OPTION_TEXT("--before", "TIME", NULL, AT(before),
		    "archive: entries older than 90d or 2026-01-31 (all)"),
	OPTION_FLAG("--keep", AT(keep), "archive: keep the entries in the ledger as well"),
	OPTION_TEXT("--key", "PUB", &complete_file, AT(key),
		    "verify: the public key, a file or 64 hex digits"),
	OPTION_LIST("--expect", "LINE", NULL, AT(expect),
		    "verify: an earlier checkpoint, or a file of them"),
	OPTION_TEXT("--since", "TIME", NULL, AT(since),
		    "list, tail: an age such as 90m, or 2026-01-31T12:00:00Z"),
	OPTION_TEXT("--kind", "KIND", NULL, AT(kind),
		    "list, tail: such as execution or session.open"),
	OPTION_TEXT("--tenant", "NAME", NULL, AT(tenant), "list, tail: of this tenant"),
	OPTION_TEXT("--limit", "COUNT", NULL, AT(limit),
		    "list, tail: at most this many (tail: 20)"),
	OPTION_FLAG("--follow", AT(follow), "tail: wait for new entries"),
	OPTION_FLAG("--json", AT(json), "print JSON, one entry per line"),
};

static const struct completion action_words = COMPLETE_COLUMN(actions, name);

const struct syntax audit_syntax = {
	.command = "audit",
	.usage = "audit [verify] [OPTIONS]\naudit list [OPTIONS]\n"
		 "audit show SEQUENCE|EXECUTION [OPTIONS]\naudit tail [OPTIONS]\n"
		 "audit archive FILE [OPTIONS]",
	.about = "Verifies the audit chain that brig serve writes: 0 when it is intact,\n"
		 "1 when not; or shows its entries. Works while the service runs, and on\n"
		 "a copy.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 2,
	.operands = &action_words,
};

int command_audit(int argc, char **argv)
{
	struct audit_args args = { 0 };
	int status = command_work(&audit_syntax, argc, argv, &args, act);

	strlist_done(&args.expect);
	strlist_done(&args.archive);
	return status;
}
