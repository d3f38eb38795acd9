/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the front and the ledger, on role/message.h. A call is a record, followed by
 * a form: texts in a fixed order, each with its length. Every text has a rule; the client checks it
 * before sending, and the role closes the connection if it is violated.
 *
 * The answer to a call has its serial. `value` is 0 or a positive errno; the tail or the block is
 * the data, or for an error the message, a NUL, and the remedy; `number` is then the brig_code.
 */
#ifndef BRIG_LEDGER_MESSAGES_H
#define BRIG_LEDGER_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/outcome.h"

#define LEDGER_REQUEST_MAX ((size_t)64 << 20)
#define LEDGER_RESULT_MAX  OUTCOME_MAX
#define LEDGER_ANSWER_MAX  ((size_t)256 << 20)
#define LEDGER_FACTS_MAX   ((size_t)8 << 10)
#define LEDGER_CALLS_MAX   2048 /* under way at once: less than the limit of a role's queue */
#define LEDGER_LIST_MAX    1000
#define LEDGER_USAGE_MAX   4096 /* callers */
#define LEDGER_ANY_TENANT  "*"  /* to get and list executions; not a valid tenant name */
#define LEDGER_FIELDS_MAX  11

enum ledger_kind {
	LEDGER_BEGIN = 1, /* value: 1 when it is queued */
	LEDGER_STARTED,
	LEDGER_ENDED,
	LEDGER_GET,
	LEDGER_LIST, /* number: the limit */
	LEDGER_PENDING,
	LEDGER_DROP, /* some of the pending ones */
	LEDGER_AUDIT,
	LEDGER_STATS,
	LEDGER_SESSION_OPENED, /* number: its idle timeout, in ms */
	LEDGER_SESSION_ENDED,  /* number: its count of runs */
	LEDGER_SESSION_GET,
	LEDGER_SESSION_LIST, /* number: the limit */
	LEDGER_USED,         /* value: the day; number: nanoseconds of processor time on it */
	LEDGER_USAGE,        /* value: the day */
	LEDGER_KINDS,
	LEDGER_ANSWER = 64,
};

enum begin_field {
	BEGIN_ID,
	BEGIN_TENANT,
	BEGIN_CALLER,
	BEGIN_SESSION,
	BEGIN_LANGUAGE,
	BEGIN_POLICY,
	BEGIN_CODE,
	BEGIN_KEY,
	BEGIN_DIGEST,
	BEGIN_REQUEST,
	BEGIN_FIELDS,
};
enum ended_field { ENDED_ID, ENDED_RESULT, ENDED_FIELDS };
enum get_field { GET_TENANT, GET_ID, GET_FIELDS }; /* list: the last one is `before` */
enum audit_field { AUDIT_KIND, AUDIT_TENANT, AUDIT_FACTS, AUDIT_FIELDS };

enum opened_field {
	OPENED_ID,
	OPENED_TENANT,
	OPENED_CALLER,
	OPENED_LANGUAGE,
	OPENED_POLICY,
	OPENED_FIELDS,
};
enum session_ended_field { GONE_TENANT, GONE_ID, GONE_REASON, GONE_FIELDS };

#define LEDGER_REASON_MAX 256

struct ledger_text {
	const char *data; /* NULL: not given. The bytes in a form are followed by a NUL. */
	size_t size;
};

struct ledger_field {
	const char *name;
	size_t max;
	bool optional;
	bool (*valid)(const struct ledger_text *text);
};

struct ledger_form {
	const char *name;
	const struct ledger_field *fields;
	unsigned count;
	size_t block_max; /* not 0: the last text may be sent as a block, up to this size */
};

/* By enum ledger_kind. */
extern const struct ledger_form ledger_forms[LEDGER_KINDS];

/* -EINVAL, and the name of the field. */
int ledger_form_check(const struct ledger_form *form, const struct ledger_text *texts,
		      const char **ret_name);
void ledger_form_pack(const struct ledger_form *form, const struct ledger_text *texts,
		      struct buf *out);
/* -EPROTO: not exactly such a form. The texts point into `data`; they are not checked yet. */
int ledger_form_unpack(const struct ledger_form *form, const void *data, size_t size,
		       struct ledger_text *texts);
#endif
