/* SPDX-License-Identifier: Apache-2.0 */
/* Beginnings that wait for their end, or for anything else that is to be written: ledger_role.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ledger/ledger_role_internal.h"

struct held {
	struct held *next;
	struct message message;
	size_t size;
	char tail[];
};

static int check(const struct message *message, const void *tail, size_t size,
		 struct ledger_text texts[LEDGER_FIELDS_MAX])
{
	const struct ledger_form *form = &ledger_forms[message->kind];
	const char *name = NULL;
	int r = ledger_form_unpack(form, tail, size, texts);

	return r < 0 || ledger_form_check(form, texts, &name) < 0 ? -EPROTO : 0;
}

int role_hold(struct ledger_role *role, const struct message *message, const void *tail,
	      size_t size)
{
	struct ledger_text texts[LEDGER_FIELDS_MAX] = { 0 };
	uint64_t until_ns = clock_now_ns() + role->options.patience_ns;

	if (message->kind != LEDGER_BEGIN || message->value != BEGIN_UNTOLD ||
	    role->held_count == HELD_MAX) {
		return 0;
	}
	if (check(message, tail, size, texts) < 0) {
		return -EPROTO;
	}
	struct held *held = malloc(sizeof(*held) + size);
	if (!held ||
	    (!role->commit.place && loop_timer_set(role->loop, &role->commit, until_ns) < 0)) {
		free(held);
		return 0;
	}
	*held = (struct held){ .message = *message, .size = size };
	held->message.number = store_time_ms();
	memcpy(held->tail, tail, size);
	*role->held_last = held;
	role->held_last = &held->next;
	role->held_count++;
	return 1;
}

static struct held *take_first(struct ledger_role *role)
{
	struct held *held = role->held;

	if (held) {
		role->held = held->next;
		role->held_last = role->held ? role->held_last : &role->held;
		role->held_count--;
	}
	return held;
}

void role_take_held(struct ledger_role *role)
{
	struct held *held;

	while ((held = take_first(role))) {
		struct ledger_text texts[LEDGER_FIELDS_MAX] = { 0 };
		/* As it was when it came: it broke no rule. */
		if (check(&held->message, held->tail, held->size, texts) == 0) {
			(void)role_answer_call(role, &held->message, texts);
		}
		free(held);
	}
}

void role_forget_held(struct ledger_role *role)
{
	struct held *held;

	while ((held = take_first(role))) {
		free(held);
	}
}
