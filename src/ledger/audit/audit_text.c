/* SPDX-License-Identifier: Apache-2.0 */
/* Audit chains as text: see audit_text.h. */
#include "ledger/audit/audit_text.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "ledger/sqlite/sqlite_store.h"

#define MARK       "brig-audit-1 "
#define FACTS      ",\"facts\":"
#define LINE_MAX_  (64u << 20) /* longer than any entry of the ledger */
#define NUMBER_MAX INT64_C(999999999999999999)

void audit_text_entry(const struct audit_row *row, struct buf *out)
{
	const struct chain_entry *entry = &row->entry;
	struct json_out json = { .buf = out };
	char hash[CHAIN_HEX_SIZE];

	chain_hex(row->hash, CHAIN_HASH_SIZE, hash);
	json_open(&json, NULL, '{');
	json_u64(&json, "sequence", entry->sequence);
	json_u64(&json, "time_ms", entry->time_ms);
	json_textn(&json, "kind", entry->kind, entry->kind_size);
	json_textn(&json, "tenant", entry->tenant, entry->tenant_size);
	json_text(&json, "hash", hash);
	/* Exactly as in the chain, because these bytes are hashed. */
	json_raw(&json, "facts", entry->facts);
	json_close(&json, '}');
	buf_addc(out, '\n');
}

bool audit_text_is(const char *path)
{
	char first[sizeof(MARK)] = "";
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(first, 1, sizeof(first) - 1, file) : 0;

	if (file) {
		(void)fclose(file);
	}
	return size == sizeof(first) - 1 &&
	       (strcmp(first, MARK) == 0 || strncmp(first, "{\"sequence\":", 12) == 0);
}

struct loader {
	sqlite3 *db;
	sqlite3_stmt *entry, *checkpoint, *anchor;
	bool begun; /* something was read */
};

static int run(sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);

	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return rc == SQLITE_DONE ? 0 : rc == SQLITE_FULL ? -ENOSPC : -EBADMSG;
}

static int load_checkpoint(struct loader *loader, const char *line, size_t size)
{
	struct chain_checkpoint checkpoint;
	bool first = !loader->begun;
	sqlite3_stmt *statement = first ? loader->anchor : loader->checkpoint;

	if (!chain_line_parse(line, size, &checkpoint)) {
		return -EBADMSG;
	}
	sqlite3_bind_int64(statement, 1, (sqlite3_int64)checkpoint.number);
	sqlite3_bind_text(statement, 2, line, (int)size, SQLITE_STATIC);
	if (first) {
		sqlite3_bind_int64(statement, 3, (sqlite3_int64)checkpoint.sequence);
	}
	return run(statement);
}

static bool take_number(const json_t *object, const char *key, int64_t *ret)
{
	const json_t *value = json_object_get(object, key);

	*ret = json_integer_value(value);
	return json_is_integer(value) && *ret >= 0 && *ret <= NUMBER_MAX;
}

/* Facts are copied unchanged, from the key to the end of the line. */
static int load_entry(struct loader *loader, const char *line, size_t size)
{
	static const char *const texts[] = { "kind", "tenant" };
	unsigned char hash[CHAIN_HASH_SIZE];
	int64_t sequence, time_ms;
	json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL);
	const char *hex = json_string_value(json_object_get(object, "hash"));
	const char *facts = memmem(line, size, FACTS, strlen(FACTS));
	sqlite3_stmt *statement = loader->entry;
	bool good = facts && hex && json_object_size(object) == 6 && line[size - 1] == '}' &&
		    json_is_object(json_object_get(object, "facts")) &&
		    chain_unhex(hex, strlen(hex), hash, sizeof(hash)) &&
		    take_number(object, "sequence", &sequence) &&
		    take_number(object, "time_ms", &time_ms);

	if (good) {
		facts += strlen(FACTS);
		sqlite3_bind_int64(statement, 1, sequence);
		sqlite3_bind_int64(statement, 2, time_ms);
		sqlite3_bind_text(statement, 5, facts, (int)(line + size - 1 - facts),
				  SQLITE_STATIC);
		sqlite3_bind_blob(statement, 6, hash, sizeof(hash), SQLITE_STATIC);
	}
	for (int i = 0; good && i < 2; i++) {
		const json_t *text = json_object_get(object, texts[i]);
		good = json_is_string(text);
		sqlite3_bind_text(statement, 3 + i, json_string_value(text),
				  (int)json_string_length(text), SQLITE_STATIC);
	}
	int r = good ? run(statement) : -EBADMSG;
	json_decref(object);
	return r;
}

static int load_line(struct loader *loader, const char *line, size_t size)
{
	size -= size > 0 && line[size - 1] == '\n';
	if (size == 0 || size > LINE_MAX_) {
		return -EBADMSG;
	}
	int r = strncmp(line, MARK, strlen(MARK)) == 0 ? load_checkpoint(loader, line, size)
						       : load_entry(loader, line, size);
	loader->begun = true;
	return r;
}

static int load_all(struct loader *loader, FILE *file, const char *path, struct brig_error *error)
{
	_cleanup_free_ char *line = NULL;
	uint64_t number = 0;
	size_t room = 0;
	ssize_t size;

	errno = 0;
	while ((size = getline(&line, &room, file)) > 0) {
		number++;
		int r = load_line(loader, line, (size_t)size);
		if (r < 0) {
			return error_set(error, BRIG_E_INPUT, -r,
					 "%s:%" PRIu64
					 ": not an entry or a checkpoint, or a duplicate",
					 path, number);
		}
	}
	return ferror(file) ? error_errno(error, BRIG_E_INPUT, errno, "cannot read %s", path) : 0;
}

static void loader_done(struct loader *loader)
{
	sqlite3_finalize(loader->entry);
	sqlite3_finalize(loader->checkpoint);
	sqlite3_finalize(loader->anchor);
}

static int load_into(sqlite3 *db, FILE *file, const char *path, struct brig_error *error)
{
	_cleanup_(loader_done)
	struct loader loader = { .db = db };

	if (sqlite3_prepare_v2(db, "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", -1, &loader.entry,
			       NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO checkpoints VALUES (?, ?)", -1, &loader.checkpoint,
			       NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db,
			       "INSERT INTO anchor (one, number, line, sequence) "
			       "VALUES (1, ?, ?, ?)",
			       -1, &loader.anchor, NULL) != SQLITE_OK) {
		return sqlite_error(db, sqlite3_errcode(db), error, "cannot read the text");
	}
	return load_all(&loader, file, path, error);
}

int audit_text_load(const char *path, sqlite3 *db, struct brig_error *error)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");

	return file ? load_into(db, file, path, error)
		    : error_errno(error, BRIG_E_INPUT, errno, "cannot open %s", path);
}
