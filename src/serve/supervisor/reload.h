/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reloading the configuration: it is read again, sent to the front if it has new tokens or a new
 * certificate, and then applied. Only the front can check tokens, because no other role reads all
 * of them; the certificate and its key were checked when they were read.
 */
#ifndef BRIG_SERVE_RELOAD_H
#define BRIG_SERVE_RELOAD_H

#include "serve/supervisor/role_set.h"
#include "serve/supervisor/supervisor.h"

enum reload_news {
	RELOAD_TOKENS = 1 << 0,
	RELOAD_CERTIFICATE = 1 << 1,
};

struct reload {
	struct serve_config config;
	struct buf tokens;
	unsigned news;          /* updates that the front has not been sent yet */
	enum reload_news waits; /* the update whose reply from the front is expected; 0: none */
	bool restart;           /* the roles must be restarted */
	bool again;             /* requested while it was under way */
};

/* Reads everything again. On failure there is nothing to drop. */
int reload_read(struct reload *reload, const struct serve_options *options,
		const struct listeners *listeners, struct brig_error *err);
/* Compares it with the current configuration: sets `news` and `restart`. */
void reload_compare(struct reload *reload, const struct serve_config *config,
		    const struct buf *tokens);
/*
 * Sends the front the next update, tokens first: it replies CONTROL_ACCEPTED or CONTROL_REFUSED.
 * The warden gets the tokens after the front has accepted them.
 */
int reload_offer(struct reload *reload, struct role_set *set, struct brig_error *err);
/*
 * Sends the tokens that the front has accepted to the warden, which checks who may give a person's
 * consent.
 */
int reload_update_warden(const struct buf *tokens, struct role_set *set);
/* Replaces `config` and `tokens`, and frees the old ones. */
void reload_take(struct reload *reload, struct serve_config *config, struct buf *tokens);
void reload_drop(struct reload *reload);
#endif
