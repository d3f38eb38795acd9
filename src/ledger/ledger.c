/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's side of the ledger: see ledger.h. Answers arrive in the order of the calls, except
 * those about long results, which others overtake.
 */
#include "ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/list.h"
#include "ledger/ledger_messages.h"
#include "role/message.h"

struct ledger_call {
	struct list_node node;
	uint64_t serial;
	ledger_done *done;
	void *user;
};

struct ledger {
	struct message_peer *peer; /* owned */
	void (*gone)(void *user, const char *why);
	void *user;
	struct list calls; /* struct ledger_call, owned: those without an answer, in order */
	unsigned under_way;
	uint64_t serial;
	/* During an answer's callback: its block, or its bytes when it is short. */
	struct block *answer;
	const char *data;
	size_t size;
};

static void remove_call(struct ledger *ledger, struct ledger_call *call)
{
	list_remove(&ledger->calls, &call->node);
	ledger->under_way--;
}

/* Near the beginning: only calls about long results are before it. */
static struct ledger_call *find_call(const struct ledger *ledger, uint64_t serial)
{
	LIST_EACH(struct ledger_call, call, &ledger->calls, node) {
		if (call->serial == serial) {
			return call;
		}
	}
	return NULL;
}

static void finish(struct ledger_call *call, const struct brig_error *error, const char *data,
		   size_t size)
{
	if (call->done) {
		call->done(call->user, error, data, size);
	}
	free(call);
}

static void error_of(const struct message *message, const char *tail, size_t size,
		     struct brig_error *error)
{
	size_t first = strnlen(tail, size);
	int errnum = message->value < 4096 ? (int)message->value : EIO;
	bool known = message->number > BRIG_E_NONE && message->number <= BRIG_E_SYSTEM;

	error_set(error, known ? (enum brig_code)message->number : BRIG_E_SYSTEM, errnum, "%.*s",
		  (int)first, tail);
	if (first + 1 < size) {
		error_remedy(error, "%.*s", (int)(size - first - 1), tail + first + 1);
	}
}

static int take_answer(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		       const void *tail, size_t size)
{
	struct ledger *ledger = user;
	struct brig_error error = { 0 };
	struct block *block = NULL;

	struct ledger_call *call = find_call(ledger, message->serial);
	if (!call) {
		return -EPROTO;
	}
	int r = 0;
	if (fds[0] >= 0) {
		r = size > 0 || message->value ? -EPROTO
					       : block_map(&fds[0], LEDGER_ANSWER_MAX, &block);
	}
	if (r == -EPROTO) {
		return r;
	}
	remove_call(ledger, call);
	if (message->value) {
		error_of(message, tail, size, &error);
		finish(call, &error, NULL, 0);
	} else if (r < 0) { /* not enough memory or descriptors */
		error_errno(&error, BRIG_E_SYSTEM, -r, "the ledger's answer cannot be received");
		finish(call, &error, NULL, 0);
	} else {
		ledger->answer = block;
		ledger->data = block ? block->data : tail;
		ledger->size = block ? block->size : size;
		finish(call, NULL, ledger->data, ledger->size);
		ledger->answer = NULL;
		ledger->data = NULL;
	}
	block_unref(block);
	return 0;
}

struct block *ledger_answer_keep(struct ledger *ledger)
{
	return ledger->answer ? block_ref(ledger->answer) : block_copy(ledger->data, ledger->size);
}

static const struct message_rule rules[] = {
	{ LEDGER_ANSWER, "answer", 0, 1, MESSAGE_TAIL_MAX, take_answer },
};

/*
 * Calls under way are not answered: they may be in the database or not. If they failed with "not
 * recorded", a client would repeat a call that will be run after the next start.
 */
static void peer_gone(void *user, const char *why)
{
	struct ledger *ledger = user;

	ledger->gone(ledger->user, why);
}

int ledger_new(struct loop *loop, int socket, void (*gone)(void *user, const char *why), void *user,
	       struct ledger **ret)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));

	if (!ledger) {
		return -ENOMEM;
	}
	ledger->gone = gone;
	ledger->user = user;
	int r = message_peer_new(loop, socket, rules, ARRAY_SIZE(rules), peer_gone, ledger,
				 &ledger->peer);
	if (r < 0) {
		free(ledger);
		return r;
	}
	*ret = ledger;
	return 0;
}

void ledger_free(struct ledger *ledger)
{
	struct ledger_call *call;

	if (!ledger) {
		return;
	}
	message_peer_free(ledger->peer);
	while ((call = LIST_FIRST(&ledger->calls, struct ledger_call, node))) {
		remove_call(ledger, call);
		free(call);
	}
	free(ledger);
}

/* --- calls ----------------------------------------------------------------------------------- */

/*
 * The last text is sent in a block, when it is too long for a record. `ready`: a memory file with
 * that text; -1: none.
 */
static int send_form(struct ledger *ledger, const struct message *message,
		     const struct ledger_form *form, struct ledger_text *texts, int ready)
{
	_cleanup_(buf_done)
	struct buf tail = { 0 };
	_cleanup_close_ int block = -1;
	size_t total = 0;

	for (unsigned i = 0; i < form->count; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-core.*): there are as many texts as the form has */
		total += sizeof(uint32_t) + (texts[i].data ? texts[i].size + 1 : 0);
	}
	if (total > MESSAGE_TAIL_MAX && form->count) {
		struct ledger_text *last = &texts[form->count - 1];
		if (ready < 0) {
			block = message_block_make(last->data ? last->data : "", last->size);
			if (block < 0) {
				return block;
			}
			ready = block;
		}
		*last = (struct ledger_text){ 0 };
	} else {
		ready = -1;
	}
	ledger_form_pack(form, texts, &tail);
	return tail.failed ? -ENOMEM
			   : message_send(ledger->peer, message, &ready, ready >= 0, tail.data,
					  tail.size);
}

/*
 * Executions that have begun must be able to end, however many reads there are: half of the calls
 * is reserved for them.
 */
static unsigned calls_max(uint32_t kind)
{
	bool must = kind == LEDGER_STARTED || kind == LEDGER_ENDED || kind == LEDGER_AUDIT ||
		    kind == LEDGER_SESSION_ENDED || kind == LEDGER_USED;

	return must ? LEDGER_CALLS_MAX : LEDGER_CALLS_MAX / 2;
}

static int call_with(struct ledger *ledger, struct message message, struct ledger_text *texts,
		     int ready, ledger_done *done, void *user)
{
	const struct ledger_form *form = &ledger_forms[message.kind];
	const char *name = NULL;

	if (ledger->under_way >= calls_max(message.kind)) {
		return -ENOBUFS;
	}
	int r = ledger_form_check(form, texts, &name);
	if (r < 0) {
		return r;
	}
	struct ledger_call *under_way = malloc(sizeof(*under_way));
	if (!under_way) {
		return -ENOMEM;
	}
	message.serial = ledger->serial + 1;
	*under_way = (struct ledger_call){ .serial = message.serial, .done = done, .user = user };
	r = send_form(ledger, &message, form, texts, ready);
	/* The role has just died: like the calls before it, this one is never answered. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET) {
		free(under_way);
		return r;
	}
	ledger->serial++;
	list_append(&ledger->calls, &under_way->node);
	ledger->under_way++;
	return 0;
}

static int call(struct ledger *ledger, struct message message, struct ledger_text *texts,
		ledger_done *done, void *user)
{
	return call_with(ledger, message, texts, -1, done, user);
}

static struct ledger_text text(const char *data)
{
	return (struct ledger_text){ .data = data, .size = data ? strlen(data) : 0 };
}

static void begin_texts(const struct ledger_execution *execution,
			struct ledger_text texts[BEGIN_FIELDS])
{
	const struct ledger_text all[BEGIN_FIELDS] = {
		[BEGIN_ID] = text(execution->id),
		[BEGIN_TENANT] = text(execution->tenant),
		[BEGIN_CALLER] = text(execution->caller),
		[BEGIN_SESSION] = text(execution->session),
		[BEGIN_LANGUAGE] = text(execution->language),
		[BEGIN_POLICY] = text(execution->policy),
		[BEGIN_CODE] = text(execution->code_sha256),
		[BEGIN_KEY] = text(execution->key),
		[BEGIN_DIGEST] = text(execution->digest),
	};

	memcpy(texts, all, sizeof(all));
}

int ledger_begin_check(struct ledger *ledger, const struct ledger_execution *execution)
{
	struct ledger_text texts[BEGIN_FIELDS];
	const char *name = NULL;

	if (ledger->under_way >= calls_max(LEDGER_BEGIN) || message_full(ledger->peer)) {
		return -ENOBUFS;
	}
	begin_texts(execution, texts);
	return ledger_form_check(&ledger_forms[LEDGER_BEGIN], texts, &name);
}

int ledger_begin(struct ledger *ledger, const struct ledger_execution *execution, ledger_done *done,
		 void *user)
{
	struct ledger_text texts[BEGIN_FIELDS];
	int ready = -1;

	begin_texts(execution, texts);
	/* An execution that runs now is never run again: its request is not stored. */
	if (execution->queued && execution->request) {
		texts[BEGIN_REQUEST] =
			(struct ledger_text){ execution->request->data, execution->request->size };
		ready = execution->request->fd;
	}
	return call_with(ledger,
			 (struct message){ .kind = LEDGER_BEGIN, .value = execution->queued },
			 texts, ready, done, user);
}

int ledger_started(struct ledger *ledger, const char *id, ledger_done *done, void *user)
{
	struct ledger_text texts[] = { text(id) };

	return call(ledger, (struct message){ .kind = LEDGER_STARTED }, texts, done, user);
}

int ledger_ended(struct ledger *ledger, const char *id, const char *result, size_t size,
		 ledger_done *done, void *user)
{
	struct ledger_text texts[] = { text(id), { result, size } };

	return call(ledger, (struct message){ .kind = LEDGER_ENDED }, texts, done, user);
}

int ledger_ended_block(struct ledger *ledger, const char *id, const struct block *result,
		       ledger_done *done, void *user)
{
	struct ledger_text texts[] = { text(id), { result->data, result->size } };

	return call_with(ledger, (struct message){ .kind = LEDGER_ENDED }, texts, result->fd, done,
			 user);
}

int ledger_get(struct ledger *ledger, const char *tenant, const char *id, ledger_done *done,
	       void *user)
{
	struct ledger_text texts[] = { text(tenant), text(id) };

	return call(ledger, (struct message){ .kind = LEDGER_GET }, texts, done, user);
}

int ledger_list(struct ledger *ledger, const char *tenant, const char *before, unsigned limit,
		ledger_done *done, void *user)
{
	struct ledger_text texts[] = { text(tenant), text(before) };

	return call(ledger, (struct message){ .kind = LEDGER_LIST, .number = limit }, texts, done,
		    user);
}

int ledger_pending(struct ledger *ledger, ledger_done *done, void *user)
{
	return call(ledger, (struct message){ .kind = LEDGER_PENDING }, NULL, done, user);
}

int ledger_drop(struct ledger *ledger, ledger_done *done, void *user)
{
	return call(ledger, (struct message){ .kind = LEDGER_DROP }, NULL, done, user);
}

int ledger_session_opened(struct ledger *ledger, const struct ledger_session *session,
			  ledger_done *done, void *user)
{
	struct ledger_text texts[OPENED_FIELDS] = {
		[OPENED_ID] = text(session->id),
		[OPENED_TENANT] = text(session->tenant),
		[OPENED_CALLER] = text(session->caller),
		[OPENED_LANGUAGE] = text(session->language),
		[OPENED_POLICY] = text(session->policy),
	};

	return call(ledger,
		    (struct message){ .kind = LEDGER_SESSION_OPENED, .number = session->idle_ms },
		    texts, done, user);
}

int ledger_session_ended(struct ledger *ledger, const char *tenant, const char *id,
			 const char *reason, uint64_t runs, ledger_done *done, void *user)
{
	struct ledger_text texts[GONE_FIELDS] = { text(tenant), text(id), text(reason) };

	return call(ledger, (struct message){ .kind = LEDGER_SESSION_ENDED, .number = runs }, texts,
		    done, user);
}

int ledger_session_get(struct ledger *ledger, const char *tenant, const char *id, ledger_done *done,
		       void *user)
{
	struct ledger_text texts[] = { text(tenant), text(id) };

	return call(ledger, (struct message){ .kind = LEDGER_SESSION_GET }, texts, done, user);
}

int ledger_session_list(struct ledger *ledger, const char *tenant, const char *before,
			unsigned limit, ledger_done *done, void *user)
{
	struct ledger_text texts[] = { text(tenant), text(before) };

	return call(ledger, (struct message){ .kind = LEDGER_SESSION_LIST, .number = limit }, texts,
		    done, user);
}

int ledger_used(struct ledger *ledger, const char *caller, uint32_t day, uint64_t cpu_ns)
{
	struct ledger_text texts[] = { text(caller) };

	return call(ledger, (struct message){ .kind = LEDGER_USED, .value = day, .number = cpu_ns },
		    texts, NULL, NULL);
}

int ledger_usage(struct ledger *ledger, uint32_t day, ledger_done *done, void *user)
{
	return call(ledger, (struct message){ .kind = LEDGER_USAGE, .value = day }, NULL, done,
		    user);
}

int ledger_audit(struct ledger *ledger, const char *kind, const char *tenant, const char *facts,
		 ledger_done *done, void *user)
{
	struct ledger_text texts[] = { text(kind), text(tenant), text(facts) };

	return call(ledger, (struct message){ .kind = LEDGER_AUDIT }, texts, done, user);
}

int ledger_stats(struct ledger *ledger, ledger_done *done, void *user)
{
	return call(ledger, (struct message){ .kind = LEDGER_STATS }, NULL, done, user);
}
