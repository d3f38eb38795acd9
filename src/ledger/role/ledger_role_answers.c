/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger role's answers: they wait for the commit, and are sent together. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "ledger/role/ledger_role_internal.h"

int role_send_block(struct ledger_role *role, struct message *message, int block)
{
	int r = block < 0 ? block : message_post(role->peer, message, &block, 1, NULL, 0);

	if (r < 0 && r != -EPIPE) {
		static const char why[] = "the answer cannot be sent";
		message->value = (uint32_t)-r;
		message->number = BRIG_E_SYSTEM;
		return message_post(role->peer, message, NULL, 0, why, sizeof(why));
	}
	return r;
}

int role_send_text(struct ledger_role *role, struct message *message, const char *data, size_t size)
{
	if (size <= MESSAGE_TAIL_MAX) {
		return message_post(role->peer, message, NULL, 0, data, size);
	}
	/* That needs descriptors, and other answers may use all of them. */
	_cleanup_close_ int block = message_block_make(data, size);
	return role_send_block(role, message, block);
}

int role_send_error(struct ledger_role *role, struct message *message,
		    const struct brig_error *error)
{
	char text[sizeof(error->message) + sizeof(error->remedy)];
	size_t first = strlen(error->message) + 1, second = strlen(error->remedy);

	memcpy(text, error->message, first);
	memcpy(text + first, error->remedy, second);
	message->value = (uint32_t)error->errnum;
	message->number = error->code;
	return message_post(role->peer, message, NULL, 0, text, first + second);
}

/* Without memory for a short answer, the calls that follow would get none either. */
void role_sent(struct ledger_role *role, int r)
{
	if (r < 0 && r != -EPIPE) {
		role_note(role, true, "failed", "an answer cannot be sent");
		role->options.gone(role->options.user, "cannot be answered");
	}
}

void role_send_answers(struct ledger_role *role, const struct brig_error *failure)
{
	int r = 0;

	for (unsigned i = 0; i < role->answers_count; i++) {
		struct answer *answer = &role->answers[i];
		struct message message = { .kind = LEDGER_ANSWER, .serial = answer->serial };
		const struct brig_error *error = answer->error.errnum ? &answer->error
						 : failure->errnum && !answer->logged ? failure
										      : NULL;

		if (!error && answer->opens[0]) {
			(void)open_set_add(&role->backlog.open, answer->opens);
		}
		if (r == 0 && !error && answer->more.n) {
			role_long_read(role, answer);
		} else if (r == 0) {
			r = error ? role_send_error(role, &message, error)
				  : role_send_text(role, &message,
						   answer->data.data ? answer->data.data : "",
						   answer->data.size);
		}
		buf_done(&answer->data);
	}
	role->answers_count = 0;
	role->answers_bytes = 0;
	role_sent(role, r);
}
