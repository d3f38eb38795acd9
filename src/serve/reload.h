/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new configuration on its way: read again, shown to the front if there are other tokens in it,
 * then in force. The front alone can tell whether tokens are good, because it alone reads them.
 */
#ifndef BRIG_SERVE_RELOAD_H
#define BRIG_SERVE_RELOAD_H

#include "serve/role_set.h"
#include "serve/supervisor.h"

struct reload {
	struct serve_config config;
	struct buf tokens;
	bool waits;   /* for the front's word about the tokens */
	bool restart; /* there is more in it than other tokens */
	bool again;   /* asked for while it waited */
};

/* Reads all anew. On failure there is nothing to drop. */
int reload_read(struct reload *reload, const struct serve_options *options,
		const struct listeners *listeners, struct brig_error *err);
/* What is new in it; `restart` is set. */
bool reload_has_tokens(struct reload *reload, const struct serve_config *config,
		       const struct buf *tokens);
/* Shows the front the tokens: it answers with CONTROL_TAKEN or CONTROL_REFUSED. */
int reload_offer(struct reload *reload, struct role_child *front, struct brig_error *err);
/* In place of these, which are done with. */
void reload_take(struct reload *reload, struct serve_config *config, struct buf *tokens);
void reload_drop(struct reload *reload);
#endif
