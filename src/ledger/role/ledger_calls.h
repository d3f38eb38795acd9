/* SPDX-License-Identifier: Apache-2.0 */
/* From the form of a call to the store. */
#ifndef BRIG_LEDGER_CALLS_H
#define BRIG_LEDGER_CALLS_H

#include "ledger/store/store.h"
#include "role/message.h"

/*
 * The texts are valid for the form. -EPROTO: a correct front does not send this. Other errors are
 * the answer. When `more` is set, the answer is the beginning of a longer one.
 */
int ledger_call(struct store *store, const struct message *message, const struct ledger_text *texts,
		struct buf *answer, struct store_more *more, struct brig_error *error);
#endif
