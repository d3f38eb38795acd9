/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each call: see ledger_calls.h. */
#include "ledger/role/ledger_calls.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"

typedef int call_function(struct store *store, const struct message *message,
			  const struct ledger_text *texts, struct buf *answer,
			  struct brig_error *error);

static int call_begin(struct store *store, const struct message *message,
		      const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	if (message->value > 1) {
		return error_set(error, BRIG_E_INPUT, EPROTO, "begin: an unknown flag");
	}
	return store_execution_begin(store, texts, message->value == 1, NULL, answer, error);
}

static int call_started(struct store *store, const struct message *message,
			const struct ledger_text *texts, struct buf *answer,
			struct brig_error *error)
{
	(void)message;
	buf_adds(answer, "{}");
	return store_execution_started(store, texts[0].data, error);
}

static int call_ended(struct store *store, const struct message *message,
		      const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	const struct ledger_text *text = &texts[ENDED_RESULT];
	const char *id = texts[ENDED_ID].data;
	_cleanup_(ended_result_done)
	struct ended_result result = { 0 };
	int r = ended_result_read(&result, id, text->data, text->size, error);

	(void)message;
	buf_adds(answer, "{}");
	return r < 0 ? r : store_execution_ended(store, id, &result, error);
}

static int call_list(struct store *store, const struct message *message,
		     const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	unsigned limit =
		message->number > LEDGER_LIST_MAX ? LEDGER_LIST_MAX : (unsigned)message->number;

	return store_execution_list(store, texts[GET_TENANT].data, texts[GET_ID].data, limit,
				    answer, error);
}

static int call_pending(struct store *store, const struct message *message,
			const struct ledger_text *texts, struct buf *answer,
			struct brig_error *error)
{
	(void)message;
	(void)texts;
	return store_execution_pending(store, answer, error);
}

static int call_drop(struct store *store, const struct message *message,
		     const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	unsigned dropped = 0;
	int r = store_execution_drop(store, &dropped, error);

	(void)message;
	(void)texts;
	buf_addf(answer, "{\"dropped\":%u}", dropped);
	return r;
}

static int call_audit(struct store *store, const struct message *message,
		      const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	(void)message;
	buf_adds(answer, "{}");
	return store_audit(store, texts[AUDIT_KIND].data, texts[AUDIT_TENANT].data,
			   texts[AUDIT_FACTS].data, texts[AUDIT_FACTS].size, error);
}

static int call_stats(struct store *store, const struct message *message,
		      const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	struct json_out out = { .buf = answer };
	char head[CHAIN_HEX_SIZE];

	(void)message;
	(void)texts;
	(void)error;
	chain_hex(store->now.head.hash, CHAIN_HASH_SIZE, head);
	json_open(&out, NULL, '{');
	json_u64(&out, "entries", store->now.head.sequence);
	json_text(&out, "head", head);
	json_u64(&out, "checkpoint", store->now.checkpoint.sequence);
	json_u64(&out, "bytes", store_bytes(store));
	json_u64(&out, "executions", store->now.executions);
	json_u64(&out, "pending", store_execution_pending_count(store));
	json_u64(&out, "result_bytes", store->now.result_bytes);
	json_close(&out, '}');
	return 0;
}

static int call_session_opened(struct store *store, const struct message *message,
			       const struct ledger_text *texts, struct buf *answer,
			       struct brig_error *error)
{
	buf_adds(answer, "{}");
	return store_session_opened(store, texts, message->number, error);
}

static int call_session_ended(struct store *store, const struct message *message,
			      const struct ledger_text *texts, struct buf *answer,
			      struct brig_error *error)
{
	buf_adds(answer, "{}");
	return store_session_ended(store, texts[GONE_TENANT].data, texts[GONE_ID].data,
				   texts[GONE_REASON].data, message->number, error);
}

static int call_session_get(struct store *store, const struct message *message,
			    const struct ledger_text *texts, struct buf *answer,
			    struct brig_error *error)
{
	(void)message;
	return store_session_get(store, texts[GET_TENANT].data, texts[GET_ID].data, answer, error);
}

static int call_session_list(struct store *store, const struct message *message,
			     const struct ledger_text *texts, struct buf *answer,
			     struct brig_error *error)
{
	unsigned limit =
		message->number > LEDGER_LIST_MAX ? LEDGER_LIST_MAX : (unsigned)message->number;

	return store_session_list(store, texts[GET_TENANT].data, texts[GET_ID].data, limit, answer,
				  error);
}

static int call_used(struct store *store, const struct message *message,
		     const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	buf_adds(answer, "{}");
	return store_usage_put(store, texts[0].data, message->value, message->number, error);
}

static int call_usage(struct store *store, const struct message *message,
		      const struct ledger_text *texts, struct buf *answer, struct brig_error *error)
{
	(void)texts;
	return store_usage_list(store, message->value, answer, error);
}

static call_function *const functions[LEDGER_KINDS] = {
	[LEDGER_BEGIN] = call_begin,
	[LEDGER_STARTED] = call_started,
	[LEDGER_ENDED] = call_ended,
	[LEDGER_LIST] = call_list,
	[LEDGER_PENDING] = call_pending,
	[LEDGER_DROP] = call_drop,
	[LEDGER_AUDIT] = call_audit,
	[LEDGER_STATS] = call_stats,
	[LEDGER_SESSION_OPENED] = call_session_opened,
	[LEDGER_SESSION_ENDED] = call_session_ended,
	[LEDGER_SESSION_GET] = call_session_get,
	[LEDGER_SESSION_LIST] = call_session_list,
	[LEDGER_USED] = call_used,
	[LEDGER_USAGE] = call_usage,
};

int ledger_call(struct store *store, const struct message *message, const struct ledger_text *texts,
		struct buf *answer, struct store_more *more, struct brig_error *error)
{
	*more = (struct store_more){ 0 };
	if (message->kind == LEDGER_GET) {
		return store_execution_get(store, texts[GET_TENANT].data, texts[GET_ID].data,
					   answer, more, error);
	}
	return functions[message->kind](store, message, texts, answer, error);
}
