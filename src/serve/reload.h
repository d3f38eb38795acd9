/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new configuration on its way: read again, shown to the front if there are other tokens in it or
 * a renewed certificate, then in force. The front alone can tell whether tokens are good, because
 * it alone reads them; the certificate and its key were checked when they were read.
 */
#ifndef BRIG_SERVE_RELOAD_H
#define BRIG_SERVE_RELOAD_H

#include "serve/role_set.h"
#include "serve/supervisor.h"

enum reload_news {
	RELOAD_TOKENS = 1 << 0,
	RELOAD_CERTIFICATE = 1 << 1,
};

struct reload {
	struct serve_config config;
	struct buf tokens;
	unsigned news;          /* what the front is still to be shown */
	enum reload_news waits; /* for the front's word about this; 0: for none */
	bool restart;           /* the roles must begin anew for it */
	bool again;             /* asked for while it waited */
};

/* Reads all anew. On failure there is nothing to drop. */
int reload_read(struct reload *reload, const struct serve_options *options,
		const struct listeners *listeners, struct brig_error *err);
/* Finds what is new in it: `news` and `restart` are set. */
void reload_compare(struct reload *reload, const struct serve_config *config,
		    const struct buf *tokens);
/*
 * Shows the front the next of the news, tokens first: it answers with CONTROL_ACCEPTED or
 * CONTROL_REFUSED. The warden gets the tokens when the front has taken them.
 */
int reload_offer(struct reload *reload, struct role_set *set, struct brig_error *err);
/* The tokens that the front has taken, for the warden: who may give a person's consent. */
int reload_tell_warden(const struct buf *tokens, struct role_set *set);
/* In place of these, which are done with. */
void reload_take(struct reload *reload, struct serve_config *config, struct buf *tokens);
void reload_drop(struct reload *reload);
#endif
