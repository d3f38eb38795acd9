/* SPDX-License-Identifier: Apache-2.0 */
/* `brig audit verify`: what the chain is held against, and what came of it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium/core.h>

#include "base/cleanup.h"
#include "base/json_out.h"
#include "cli/cli_audit.h"
#include "cli/exit_status.h"
#include "cli/report.h"
#include "ledger/chain_key.h"
#include "ledger/store.h"
#include "ledger/timestamp.h"

#define STATUS_BROKEN    1
#define EXPECT_BYTES_MAX (64u << 10)

/* --- where things are ----------------------------------------------------------------------- */

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

int audit_path(const struct audit_line *line, char **ret, struct brig_error *error)
{
	static const char *const places[] = { "ledger/" STORE_NAME, STORE_NAME };

	if (line->file) {
		*ret = strdup(line->file);
		if (!*ret) {
			error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
			return -ENOMEM;
		}
		return 0;
	}
	_cleanup_free_ char *state = line->state ? strdup(line->state) : default_state();
	for (size_t i = 0; state && i < ARRAY_SIZE(places); i++) {
		_cleanup_free_ char *path = joined(state, places[i]);
		if (path && access(path, F_OK) == 0) {
			*ret = TAKE_PTR(path);
			return 0;
		}
	}
	int errnum = errno ? errno : ENOENT;
	error_errno(error, BRIG_E_INPUT, errnum, "there is no ledger in %s", state ? state : "?");
	error_remedy(error, "%s",
		     errnum == EACCES ? "run it as the user of the service, or on a copy: --file"
				      : "name the state directory of brig serve: --state DIR");
	return -errnum;
}

/* --- what it is held against ---------------------------------------------------------------- */

static int read_key(const struct audit_line *line, int dir, struct audit_claims *claims,
		    struct brig_error *error)
{
	char text[2 * CHAIN_KEY_SIZE + 2];
	long size;

	if (line->key && chain_public_parse(line->key, strlen(line->key), claims->public)) {
		return 0;
	}
	size = line->key ? chain_file_read(AT_FDCWD, line->key, text, sizeof(text))
			 : chain_file_read(dir, CHAIN_PUBLIC_NAME, text, sizeof(text));
	if (size < 0) {
		error_errno(error, BRIG_E_INPUT, (int)-size, "cannot read the public key %s",
			    line->key ? line->key : CHAIN_PUBLIC_NAME);
		error_remedy(error, "name it: --key FILE, or its 64 hex digits");
		return (int)size;
	}
	if (!chain_public_parse(text, (size_t)size, claims->public)) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "%s is no public key of brig's",
				 line->key ? line->key : CHAIN_PUBLIC_NAME);
	}
	return 0;
}

static int add_known(struct audit_claims *claims, const char *where, const char *line, size_t size,
		     struct brig_error *error)
{
	struct audit_known *known = &claims->known[claims->known_count];

	if (claims->known_count == AUDIT_KNOWN_MAX) {
		return error_set(error, BRIG_E_INPUT, E2BIG, "%s: more than %d checkpoints", where,
				 AUDIT_KNOWN_MAX);
	}
	if (!chain_line_parse(line, size, &known->checkpoint)) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "%s: this is no checkpoint: %.40s",
				 where, line);
	}
	known->where = where;
	claims->known_count++;
	return 0;
}

/* A line itself, or a file of lines. Of a log only the checkpoints are taken. */
static int add_expected(struct audit_claims *claims, const char *text, struct brig_error *error)
{
	static const char mark[] = "brig-audit-1 ";

	if (strncmp(text, mark, strlen(mark)) == 0) {
		return add_known(claims, "--expect", text, strlen(text), error);
	}
	_cleanup_free_ char *data = calloc(1, EXPECT_BYTES_MAX + 1);
	long size = data ? chain_file_read(AT_FDCWD, text, data, EXPECT_BYTES_MAX) : -ENOMEM;
	if (size < 0) {
		return error_errno(error, BRIG_E_INPUT, (int)-size, "cannot read %s", text);
	}
	int r = 0;
	for (char *at = data; r == 0 && (at = strstr(at, mark));) {
		size_t length = strcspn(at, "\n\"");
		r = add_known(claims, text, at, length, error);
		at += length;
	}
	return r == 0 && !claims->known_count
		       ? error_set(error, BRIG_E_INPUT, EINVAL, "%s has no checkpoint", text)
		       : r;
}

int audit_claims_read(const struct audit_line *line, const char *path, struct audit_claims *ret,
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
	int r = read_key(line, dir, ret, error);
	for (size_t i = 0; i < line->expect.count && r == 0; i++) {
		r = add_expected(ret, line->expect.items[i], error);
	}
	if (r < 0) {
		return r;
	}
	struct chain_checkpoint head;
	r = dir < 0 ? 0 : chain_head_read(dir, &head, error);
	if (r == 1 && ret->known_count < AUDIT_KNOWN_MAX) {
		ret->known[ret->known_count++] = (struct audit_known){ CHAIN_HEAD_NAME, head };
	}
	return r < 0 ? r : 0;
}

/* --- what came of it ------------------------------------------------------------------------ */

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
	json_text(&json, "public_key", key);
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
	buf_addf(&out,
		 "\n  %" PRIu64 " checkpoints, signed up to entry %" PRIu64 "; %" PRIu64
		 " behind it are linked, not signed yet\n  head %s\n  key  %s\n",
		 report->checkpoints, covered,
		 report->head.sequence > covered ? report->head.sequence - covered : 0, head, key);
	if (report->findings) {
		buf_addf(&out, "  %" PRIu64 " findings\n", report->findings);
	}
	return report_text(&out);
}

static int verify(const struct audit_line *line, const char *path, struct audit_report *report,
		  struct audit_claims *claims, struct findings *findings, struct brig_error *error)
{
	_cleanup_(audit_file_done)
	struct audit_file file = { 0 };

	/* The head first: the ledger may be writing, and then the database is newer. */
	int r = audit_claims_read(line, path, claims, error);
	if (r == 0) {
		r = audit_file_open(path, &file, error);
	}
	return r < 0 ? r : audit_verify(&file, claims, found, findings, report, error);
}

int audit_command_verify(const struct audit_line *line)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_free_ struct audit_claims *claims = calloc(1, sizeof(*claims));
	struct audit_report report = { 0 };
	struct findings findings = { 0 };
	struct brig_error error = { 0 };
	char key[2 * CHAIN_KEY_SIZE + 1];
	int status;

	findings.json.buf = &findings.buf;
	int r = -ENOMEM;
	if (claims && sodium_init() >= 0) {
		r = audit_path(line, &path, &error);
	} else {
		error_set(&error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	if (r == 0 && path) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		r = verify(line, path, &report, claims, &findings, &error);
	}
	if (r < 0) {
		/* A database that is damaged is a finding as well. */
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		status = report_error(&error, line->json);
		status = r == -EBADMSG ? STATUS_BROKEN : status;
	} else {
		chain_hex(claims->public, CHAIN_KEY_SIZE, key);
		status = line->json ? print_json(&report, &findings, key)
				    : print_text(&report, &findings, key);
		status = status == STATUS_OK && report.findings ? STATUS_BROKEN : status;
	}
	buf_done(&findings.text);
	buf_done(&findings.buf);
	return status;
}
