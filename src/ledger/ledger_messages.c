/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of the ledger's calls, and their format in messages: see ledger_messages.h. */
#include "ledger/ledger_messages.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json/json_out.h"

#define ABSENT UINT32_MAX

static bool is_id(const struct ledger_text *text)
{
	return id_valid(text->data);
}

/* Names appear in logs and on terminals: no control characters. */
static bool is_name(const struct ledger_text *text)
{
	for (size_t i = 0; i < text->size; i++) {
		unsigned char c = (unsigned char)text->data[i];
		if (c < 0x20 || c == 0x7f) {
			return false;
		}
	}
	return text->size > 0 && utf8_valid(text->data, text->size);
}

static bool is_digest(const struct ledger_text *text)
{
	return text->size == 64 && strspn(text->data, "0123456789abcdef") == 64;
}

/*
 * The kinds that the front may record; all other kinds are the ledger's, which records only its own
 * observations. A compromised front cannot forge those.
 */
static const char *const front_kinds[] = {
	"auth.refused",   "operator.cancel", "operator.read", "queue.dropped",
	"queue.released", "session.close",   "session.fork",  "tokens.changed",
};

static bool is_kind(const struct ledger_text *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(front_kinds); i++) {
		if (text->size == strlen(front_kinds[i]) &&
		    memcmp(text->data, front_kinds[i], text->size) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_bytes(const struct ledger_text *text)
{
	(void)text;
	return true;
}

static const struct ledger_field begin_fields[] = {
	[BEGIN_ID] = { "id", 26, false, is_id },
	[BEGIN_TENANT] = { "tenant", 128, false, is_name },
	[BEGIN_CALLER] = { "caller", 128, false, is_name },
	[BEGIN_SESSION] = { "session", 64, true, is_name },
	[BEGIN_LANGUAGE] = { "language", 64, true, is_name },
	[BEGIN_POLICY] = { "policy", 160, true, is_name },
	[BEGIN_CODE] = { "code_sha256", 64, true, is_digest },
	[BEGIN_KEY] = { "key", 255, true, is_name },
	[BEGIN_DIGEST] = { "digest", 128, true, is_name },
	[BEGIN_REQUEST] = { "request", LEDGER_REQUEST_MAX, true, is_bytes },
};

static const struct ledger_field id_fields[] = { { "id", 26, false, is_id } };

static const struct ledger_field ended_fields[] = {
	[ENDED_ID] = { "id", 26, false, is_id },
	[ENDED_RESULT] = { "result", LEDGER_RESULT_MAX, false, is_bytes },
};

static const struct ledger_field get_fields[] = {
	[GET_TENANT] = { "tenant", 128, false, is_name },
	[GET_ID] = { "id", 26, false, is_id },
};

static const struct ledger_field list_fields[] = {
	[GET_TENANT] = { "tenant", 128, false, is_name },
	[GET_ID] = { "before", 26, true, is_id },
};

static const struct ledger_field audit_fields[] = {
	[AUDIT_KIND] = { "kind", 64, false, is_kind },
	[AUDIT_TENANT] = { "tenant", 128, true, is_name },
	[AUDIT_FACTS] = { "facts", LEDGER_FACTS_MAX, true, is_bytes },
};

static const struct ledger_field opened_fields[] = {
	[OPENED_ID] = { "id", 26, false, is_id },
	[OPENED_TENANT] = { "tenant", 128, false, is_name },
	[OPENED_CALLER] = { "caller", 128, false, is_name },
	[OPENED_LANGUAGE] = { "language", 64, true, is_name },
	[OPENED_POLICY] = { "policy", 160, true, is_name },
};

static const struct ledger_field gone_fields[] = {
	[GONE_TENANT] = { "tenant", 128, false, is_name },
	[GONE_ID] = { "id", 26, false, is_id },
	[GONE_REASON] = { "reason", LEDGER_REASON_MAX, false, is_name },
};

static const struct ledger_field used_fields[] = { { "caller", 128, false, is_name } };

#define FIELDS(table) table, ARRAY_SIZE(table)

const struct ledger_form ledger_forms[LEDGER_KINDS] = {
	[LEDGER_BEGIN] = { "begin", FIELDS(begin_fields), LEDGER_REQUEST_MAX },
	[LEDGER_STARTED] = { "started", FIELDS(id_fields), 0 },
	[LEDGER_ENDED] = { "ended", FIELDS(ended_fields), LEDGER_RESULT_MAX },
	[LEDGER_GET] = { "get", FIELDS(get_fields), 0 },
	[LEDGER_LIST] = { "list", FIELDS(list_fields), 0 },
	[LEDGER_PENDING] = { "pending", NULL, 0, 0 },
	[LEDGER_DROP] = { "drop", NULL, 0, 0 },
	[LEDGER_AUDIT] = { "audit", FIELDS(audit_fields), 0 },
	[LEDGER_STATS] = { "stats", NULL, 0, 0 },
	[LEDGER_SESSION_OPENED] = { "session opened", FIELDS(opened_fields), 0 },
	[LEDGER_SESSION_ENDED] = { "session ended", FIELDS(gone_fields), 0 },
	[LEDGER_SESSION_GET] = { "session get", FIELDS(get_fields), 0 },
	[LEDGER_SESSION_LIST] = { "session list", FIELDS(list_fields), 0 },
	[LEDGER_USED] = { "used", FIELDS(used_fields), 0 },
	[LEDGER_USAGE] = { "usage", NULL, 0, 0 },
};

int ledger_form_check(const struct ledger_form *form, const struct ledger_text *texts,
		      const char **ret_name)
{
	for (unsigned i = 0; i < form->count; i++) {
		const struct ledger_field *field = &form->fields[i];
		const struct ledger_text *text = &texts[i];

		if (text->data ? text->size > field->max || !field->valid(text)
			       : !field->optional) {
			*ret_name = field->name;
			return -EINVAL;
		}
	}
	return 0;
}

void ledger_form_pack(const struct ledger_form *form, const struct ledger_text *texts,
		      struct buf *out)
{
	for (unsigned i = 0; i < form->count; i++) {
		uint32_t size = texts[i].data ? (uint32_t)texts[i].size : ABSENT;

		buf_add(out, &size, sizeof(size));
		if (texts[i].data) {
			buf_add(out, texts[i].data, texts[i].size);
			buf_addc(out, '\0');
		}
	}
}

int ledger_form_unpack(const struct ledger_form *form, const void *data, size_t size,
		       struct ledger_text *texts)
{
	const char *at = data, *end = at + size;

	for (unsigned i = 0; i < form->count; i++) {
		uint32_t length;

		if ((size_t)(end - at) < sizeof(length)) {
			return -EPROTO;
		}
		memcpy(&length, at, sizeof(length));
		at += sizeof(length);
		if (length == ABSENT) {
			texts[i] = (struct ledger_text){ 0 };
			continue;
		}
		/* Plus one for the NUL. */
		if ((size_t)(end - at) <= length || at[length] != '\0') {
			return -EPROTO;
		}
		/* Only fields of bytes may contain a NUL. */
		if (form->fields[i].valid != is_bytes && memchr(at, '\0', length)) {
			return -EPROTO;
		}
		texts[i] = (struct ledger_text){ .data = at, .size = length };
		at += length + 1;
	}
	return at == end ? 0 : -EPROTO;
}
