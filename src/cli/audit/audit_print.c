/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the audit chain, for people and for programs. The file is not trusted: see there. */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "cli/audit/cli_audit.h"
#include "ledger/store/json_facts.h"
#include "ledger/store/timestamp.h"

/* Only valid JSON is added as JSON; anything else is added as a string. */
static void add_facts(struct json_out *out, const struct chain_entry *entry)
{
	json_t *facts = NULL;
	_cleanup_free_ char *text = NULL;

	if (json_facts_load(entry->facts, entry->facts_size, &facts) == 0) {
		text = json_dumps(facts, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII |
						 JSON_REAL_PRECISION(15));
		json_decref(facts);
	}
	if (text) {
		json_raw(out, "facts", text);
	} else {
		json_textn(out, "facts", entry->facts, entry->facts_size);
	}
}

static void print_json(const struct audit_row *row, struct buf *out)
{
	const struct chain_entry *entry = &row->entry;
	struct json_out json = { .buf = out };
	char time[TIMESTAMP_SIZE], hash[CHAIN_HEX_SIZE];

	chain_hex(row->hash, CHAIN_HASH_SIZE, hash);
	json_open(&json, NULL, '{');
	json_u64(&json, "sequence", entry->sequence);
	json_text(&json, "time", timestamp_format(entry->time_ms, time));
	json_textn(&json, "kind", entry->kind, entry->kind_size);
	json_textn(&json, "tenant", entry->tenant, entry->tenant_size);
	add_facts(&json, entry);
	json_text(&json, "hash", hash);
	json_close(&json, '}');
	buf_addc(out, '\n');
}

/* Untrusted text stays on one line. */
static void add_line(struct buf *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		buf_addc(out, text[i] == '\n' || text[i] == '\0' ? ' ' : text[i]);
	}
}

void audit_print(const struct audit_row *row, bool json, struct buf *out)
{
	const struct chain_entry *entry = &row->entry;
	char time[TIMESTAMP_SIZE];

	if (json) {
		print_json(row, out);
		return;
	}
	buf_addf(out, "%8" PRIu64 "  %s  ", entry->sequence,
		 timestamp_format(entry->time_ms, time));
	add_line(out, entry->kind, entry->kind_size);
	buf_adds(out, "  ");
	add_line(out, entry->tenant_size ? entry->tenant : "-",
		 entry->tenant_size ? entry->tenant_size : 1);
	buf_adds(out, "  ");
	add_line(out, entry->facts, entry->facts_size);
	buf_addc(out, '\n');
}

void audit_print_long(const struct audit_row *row, struct buf *out)
{
	const struct chain_entry *entry = &row->entry;
	char time[TIMESTAMP_SIZE], hash[CHAIN_HEX_SIZE];
	json_t *facts = NULL;
	const char *key;
	json_t *value;

	chain_hex(row->hash, CHAIN_HASH_SIZE, hash);
	buf_addf(out, "entry %" PRIu64 "\n  time         %s\n  kind         ", entry->sequence,
		 timestamp_format(entry->time_ms, time));
	add_line(out, entry->kind, entry->kind_size);
	buf_adds(out, "\n  tenant       ");
	add_line(out, entry->tenant, entry->tenant_size);
	buf_addf(out, "\n  hash         %s\n", hash);
	if (json_facts_load(entry->facts, entry->facts_size, &facts) < 0) {
		return;
	}
	json_object_foreach(facts, key, value)
	{
		_cleanup_free_ char *text =
			json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII |
						  JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
		buf_addf(out, "  %-12s %s\n", key, text ? text : "?");
	}
	json_decref(facts);
}
