/* SPDX-License-Identifier: Apache-2.0 */
/* A new configuration on its way: see reload.h. */
#include "serve/reload.h"

#include <string.h>

#include "base/cleanup.h"
#include "role/message.h"

static void forget_tokens(struct buf *tokens)
{
	if (tokens->data) {
		explicit_bzero(tokens->data, tokens->size);
	}
	buf_done(tokens);
	*tokens = (struct buf){ 0 };
}

int reload_read(struct reload *reload, const struct serve_options *options,
		const struct listeners *listeners, struct brig_error *err)
{
	config_init(&reload->config);
	reload->tokens = (struct buf){ 0 };
	int r = options->reload(options->user, &reload->config, err);
	r = r < 0 ? r : config_prepare(&reload->config, &reload->tokens, err);
	r = r < 0 ? r : listeners_check(listeners, &reload->config, err);
	if (r < 0) {
		reload_drop(reload);
	}
	return r;
}

static bool same_bytes(const struct buf *a, const struct buf *b)
{
	return !a->failed && !b->failed && a->size == b->size &&
	       (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool same_config(const struct serve_config *a, const struct serve_config *b)
{
	_cleanup_(buf_done)
	struct buf first = { 0 };
	_cleanup_(buf_done)
	struct buf second = { 0 };

	config_write(a, &first);
	config_write(b, &second);
	return same_bytes(&first, &second);
}

bool reload_has_tokens(struct reload *reload, const struct serve_config *config,
		       const struct buf *tokens)
{
	bool other = !same_bytes(&reload->tokens, tokens);

	/* When all is as it was, the operator wants the roles to begin anew: for policies, say. */
	reload->restart = !other || !same_config(&reload->config, config);
	return other;
}

int reload_offer(struct reload *reload, struct role_child *front, struct brig_error *err)
{
	const struct buf *tokens = &reload->tokens;
	_cleanup_close_ int block =
		message_block_make(tokens->data ? tokens->data : "", tokens->size);
	int r = block < 0 ? block : role_child_give(front, CONTROL_TOKENS, block);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot hand over the tokens");
	}
	reload->waits = true;
	return 0;
}

void reload_take(struct reload *reload, struct serve_config *config, struct buf *tokens)
{
	config_done(config);
	*config = reload->config;
	forget_tokens(tokens);
	*tokens = reload->tokens;
	reload->tokens = (struct buf){ 0 };
	reload->waits = false;
}

void reload_drop(struct reload *reload)
{
	config_done(&reload->config);
	forget_tokens(&reload->tokens);
	reload->waits = false;
}
