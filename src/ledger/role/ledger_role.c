/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger role: see ledger_role.h. A round of the loop handles the records that wait on the
 * socket, each within a savepoint of one transaction; when no more wait, or the window is over, it
 * is committed and the answers are sent. If the commit fails, all answers are that error.
 */
#include "ledger/role/ledger_role.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ledger/role/ledger_calls.h"
#include "ledger/role/ledger_role_internal.h"
#include "ledger/sqlite/sqlite_store.h"

#define DAY_MS       UINT64_C(86400000)
#define ANSWER_BYTES ((size_t)32 << 20) /* waiting for the commit */

void role_note(struct ledger_role *role, bool bad, const char *event, const char *text)
{
	if (role->options.note) {
		role->options.note(role->options.user, bad, event, text);
	}
}

/* --- calls ----------------------------------------------------------------------------------- */

/*
 * Everything in this transaction is rolled back: all calls that wait for its end get the error. A
 * call that was rejected and was the first one rolls back no other: a session that is closed and
 * ends by itself at the same time is reported twice, and the second time it is not found.
 */
static void fail_all(struct ledger_role *role, const struct brig_error *error)
{
	if (error->code != BRIG_E_INPUT || role->answers_count > 0) {
		role_failed(role, error);
	}
	for (unsigned i = 0; i < role->answers_count; i++) {
		if (!role->answers[i].error.errnum && !role->answers[i].logged) {
			role->answers[i].error = *error;
		}
	}
}

/* The call alone: what it has written is taken back if it fails. */
static int call_marked(struct ledger_role *role, const struct message *message,
		       const struct ledger_text *texts, struct answer *answer)
{
	struct brig_error *error = &answer->error;
	int r = ledger_call(role->store, message, texts, &answer->data, &answer->more, error);

	if (r == 0 && answer->data.failed) {
		r = error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for the answer");
	}
	r = r < 0 ? r : store_release(role->store, error);
	/* An invalid call that is alone in its transaction affects no other. */
	bool alone = !role->store->has_mark && error->code == BRIG_E_INPUT;
	if (r < 0 && !store_back(role->store) && !alone) {
		fail_all(role, error);
	}
	return r;
}

static int call_in_transaction(struct ledger_role *role, const struct message *message,
			       const struct ledger_text *texts, struct answer *answer)
{
	int r = 0;

	if (!store_in_transaction(role->store)) {
		role->begun_ns = clock_now_ns();
		r = store_begin(role->store, &answer->error);
	}
	r = r < 0 ? r : store_mark(role->store, &answer->error);
	return r < 0 ? r : call_marked(role, message, texts, answer);
}

/*
 * The call sees everything that was answered before it. With a full disk the backlog may stay: then
 * executions that are not in it can still be read.
 */
static int settle_for(struct ledger_role *role, const struct message *message,
		      const struct ledger_text *texts, struct brig_error *error)
{
	if (!role->backlog.count) {
		return 0;
	}
	int r = role_backlog_settle(role, error);
	if (r < 0 && message->kind == LEDGER_GET &&
	    !backlog_has(&role->backlog, texts[GET_ID].data)) {
		*error = (struct brig_error){ 0 };
		return 0;
	}
	return r;
}

/* The set of those that run, when this call has succeeded. */
static void note_open(struct ledger_role *role, const struct message *message,
		      const struct ledger_text *texts, struct answer *answer)
{
	bool begins = message->kind == LEDGER_BEGIN && !message->value && !texts[BEGIN_KEY].data;

	if (message->kind == LEDGER_STARTED || begins) {
		(void)strncat(answer->opens, texts[BEGIN_ID].data, sizeof(answer->opens) - 1);
	} else if (message->kind == LEDGER_ENDED) {
		(void)open_set_remove(&role->backlog.open, texts[ENDED_ID].data);
	}
}

static int call_store(struct ledger_role *role, const struct message *message,
		      const struct ledger_text *texts, struct answer *answer)
{
	int r = settle_for(role, message, texts, &answer->error);

	r = r < 0 ? r : call_in_transaction(role, message, texts, answer);
	if (r == 0) {
		note_open(role, message, texts, answer);
	}
	return r;
}

static int answer_call(struct ledger_role *role, const struct message *message,
		       const struct ledger_text *texts)
{
	/* Only with a backlog that cannot be stored: see settle_for(). */
	if (role->backlog.count && store_in_transaction(role->store)) {
		role_commit_now(role);
	}
	struct answer *answer = &role->answers[role->answers_count];

	*answer = (struct answer){ .serial = message->serial };
	int r = role_backlog_take(role, message, texts, &answer->error);
	if (r > 0) {
		answer->logged = true;
		answer->sequence = role->backlog.next - 1;
		buf_adds(&answer->data, "{}");
	} else if (r == 0) {
		r = call_store(role, message, texts, answer);
	}
	if (r < 0) {
		buf_done(&answer->data);
	}
	role->answers_count++;
	role->answers_bytes += answer->data.size + answer->more.left;
	return r == -EPROTO ? r : 0;
}

/* A block that came with the record: it is the last text. */
static int map_last(const struct ledger_form *form, int fd, struct ledger_text *texts,
		    void **ret_block, size_t *ret_size)
{
	struct ledger_text *last = &texts[form->count ? form->count - 1 : 0];

	if (!form->block_max || last->data) {
		return -EPROTO;
	}
	int r = message_block_map(fd, form->block_max, ret_block, ret_size);
	last->data = *ret_block ? *ret_block : "";
	last->size = *ret_size;
	return r;
}

/* There is no memory to check a record. */
static int answer_shortage(struct ledger_role *role, const struct message *message, int r)
{
	struct answer *answer = &role->answers[role->answers_count++];

	*answer = (struct answer){ .serial = message->serial };
	error_errno(&answer->error, BRIG_E_SYSTEM, -r, "the record cannot be stored");
	return 0;
}

/* Long results and requests are stored in parts, which keeps the block. */
static bool stored_in_parts(struct ledger_role *role, const struct message *message,
			    const struct ledger_text *texts, const void *tail, size_t size,
			    void *block, size_t block_size)
{
	if (message->kind == LEDGER_ENDED) {
		return role_long_store(role, message->serial, texts[ENDED_ID].data, block,
				       block_size);
	}
	return message->kind == LEDGER_BEGIN && message->value == 1 &&
	       role_long_begin(role, message->serial, tail, size, block, block_size);
}

static int take_texts(struct ledger_role *role, const struct message *message, int fd,
		      const void *tail, size_t size)
{
	const struct ledger_form *form = &ledger_forms[message->kind];
	struct ledger_text texts[LEDGER_FIELDS_MAX] = { 0 };
	const char *name = NULL;
	void *block = NULL;
	size_t block_size = 0;
	int r = ledger_form_unpack(form, tail, size, texts);

	if (r == 0 && fd >= 0) {
		r = map_last(form, fd, texts, &block, &block_size);
	}
	if (r < 0) {
		return r == -EPROTO ? r : answer_shortage(role, message, r);
	}
	r = ledger_form_check(form, texts, &name) < 0 ? -EPROTO : 0;
	if (r == 0 && block &&
	    stored_in_parts(role, message, texts, tail, size, block, block_size)) {
		return 0;
	}
	r = r < 0 ? r : answer_call(role, message, texts);
	message_block_unmap(block, block_size);
	return r;
}

static int take(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		const void *tail, size_t size)
{
	struct ledger_role *role = user;
	int r = take_texts(role, message, fds[0], tail, size);

	if (r < 0) {
		role_note(role, true, "refused", ledger_forms[message->kind].name);
		return -EPROTO;
	}
	if (role->answers_count == ANSWERS_MAX || role->answers_bytes > ANSWER_BYTES) {
		role_commit_now(role);
	} else if (!role->commit.place) {
		/* Due at once: after all records of this round of the loop. */
		return loop_timer_set(role->loop, &role->commit, 0);
	}
	return 0;
}

#define RULE(call)                                                                                 \
	{                                                                                          \
		call, #call, 0, 1, MESSAGE_TAIL_MAX, take                                          \
	}

static const struct message_rule rules[] = {
	RULE(LEDGER_BEGIN),         RULE(LEDGER_STARTED),
	RULE(LEDGER_ENDED),         RULE(LEDGER_GET),
	RULE(LEDGER_LIST),          RULE(LEDGER_PENDING),
	RULE(LEDGER_DROP),          RULE(LEDGER_AUDIT),
	RULE(LEDGER_STATS),         RULE(LEDGER_SESSION_OPENED),
	RULE(LEDGER_SESSION_ENDED), RULE(LEDGER_SESSION_GET),
	RULE(LEDGER_SESSION_LIST),  RULE(LEDGER_USED),
	RULE(LEDGER_USAGE),
};

static void peer_gone(void *user, const char *why)
{
	struct ledger_role *role = user;

	role_commit_now(role);
	role_long_finish(role);
	role->options.gone(role->options.user, why);
}

static void nobody_told(void *user, const char *why)
{
	(void)user;
	(void)why;
}

/* --- start and stop -------------------------------------------------------------------------- */

void ledger_options_complete(struct ledger_options *options)
{
	const struct {
		uint64_t *field, value;
	} defaults[] = {
		{ &options->result_age_ms, DAY_MS },
		{ &options->result_max, UINT64_C(16) << 20 },
		{ &options->result_total_max, UINT64_C(2) << 30 },
		{ &options->history_age_ms, 30 * DAY_MS },
		{ &options->sweep_ns, 30 * SEC },
		{ &options->window_ns, SEC / 500 },
		{ &options->fill_ns, SEC / 10 },
		{ &options->flush_ns, SEC },
		{ &options->checkpoint_ns, 60 * SEC },
	};

	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++) {
		if (!*defaults[i].field) {
			*defaults[i].field = defaults[i].value;
		}
	}
	if (!options->checkpoint_entries) {
		options->checkpoint_entries = 1000;
	}
	if (!options->store) {
		options->store = &sqlite_store_class;
	}
	if (!options->gone) {
		options->gone = nobody_told;
	}
}

/* Appends an entry of the ledger's own, signed at once. */
static int record(struct ledger_role *role, const char *kind, const char *facts,
		  struct brig_error *error)
{
	int r = store_begin(role->store, error);

	if (r < 0) {
		return r;
	}
	r = store_append(role->store, kind, "", facts, error);
	if (r < 0) {
		store_rollback(role->store);
		return r;
	}
	return store_commit(role->store, error);
}

static int start(struct ledger_role *role, int dir, struct brig_error *error)
{
	const struct store_limits limits = {
		.result_age_ms = role->options.result_age_ms,
		.result_max = role->options.result_max,
		.result_total_max = role->options.result_total_max,
		.history_age_ms = role->options.history_age_ms,
		.audit_age_ms = role->options.audit_age_ms,
		.durable = role->options.durable,
	};
	char facts[96];
	uint64_t lost = 0;
	int r = role->options.store->open(dir, &limits, &role->store, error);

	r = r < 0 ? r : role_backlog_open(role, dir, error);
	r = r < 0 ? r : store_recover(role->store, &lost, error);
	if (r < 0) {
		return r;
	}
	(void)snprintf(facts, sizeof(facts), "{\"lost\":%" PRIu64 ",\"version\":\"%s\"}", lost,
		       BRIG_VERSION);
	r = record(role, "ledger.started", facts, error);
	if (r < 0) {
		return r;
	}
	role_note(role, false, "recovered", facts);
	role_sign_now(role);
	return role_backlog_begin(role, error);
}

/* jansson would open a file, which the role must not do, and then use the time of day. */
static void seed_hashes(void)
{
	size_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed)) {
		json_object_seed(seed ? seed : 1);
	}
}

static int make(struct ledger_role *role, int dir, struct brig_error *error)
{
	role_timers_init(role);
	role_long_init(role);
	ledger_options_complete(&role->options);
	role->answers = calloc(ANSWERS_MAX, sizeof(*role->answers));
	if (!role->answers) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	seed_hashes();
	/* A limit on the size of files must cause an error, not a death. */
	signal(SIGXFSZ, SIG_IGN);
	return start(role, dir, error);
}

static int meet_front(struct ledger_role *role, struct brig_error *error)
{
	int r = message_peer_new(role->loop, role->socket, rules, ARRAY_SIZE(rules), peer_gone,
				 role, &role->peer);

	if (r < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -r, "the front's socket");
	}
	message_peer_answers(role->peer, NULL);
	return 0;
}

int ledger_role_new(struct loop *loop, int socket, int state_dirfd,
		    const struct ledger_options *options, struct ledger_role **ret,
		    struct brig_error *error)
{
	struct ledger_role *role = calloc(1, sizeof(*role));

	if (!role) {
		close_fd(&socket);
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	backlog_init(&role->backlog);
	role->loop = loop;
	role->options = options ? *options : (struct ledger_options){ 0 };
	role->socket = socket;
	int flusher = role->options.flusher ? role->options.flusher : -1;
	int r = flusher_init(&role->flusher, loop, flusher, role_flushed, role);
	r = r < 0 ? error_errno(error, BRIG_E_SYSTEM, -r, "the flusher's socket")
		  : make(role, state_dirfd, error);
	r = r < 0 ? r : meet_front(role, error);
	if (r < 0) {
		close_fd(&socket);
		ledger_role_free(role);
		return r;
	}
	role_arm(role, &role->sweep, role->options.sweep_ns < SEC ? role->options.sweep_ns : SEC);
	*ret = role;
	return 0;
}

void ledger_role_free(struct ledger_role *role)
{
	struct brig_error error = { 0 };

	if (!role) {
		return;
	}
	if (role->peer) { /* it was up: a clean stop */
		/* Runs have begun whose records were sent before the front or the warden died. */
		message_peer_drain(role->peer, LEDGER_CALLS_MAX);
		role_commit_now(role);
		role_long_finish(role);
		role_backlog_end(role);
		if (record(role, "ledger.stopped", "{}", &error) < 0) {
			role_note(role, true, "failed", error.message);
		}
		role_sign_now(role);
		if (store_flush(role->store, true, NULL) == 0 && !role->backlog.count) {
			(void)backlog_clear(&role->backlog);
		}
	}
	backlog_done(&role->backlog);
	role_timers_done(role);
	flusher_done(&role->flusher);
	message_peer_free(role->peer);
	store_close(role->store);
	free(role->answers);
	free(role);
}
