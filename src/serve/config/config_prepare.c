/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the names in the configuration: users, and files. */
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

static int add_users(const struct strlist *names, const char *key, struct strlist *ret,
		     struct brig_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < names->count; i++) {
		uid_t uid;
		if (account_user(names->items[i], &uid) < 0) {
			error_set(err, BRIG_E_INPUT, ENOENT, "%s: there is no user %s", key,
				  names->items[i]);
			error_remedy(err, "write a name of /etc/passwd, or a number");
			return -ENOENT;
		}
		r = strlist_addf(ret, "%u", (unsigned)uid);
	}
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "%s", key) : 0;
}

/* The front runs as another user, and must still know the user who started the service. */
static int list_users(struct serve_config *config, struct brig_error *err)
{
	strlist_done(&config->uids);
	strlist_done(&config->consent_uids);
	int r = strlist_addf(&config->uids, "%u", (unsigned)geteuid());

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "users");
	}
	r = add_users(&config->users, "users", &config->uids, err);
	return r < 0 ? r
		     : add_users(&config->consent_users, "consent_users", &config->consent_uids,
				 err);
}

int config_prepare(struct serve_config *config, struct buf *tokens, struct brig_error *err)
{
	int r = list_users(config, err);

	r = r < 0 ? r : config_tls(config, err);
	return r < 0 ? r : read_tokens(config, tokens, err);
}
