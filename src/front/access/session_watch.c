/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches for sessions that end by themselves: out of time, out of memory, with their interpreter.
 */
#include "front/access/session_watch.h"

#include <string.h>

#include "base/clock.h"
#include "ledger/ledger_messages.h"
#include "role/log.h"

#define AGAIN_NS    UINT64_C(1000000000)
#define REASON_SIZE (LEDGER_REASON_MAX + 1)

uint64_t session_runs(const json_t *object)
{
	json_int_t runs = json_integer_value(json_object_get(object, "runs"));

	return runs > 0 ? (uint64_t)runs : 0;
}

static void begin(void *user);

/*
 * Text that a record of the ledger can hold: no control characters, no partial character at its
 * end.
 */
static void plain_text(const char *from, char *to, size_t size)
{
	size_t length = strnlen(from, size - 1);

	while (length && from[length] && ((unsigned char)from[length] & 0xc0) == 0x80) {
		length--;
	}
	memcpy(to, from, length);
	to[length] = '\0';
	for (char *c = to; *c; c++) {
		*c = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
	}
}

/*
 * Charges usage that no result has reported: sessions between runs, forks, runs without a listener.
 */
static void charge(struct front *front, const json_t *used)
{
	json_t *one;
	size_t index;

	json_array_foreach(used, index, one)
	{
		const char *tenant = json_string_value(json_object_get(one, "tenant"));
		const char *caller = json_string_value(json_object_get(one, "caller"));
		double ms = json_number_value(json_object_get(one, "cpu_ms"));

		if (tenant && caller && ms > 0 && ms < 1e12) {
			admission_charge(&front->admission, tenant, caller, (uint64_t)(ms * 1e6));
		}
	}
}

static void ended(void *user, const char *data, size_t size)
{
	struct session_watch *watch = user;
	json_t *root = json_loadb(data, size, 0, NULL);
	json_t *one;
	size_t index;
	char reason[REASON_SIZE];

	watch->run = NULL;
	json_array_foreach(json_object_get(root, "ended"), index, one)
	{
		const char *tenant = json_string_value(json_object_get(one, "tenant"));
		const char *id = json_string_value(json_object_get(one, "id"));
		const char *why = json_string_value(json_object_get(one, "reason"));

		plain_text(why && *why ? why : "it has ended", reason, sizeof(reason));
		/* Sessions that were closed are recorded already. */
		if (tenant && id &&
		    ledger_session_ended(watch->front->ledger, tenant, id, reason,
					 session_runs(one), NULL, NULL) < 0) {
			role_log_often(ROLE_ERROR, "ledger.session", "end", "id=%s why=%s", id,
				       "its end cannot be recorded");
		}
	}
	charge(watch->front, json_object_get(root, "used"));
	json_decref(root);
	begin(watch);
}

static void begin_later(struct session_watch *watch)
{
	watch->again.due = begin;
	watch->again.user = watch;
	(void)loop_timer_set(watch->front->loop, &watch->again, clock_now_ns() + AGAIN_NS);
}

static void unwatched(void *user, const struct brig_error *error)
{
	struct session_watch *watch = user;

	role_log(ROLE_WARNING, "sessions.unwatched", "why=%s", error->message);
	watch->run = NULL;
	begin_later(watch);
}

static void begin(void *user)
{
	struct session_watch *watch = user;
	struct engine_call call = { .op = ENGINE_SESSION_ENDED,
				    .tenant = "brig",
				    .end = ended,
				    .fail = unwatched,
				    .user = watch };

	if (engine_start(watch->inner, &call, &watch->run, NULL) < 0) {
		watch->run = NULL;
		begin_later(watch);
	}
}

void session_watch_begin(struct session_watch *watch, struct front *front, struct engine *inner)
{
	watch->front = front;
	watch->inner = inner;
	begin(watch);
}

void session_watch_end(struct session_watch *watch)
{
	loop_timer_clear(&watch->again);
	if (watch->run) {
		engine_forget(watch->run);
		watch->run = NULL;
	}
}
