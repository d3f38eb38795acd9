/* SPDX-License-Identifier: Apache-2.0 */
/* Reloads the configuration: see reload.h. */
#include "serve/supervisor/reload.h"

#include <string.h>

#include "base/cleanup.h"
#include "role/message.h"
#include "serve/tls/tls_texts.h"

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

/* Everything except the contents of the certificate files. */
static void write_settings(const struct serve_config *config, struct buf *ret)
{
	struct serve_config words = *config;

	words.tls_print = NULL;
	config_write(&words, ret);
}

static bool same_settings(const struct serve_config *a, const struct serve_config *b)
{
	_cleanup_(buf_done)
	struct buf first = { 0 };
	_cleanup_(buf_done)
	struct buf second = { 0 };

	write_settings(a, &first);
	write_settings(b, &second);
	return same_bytes(&first, &second);
}

static bool renewed(const struct serve_config *fresh, const struct serve_config *config)
{
	return fresh->tls_print && config->tls_print &&
	       strcmp(fresh->tls_print, config->tls_print) != 0;
}

void reload_compare(struct reload *reload, const struct serve_config *config,
		    const struct buf *tokens)
{
	reload->news = (same_bytes(&reload->tokens, tokens) ? 0 : RELOAD_TOKENS) |
		       (renewed(&reload->config, config) ? RELOAD_CERTIFICATE : 0);
	/*
	 * If nothing has changed, the operator wants the roles to restart: to read policies again,
	 * for example.
	 */
	reload->restart = !reload->news || !same_settings(&reload->config, config);
	if (reload->restart) { /* the next front starts with the certificate */
		reload->news &= RELOAD_TOKENS;
	}
}

static int tokens_block(const struct buf *tokens)
{
	return message_block_make(tokens->data ? tokens->data : "", tokens->size);
}

int reload_offer(struct reload *reload, struct role_set *set, struct brig_error *err)
{
	bool tokens = reload->news & RELOAD_TOKENS;
	_cleanup_close_ int block =
		tokens ? tokens_block(&reload->tokens) : tls_texts_block(&reload->config, err);
	int r = block < 0
			? block
			: role_child_send_fd(&set->children[ROLE_FRONT],
					     tokens ? CONTROL_TOKENS : CONTROL_CERTIFICATE, block);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot send the %s",
				   tokens ? "tokens" : "certificate");
	}
	reload->waits = tokens ? RELOAD_TOKENS : RELOAD_CERTIFICATE;
	reload->news &= ~(unsigned)reload->waits;
	return 0;
}

int reload_update_warden(const struct buf *tokens, struct role_set *set)
{
	_cleanup_close_ int block = tokens_block(tokens);

	return block < 0 ? block
			 : role_child_send_fd(&set->children[ROLE_WARDEN], CONTROL_TOKENS, block);
}

void reload_take(struct reload *reload, struct serve_config *config, struct buf *tokens)
{
	config_done(config);
	*config = reload->config;
	forget_tokens(tokens);
	*tokens = reload->tokens;
	reload->tokens = (struct buf){ 0 };
	reload->waits = 0;
}

void reload_drop(struct reload *reload)
{
	config_done(&reload->config);
	forget_tokens(&reload->tokens);
	reload->waits = 0;
}
