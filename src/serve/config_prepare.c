/* SPDX-License-Identifier: Apache-2.0 */
/* What the configuration only names: users, and files. */
#include <errno.h>
#include <unistd.h>

#include "serve/account.h"
#include "serve/config.h"

static int read_tokens(struct serve_config *config, struct buf *ret, struct brig_error *err)
{
	if (!config->tokens) {
		return 0;
	}
	int r = config_file(config->tokens, ret, err);
	if (r == -ENOENT) {
		error_set(err, BRIG_E_INPUT, ENOENT, "tokens: there is no file %s", config->tokens);
		error_remedy(err, "make it, or leave `tokens` out: then only the unix socket can "
				  "be used");
	}
	return r;
}

/* The front runs as somebody else, and must still know who started it. */
static int list_users(struct serve_config *config, struct brig_error *err)
{
	strlist_done(&config->uids);
	int r = strlist_addf(&config->uids, "%u", (unsigned)geteuid());

	for (size_t i = 0; r == 0 && i < config->users.count; i++) {
		uid_t uid;
		if (account_user(config->users.items[i], &uid) < 0) {
			error_set(err, BRIG_E_INPUT, ENOENT, "users: there is no user %s",
				  config->users.items[i]);
			error_remedy(err, "write a name of /etc/passwd, or a number");
			return -ENOENT;
		}
		r = strlist_addf(&config->uids, "%u", (unsigned)uid);
	}
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "users") : 0;
}

int config_prepare(struct serve_config *config, struct buf *tokens, struct brig_error *err)
{
	int r = list_users(config, err);

	r = r < 0 ? r : config_tls(config, err);
	return r < 0 ? r : read_tokens(config, tokens, err);
}
