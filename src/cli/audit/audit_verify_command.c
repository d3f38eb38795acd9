/* SPDX-License-Identifier: Apache-2.0 */
/* `brig audit verify`: reads what the chain is verified against, and prints the result. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium/core.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "cli/audit/cli_audit.h"
#include "cli/cli_report.h"
#include "cli/exit_status.h"
#include "ledger/audit/audit_text.h"
#include "ledger/chain_key.h"
#include "ledger/sqlite/sqlite_store.h"
#include "ledger/store/timestamp.h"

#define STATUS_BROKEN 1
#define MARK          "brig-audit-1 " /* begins a checkpoint */
#define EVENT         "event=checkpoint"

/* --- locations ------------------------------------------------------------------------------ */

static char *joined(const char *a, const char *b)
{
	struct buf path = { 0 };

	buf_addf(&path, "%s/%s", a, b);
	return buf_take(&path);
}

static char *default_state(void)
{
	const char *base = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");

	if (geteuid() == 0) {
		return strdup("/var/lib/brig");
	}
	if (base && base[0] == '/') {
		return joined(base, "brig");
	}
	return home && home[0] == '/' ? joined(home, ".local/state/brig") : strdup(".");
}

int audit_path(const struct audit_args *args, char **ret, struct brig_error *error)
{
	static const char *const places[] = { "ledger/" STORE_NAME, STORE_NAME };

	if (args->file && access(args->file, F_OK) < 0) {
		return error_errno(error, BRIG_E_INPUT, errno, "cannot open %s", args->file);
	}
	if (args->file) {
		*ret = strdup(args->file);
		if (!*ret) {
			error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
			return -ENOMEM;
		}
		return 0;
	}
	_cleanup_free_ char *state = args->state ? strdup(args->state) : default_state();
	for (size_t i = 0; state && i < ARRAY_SIZE(places); i++) {
		_cleanup_free_ char *path = joined(state, places[i]);
		if (path && access(path, F_OK) == 0) {
			*ret = TAKE_PTR(path);
			return 0;
		}
	}
	int errnum = errno ? errno : ENOENT;
	error_errno(error, BRIG_E_INPUT, errnum, "no ledger found in %s", state ? state : "?");
	error_remedy(error, "%s",
		     errnum == EACCES ? "run it as the user of the service, or on a copy: --file"
				      : "give the state directory of brig serve: --state DIR");
	return -errnum;
}

/* --- what it is verified against ------------------------------------------------------------ */

static int read_key(const struct audit_args *args, int dir, struct audit_claims *claims,
		    struct brig_error *error)
{
	char text[2 * CHAIN_KEY_SIZE + 2];
	long size;

	if (args->key && chain_public_parse(args->key, strlen(args->key), claims->public)) {
		return 0;
	}
	size = args->key ? chain_file_read(AT_FDCWD, args->key, text, sizeof(text))
			 : chain_file_read(dir, CHAIN_PUBLIC_NAME, text, sizeof(text));
	if (size == -ENOENT && !args->key && args->file && audit_text_is(args->file)) {
		claims->keyless = true; /* the record of brig run --audit */
		return 0;
	}
	if (size < 0) {
		error_errno(error, BRIG_E_INPUT, (int)-size, "cannot read the public key %s",
			    args->key ? args->key : CHAIN_PUBLIC_NAME);
		error_remedy(error, "give it with --key FILE, or its 64 hex digits");
		return (int)size;
	}
	if (!chain_public_parse(text, (size_t)size, claims->public)) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "%s is not a public key of brig",
				 args->key ? args->key : CHAIN_PUBLIC_NAME);
	}
	return 0;
}

static int add_known(struct audit_claims *claims, const char *where, const char *line, size_t size,
		     struct brig_error *error)
{
	struct chain_checkpoint checkpoint;

	if (!chain_line_parse(line, size, &checkpoint)) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "%s: not a checkpoint: %.*s", where,
				 (int)(size < 40 ? size : 40), line);
	}
	return audit_claims_add(claims, where, &checkpoint) == 0
		       ? 0
		       : error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
}

/* The checkpoint in a line of a log. Other lines contain untrusted text, and may look like one. */
static int add_line(struct audit_claims *claims, const char *where, char *line,
		    struct brig_error *error)
{
	const char *event = strstr(line, "event="), *mark = strstr(line, MARK);

	if (!mark || (event && event < mark && strncmp(event, EVENT, strlen(EVENT)) != 0)) {
		return 0;
	}
	return add_known(claims, where, mark, strcspn(mark, "\n\"\\"), error);
}

/* The whole file, however long it is. An incomplete last line is still being written. */
static int add_log(struct audit_claims *claims, const char *path, struct brig_error *error)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	size_t room = 0;
	ssize_t size = 0;

	if (!file) {
		return error_errno(error, BRIG_E_INPUT, errno, "cannot read %s", path);
	}
	errno = 0;
	while ((size = getline(&line, &room, file)) > 0) {
		int r = line[size - 1] == '\n' || claims->known_count == 0
				? add_line(claims, path, line, error)
				: 0;
		if (r < 0) {
			return r;
		}
	}
	return ferror(file) ? error_errno(error, BRIG_E_INPUT, errno, "cannot read %s", path) : 0;
}

/* A checkpoint itself, or a file of lines. Of a log only the checkpoints are used. */
static int add_expected(struct audit_claims *claims, const char *text, struct brig_error *error)
{
	size_t before = claims->known_count;

	if (strncmp(text, MARK, strlen(MARK)) == 0) {
		return add_known(claims, "--expect", text, strlen(text), error);
	}
	int r = add_log(claims, text, error);
	return r == 0 && claims->known_count == before
		       ? error_set(error, BRIG_E_INPUT, EINVAL, "%s has no checkpoint", text)
		       : r;
}

int audit_claims_read(const struct audit_args *args, const char *path, struct audit_claims *ret,
		      struct brig_error *error)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	/* The slash of the root stays. */
	size_t length = !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);

	if (length >= sizeof(parent)) {
		return error_errno(error, BRIG_E_INPUT, ENAMETOOLONG, "%.80s...", path);
	}
	memcpy(parent, path, length);
	parent[length] = '\0';
	_cleanup_close_ int dir = open(length ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*ret = (struct audit_claims){ 0 };
	int r = read_key(args, dir, ret, error);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < args->expect.count; i++) {
		r = add_expected(ret, args->expect.items[i], error);
		if (r < 0) {
			return r;
		}
	}
	struct chain_checkpoint head;
	r = dir < 0 ? 0 : chain_head_read(dir, &head, error);
	if (r == 1 && audit_claims_add(ret, CHAIN_HEAD_NAME, &head) < 0) {
		r = error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	return r < 0 ? r : 0;
}

/* --- the result ----------------------------------------------------------------------------- */

struct findings {
	struct buf text;
	struct buf buf;
	struct json_out json;
};

static void found(void *user, uint64_t sequence, const char *what)
{
	struct findings *findings = user;

	if (sequence) {
		buf_addf(&findings->text, "entry %" PRIu64 ": ", sequence);
	}
	buf_addf(&findings->text, "%s\n", what);
	json_open(&findings->json, NULL, '{');
	if (sequence) {
		json_u64(&findings->json, "sequence", sequence);
	} else {
		json_nil(&findings->json, "sequence");
	}
	json_text(&findings->json, "what", what);
	json_close(&findings->json, '}');
}

/* key: NULL where nothing is signed. */
static int print_json(const struct audit_report *report, const struct findings *findings,
		      const char *key)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct json_out json = { .buf = &out };
	char head[CHAIN_HEX_SIZE];

	chain_hex(report->head.hash, CHAIN_HASH_SIZE, head);
	json_open(&json, NULL, '{');
	json_bool(&json, "valid", report->findings == 0);
	json_u64(&json, "entries", report->entries);
	json_text(&json, "head", head);
	json_u64(&json, "checkpoints", report->checkpoints);
	json_u64(&json, "signed_entries", report->signed_entries);
	json_u64(&json, "archived_entries", report->archived);
	json_u64(&json, "in_log", report->in_log);
	if (key) {
		json_text(&json, "public_key", key);
	} else {
		json_nil(&json, "public_key");
	}
	json_u64(&json, "findings_count", report->findings);
	json_open(&json, "findings", '[');
	json_raw(&json, NULL, findings->buf.data ? findings->buf.data : "");
	json_close(&json, ']');
	json_close(&json, '}');
	return report_json(out.failed ? NULL : out.data);
}

static int print_text(const struct audit_report *report, const struct findings *findings,
		      const char *key)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };
	char first[TIMESTAMP_SIZE], last[TIMESTAMP_SIZE], head[CHAIN_HEX_SIZE];
	uint64_t covered = report->signed_entries;

	chain_hex(report->head.hash, CHAIN_HASH_SIZE, head);
	buf_add(&out, findings->text.data ? findings->text.data : "", findings->text.size);
	buf_addf(&out, "%s: %" PRIu64 " entries", report->findings ? "BROKEN" : "ok",
		 report->entries);
	if (report->entries) {
		buf_addf(&out, " from %s to %s", timestamp_format(report->first_ms, first),
			 timestamp_format(report->last_ms, last));
	}
	if (key) {
		buf_addf(&out,
			 "\n  checkpoints: %" PRIu64 ", signed up to entry %" PRIu64 "; %" PRIu64
			 "after it are linked, but not signed yet\n  head %s\n  key  %s\n",
			 report->checkpoints, covered,
			 report->head.sequence > covered ? report->head.sequence - covered : 0,
			 head, key);
	} else {
		buf_addf(&out,
			 "\n  each is linked to the one before; there is no key, so none is "
			 "signed\n  head %s\n",
			 head);
	}
	if (report->archived) {
		buf_addf(&out,
			 "  entries 1 to %" PRIu64
			 " are not in it: they were archived, or dropped; "
			 "--archive FILE verifies them too\n",
			 report->archived);
	}
	if (report->in_log) {
		buf_addf(&out,
			 "  %" PRIu64 " calls in the ledger's log have no entries yet: the service "
			 "makes them when it starts\n",
			 report->in_log);
	}
	if (report->findings) {
		buf_addf(&out, "  %" PRIu64 " findings\n", report->findings);
	}
	return report_text(&out);
}

/* In the order of their first entries, whatever the order on the command line. */
static int by_beginning(const void *a, const void *b)
{
	struct chain_checkpoint left = { 0 }, right = { 0 };

	(void)audit_file_anchor(a, &left);
	(void)audit_file_anchor(b, &right);
	return left.sequence < right.sequence ? -1 : left.sequence > right.sequence;
}

struct chain_files {
	struct audit_file *list; /* owned */
	size_t count;            /* that are open */
};

static void chain_files_done(struct chain_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		audit_file_done(&files->list[i]);
	}
	free(files->list);
}

/* The archives, the oldest first, and the ledger. */
static int open_files(const struct audit_args *args, const char *path, struct chain_files *files,
		      struct brig_error *error)
{
	for (size_t i = 0; i < args->archive.count; i++) {
		int r = audit_file_open(args->archive.items[i], &files->list[files->count], error);
		if (r < 0) {
			return r;
		}
		files->count++;
	}
	if (files->count) {
		qsort(files->list, files->count, sizeof(*files->list), by_beginning);
	}
	int r = audit_file_open(path, &files->list[files->count], error);
	files->count += r == 0;
	return r;
}

static int verify(const struct audit_args *args, const char *path, struct audit_report *report,
		  struct audit_claims *claims, struct findings *findings, struct brig_error *error)
{
	_cleanup_(chain_files_done)
	struct chain_files files = {
		.list = calloc(args->archive.count + 1, sizeof(*files.list)),
	};

	if (!files.list) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	/* The head first: the ledger may be writing, and then the database is newer. */
	int r = audit_claims_read(args, path, claims, error);
	if (r < 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return r;
	}
	r = open_files(args, path, &files, error);
	if (r < 0) {
		return r;
	}
	r = audit_verify(files.list, files.count, claims, found, findings, report, error);
	if (r < 0 || !claims->keyless || !report->checkpoints) {
		return r;
	}
	/* An archive: it is signed, and cannot be verified without the key. */
	r = error_set(error, BRIG_E_INPUT, ENOENT,
		      "cannot verify the signatures of %s: no public key", args->file);
	error_remedy(error, "give it with --key FILE (audit.pub in the ledger's directory), or "
			    "its 64 hex digits");
	return r;
}

int audit_command_verify(const struct audit_args *args)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_(audit_claims_done)
	struct audit_claims claims = { 0 };
	struct audit_report report = { 0 };
	struct findings findings = { 0 };
	struct brig_error error = { 0 };
	char key[2 * CHAIN_KEY_SIZE + 1];
	int status;

	findings.json.buf = &findings.buf;
	int r = -ENOMEM;
	if (sodium_init() >= 0) {
		r = audit_path(args, &path, &error);
	} else {
		error_set(&error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	if (r == 0 && path) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		r = verify(args, path, &report, &claims, &findings, &error);
	}
	if (r < 0) {
		/* A damaged database is a finding as well. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		status = report_error(&error, args->json);
		status = r == -EBADMSG ? STATUS_BROKEN : status;
	} else {
		chain_hex(claims.public, CHAIN_KEY_SIZE, key);
		const char *shown = claims.keyless ? NULL : key;
		status = args->json ? print_json(&report, &findings, shown)
				    : print_text(&report, &findings, shown);
		status = status == STATUS_OK && report.findings ? STATUS_BROKEN : status;
	}
	buf_done(&findings.text);
	buf_done(&findings.buf);
	return status;
}
