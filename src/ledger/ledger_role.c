/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger role: see ledger_role.h. A round of the loop takes the records that wait on the
 * socket, each within a savepoint of one transaction; when no more wait, or the window is over, it
 * is committed and the answers are sent. When the commit fails, all of them are that error.
 */
#include "ledger/ledger_role.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_out.h"
#include "ledger/json_facts.h"
#include "ledger/ledger_calls.h"
#include "ledger/store.h"
#include "role/message.h"

#define SEC          UINT64_C(1000000000)
#define DAY_MS       UINT64_C(86400000)
#define ANSWERS_MAX  512
#define ANSWER_BYTES ((size_t)32 << 20) /* waiting for the commit */
#define SWEEP_AGAIN  (SEC / 50)

struct answer {
	uint64_t serial;
	struct brig_error error; /* errnum 0: none */
	struct buf data;
};

struct ledger_role {
	struct loop *loop;
	struct ledger_options options;
	struct store *store;       /* owned */
	struct message_peer *peer; /* owned */
	int socket;                /* the peer's, to see whether more waits */
	struct loop_timer commit, flush, checkpoint, sweep;
	uint64_t begun_ns;      /* of the transaction */
	struct answer *answers; /* owned: ANSWERS_MAX of them */
	unsigned answers_count;
	size_t answers_bytes;
};

static void note(struct ledger_role *role, bool bad, const char *event, const char *text)
{
	if (role->options.note) {
		role->options.note(role->options.user, bad, event, text);
	}
}

/* --- answers --------------------------------------------------------------------------------- */

static int send_text(struct ledger_role *role, struct message *message, const char *data,
		     size_t size)
{
	if (size <= MESSAGE_TAIL_MAX) {
		return message_send(role->peer, message, NULL, 0, data, size);
	}
	_cleanup_close_ int block = message_block_make(data, size);
	if (block < 0) {
		static const char why[] = "the answer cannot be sent";
		message->value = (uint32_t)-block;
		message->number = BRIG_E_SYSTEM;
		return message_send(role->peer, message, NULL, 0, why, sizeof(why));
	}
	return message_send(role->peer, message, &block, 1, NULL, 0);
}

static int send_error(struct ledger_role *role, struct message *message,
		      const struct brig_error *error)
{
	char text[sizeof(error->message) + sizeof(error->remedy)];
	size_t first = strlen(error->message) + 1, second = strlen(error->remedy);

	memcpy(text, error->message, first);
	memcpy(text + first, error->remedy, second);
	message->value = (uint32_t)error->errnum;
	message->number = error->code;
	return message_send(role->peer, message, NULL, 0, text, first + second);
}

static void send_answers(struct ledger_role *role, const struct brig_error *failure)
{
	int r = 0;

	for (unsigned i = 0; i < role->answers_count; i++) {
		struct answer *answer = &role->answers[i];
		struct message message = { .kind = LEDGER_ANSWER, .serial = answer->serial };
		const struct brig_error *error = answer->error.errnum ? &answer->error
						 : failure->errnum    ? failure
								      : NULL;

		if (r == 0) {
			r = error ? send_error(role, &message, error)
				  : send_text(role, &message,
					      answer->data.data ? answer->data.data : "",
					      answer->data.size);
		}
		buf_done(&answer->data);
	}
	role->answers_count = 0;
	role->answers_bytes = 0;
	/* Who does not read its answers gets no more: the calls that follow would have none. */
	if (r < 0 && r != -EPIPE) {
		note(role, true, "failed", "the front does not take its answers");
		role->options.gone(role->options.user, "does not take its answers");
	}
}

static void arm(struct ledger_role *role, struct loop_timer *timer, uint64_t in_ns)
{
	if (!timer->place && loop_timer_set(role->loop, timer, clock_now_ns() + in_ns) < 0) {
		note(role, true, "failed", "no memory for a timer");
	}
}

/* Out of room, perhaps: with the log in the database, the log's own room can be used anew. */
static void failed(struct ledger_role *role, const struct brig_error *error)
{
	note(role, true, "failed", error->message);
	(void)store_flush(role->store, false, NULL);
}

static void sign_now(struct ledger_role *role)
{
	struct brig_error error = { 0 };
	char line[CHAIN_LINE_MAX];

	loop_timer_clear(&role->checkpoint);
	if (role->store->now.head.sequence == role->store->now.checkpoint.sequence) {
		return;
	}
	if (store_checkpoint(role->store, &error) < 0) {
		note(role, true, "failed", error.message);
		arm(role, &role->checkpoint, role->options.checkpoint_ns);
		return;
	}
	chain_line(&role->store->now.checkpoint, line);
	note(role, false, "checkpoint", line);
}

static void commit_now(struct ledger_role *role)
{
	struct brig_error failure = { 0 };

	loop_timer_clear(&role->commit);
	if (store_in_transaction(role->store) && store_commit(role->store, &failure) < 0) {
		failed(role, &failure);
	}
	send_answers(role, &failure);
	const struct store_tally *tally = &role->store->now;
	uint64_t fresh = tally->head.sequence - tally->checkpoint.sequence;
	if (fresh >= role->options.checkpoint_entries) {
		sign_now(role);
	} else if (fresh > 0) {
		arm(role, &role->checkpoint, role->options.checkpoint_ns);
		arm(role, &role->flush, role->options.flush_ns);
	}
}

/* --- calls ----------------------------------------------------------------------------------- */

/* All that was done in this transaction is undone: whoever waits for its end is told. */
static void fail_all(struct ledger_role *role, const struct brig_error *error)
{
	failed(role, error);
	for (unsigned i = 0; i < role->answers_count; i++) {
		if (!role->answers[i].error.errnum) {
			role->answers[i].error = *error;
		}
	}
}

static int answer_call(struct ledger_role *role, const struct message *message,
		       const struct ledger_text *texts)
{
	struct answer *answer = &role->answers[role->answers_count];
	struct brig_error *error = &answer->error;
	int r = 0;

	*answer = (struct answer){ .serial = message->serial };
	if (!store_in_transaction(role->store)) {
		role->begun_ns = clock_now_ns();
		r = store_begin(role->store, error);
	}
	if (r == 0) {
		r = store_mark(role->store, error);
	}
	if (r == 0) {
		r = ledger_call(role->store, message, texts, &answer->data, error);
		if (r == 0 && answer->data.failed) {
			r = error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for the answer");
		}
		if (r == 0) {
			r = store_release(role->store, error);
		}
		if (r < 0 && !store_back(role->store)) {
			fail_all(role, error);
		}
	}
	if (r < 0) {
		buf_done(&answer->data);
	}
	role->answers_count++;
	role->answers_bytes += answer->data.size;
	return r == -EPROTO ? r : 0;
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
		struct ledger_text *last = &texts[form->count ? form->count - 1 : 0];
		r = form->block_max && !last->data
			    ? message_block_map(fd, form->block_max, &block, &block_size)
			    : -EPROTO;
		last->data = block ? block : "";
		last->size = block_size;
	}
	if (r < 0 && r != -EPROTO) { /* no memory to look at it */
		struct answer *answer = &role->answers[role->answers_count++];
		*answer = (struct answer){ .serial = message->serial };
		error_errno(&answer->error, BRIG_E_SYSTEM, -r, "the record cannot be taken");
		return 0;
	}
	if (r == 0 && ledger_form_check(form, texts, &name) < 0) {
		r = -EPROTO;
	}
	if (r == 0) {
		r = answer_call(role, message, texts);
	}
	message_block_unmap(block, block_size);
	return r;
}

static int take(void *user, const struct message *message, int fds[MESSAGE_FDS_MAX],
		const void *tail, size_t size)
{
	struct ledger_role *role = user;
	int r = take_texts(role, message, fds[0], tail, size);

	if (r < 0) {
		note(role, true, "refused", ledger_forms[message->kind].name);
		return -EPROTO;
	}
	if (role->answers_count == ANSWERS_MAX || role->answers_bytes > ANSWER_BYTES) {
		commit_now(role);
	} else if (!role->commit.place) {
		/* Due at once: behind all that this round of the loop still takes. */
		return loop_timer_set(role->loop, &role->commit, 0);
	}
	return 0;
}

#define RULE(call)                                                                                 \
	{                                                                                          \
		call, #call, 0, 1, MESSAGE_TAIL_MAX, take                                          \
	}

static const struct message_rule rules[] = {
	RULE(LEDGER_BEGIN),         RULE(LEDGER_STARTED),     RULE(LEDGER_ENDED),
	RULE(LEDGER_GET),           RULE(LEDGER_LIST),        RULE(LEDGER_PENDING),
	RULE(LEDGER_AUDIT),         RULE(LEDGER_STATS),       RULE(LEDGER_SESSION_OPENED),
	RULE(LEDGER_SESSION_ENDED), RULE(LEDGER_SESSION_GET), RULE(LEDGER_SESSION_LIST),
};

/* --- timers ---------------------------------------------------------------------------------- */

static void commit_due(void *user)
{
	struct ledger_role *role = user;
	struct pollfd more = { .fd = role->socket, .events = POLLIN };

	if (clock_now_ns() - role->begun_ns < role->options.window_ns && poll(&more, 1, 0) == 1 &&
	    more.revents == POLLIN && loop_timer_set(role->loop, &role->commit, 0) == 0) {
		return;
	}
	commit_now(role);
}

static void flush_due(void *user)
{
	struct ledger_role *role = user;
	struct brig_error error = { 0 };

	if (store_in_transaction(role->store)) {
		arm(role, &role->flush, role->options.window_ns);
	} else if (store_flush(role->store, false, &error) < 0) {
		note(role, true, "failed", error.message);
	}
}

static void checkpoint_due(void *user)
{
	struct ledger_role *role = user;

	if (store_in_transaction(role->store)) {
		commit_now(role);
	}
	sign_now(role);
}

static void sweep_due(void *user)
{
	struct ledger_role *role = user;
	struct brig_error error = { 0 };
	int r = 1; /* a transaction is open: soon */

	if (!store_in_transaction(role->store)) {
		r = store_sweep(role->store, &error);
		if (r < 0) {
			note(role, true, "failed", error.message);
		}
	}
	arm(role, &role->sweep, r > 0 ? SWEEP_AGAIN : role->options.sweep_ns);
}

static void peer_gone(void *user, const char *why)
{
	struct ledger_role *role = user;

	commit_now(role);
	role->options.gone(role->options.user, why);
}

static void nobody_told(void *user, const char *why)
{
	(void)user;
	(void)why;
}

/* --- start and stop -------------------------------------------------------------------------- */

static void fill_in(struct ledger_options *options)
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
	if (!options->gone) {
		options->gone = nobody_told;
	}
}

/* An entry of the ledger's own, signed at once. */
static int record(struct ledger_role *role, const char *kind, const char *facts,
		  struct brig_error *error)
{
	int r = store_begin(role->store, error);

	if (r == 0) {
		r = store_append(role->store, kind, "", facts, error);
		if (r < 0) {
			store_rollback(role->store);
		} else {
			r = store_commit(role->store, error);
		}
	}
	return r;
}

static int start(struct ledger_role *role, int dir, struct brig_error *error)
{
	const struct store_limits limits = {
		.result_age_ms = role->options.result_age_ms,
		.result_max = role->options.result_max,
		.result_total_max = role->options.result_total_max,
		.history_age_ms = role->options.history_age_ms,
	};
	char facts[96];
	uint64_t lost = 0;
	int r = store_open(dir, &limits, &role->store, error);

	if (r == 0) {
		r = store_recover(role->store, &lost, error);
	}
	if (r < 0) {
		return r;
	}
	(void)snprintf(facts, sizeof(facts), "{\"lost\":%" PRIu64 ",\"version\":\"%s\"}", lost,
		       BRIG_VERSION);
	r = record(role, "ledger.started", facts, error);
	if (r == 0) {
		note(role, false, "recovered", facts);
		sign_now(role);
	}
	return r;
}

/* jansson would look for a file that the role cannot open, and then take the time of day. */
static void seed_hashes(void)
{
	size_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed)) {
		json_object_seed(seed ? seed : 1);
	}
}

static int make(struct ledger_role *role, int dir, struct brig_error *error)
{
	const struct {
		struct loop_timer *timer;
		void (*due)(void *user);
	} timers[] = {
		{ &role->commit, commit_due },
		{ &role->flush, flush_due },
		{ &role->checkpoint, checkpoint_due },
		{ &role->sweep, sweep_due },
	};

	for (size_t i = 0; i < ARRAY_SIZE(timers); i++) {
		*timers[i].timer = (struct loop_timer){ .due = timers[i].due, .user = role };
	}
	fill_in(&role->options);
	role->answers = calloc(ANSWERS_MAX, sizeof(*role->answers));
	if (!role->answers) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory");
	}
	seed_hashes();
	/* A limit on the size of files is an error to us, not a reason to die. */
	signal(SIGXFSZ, SIG_IGN);
	return start(role, dir, error);
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
	role->loop = loop;
	role->options = options ? *options : (struct ledger_options){ 0 };
	role->socket = socket;
	int r = make(role, state_dirfd, error);
	if (r == 0) {
		r = message_peer_new(loop, socket, rules, ARRAY_SIZE(rules), peer_gone, role,
				     &role->peer);
		if (r < 0) {
			error_errno(error, BRIG_E_SYSTEM, -r, "the front's socket");
		}
	}
	if (r < 0) {
		close_fd(&socket);
		ledger_role_free(role);
		return r;
	}
	arm(role, &role->sweep, SEC);
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
		commit_now(role);
		if (record(role, "ledger.stopped", "{}", &error) < 0) {
			note(role, true, "failed", error.message);
		}
		sign_now(role);
		(void)store_flush(role->store, true, NULL);
	}
	loop_timer_clear(&role->commit);
	loop_timer_clear(&role->flush);
	loop_timer_clear(&role->checkpoint);
	loop_timer_clear(&role->sweep);
	message_peer_free(role->peer);
	store_close(role->store);
	free(role->answers);
	free(role);
}
