/* SPDX-License-Identifier: Apache-2.0 */
/* Authentication: see auth.h. */
#include "front/access/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

void auth_done(struct auth *auth)
{
	tokens_done(&auth->tokens);
	free(auth->uids);
	free(auth->consent_uids);
	strlist_done(&auth->hosts);
	strlist_done(&auth->origins);
}

/* "name", "name:port", "[::1]:port": the length of the name; 0: none of these. */
static size_t name_length(const char *host)
{
	size_t length = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

	if (length > strlen(host)) {
		return 0;
	}
	const char *port = host + length;
	if (*port == '\0') {
		return length;
	}
	size_t digits = strspn(port + 1, "0123456789");
	return *port == ':' && digits >= 1 && digits <= 5 && port[1 + digits] == '\0' ? length : 0;
}

static bool host_allowed(const struct auth *auth, const char *host)
{
	static const char *const loopback[] = { "localhost", "127.0.0.1", "[::1]" };
	size_t length = name_length(host);

	for (size_t i = 0; length && i < ARRAY_SIZE(loopback); i++) {
		if (strlen(loopback[i]) == length && strncasecmp(loopback[i], host, length) == 0) {
			return true;
		}
	}
	for (size_t i = 0; length && i < auth->hosts.count; i++) {
		const char *name = auth->hosts.items[i];
		if (strlen(name) == length && strncasecmp(name, host, length) == 0) {
			return true;
		}
	}
	return false;
}

static bool origin_allowed(const struct auth *auth, const char *origin)
{
	if (strlist_has(&auth->origins, origin)) {
		return true;
	}
	const char *host = strncmp(origin, "http://", 7) == 0    ? origin + 7
			   : strncmp(origin, "https://", 8) == 0 ? origin + 8
								 : NULL;
	return host && host_allowed(auth, host);
}

enum problem_kind auth_check_origin(const struct auth *auth, const struct http_exchange *exchange)
{
	const char *host = http_header_find(exchange, "Host");
	const char *origin = http_header_find(exchange, "Origin");

	if (!exchange->peer.local && (!host || !host_allowed(auth, host))) {
		return PROBLEM_FORBIDDEN;
	}
	return origin && !origin_allowed(auth, origin) ? PROBLEM_FORBIDDEN : PROBLEM_NONE;
}

static enum problem_kind by_token(const struct auth *auth, const char *header, struct caller *ret)
{
	if (strncasecmp(header, "Bearer ", 7) != 0) {
		return PROBLEM_UNAUTHORIZED;
	}
	const struct token *token = tokens_find(&auth->tokens, header + 7, time(NULL));
	if (!token) {
		return PROBLEM_UNAUTHORIZED;
	}
	ret->token = token;
	ret->is_operator = token->is_operator;
	memcpy(ret->name, token->name, sizeof(ret->name));
	memcpy(ret->tenant, token->tenant, sizeof(ret->tenant));
	/*
	 * Kept only if it may be needed: the warden checks the token itself and does not trust the
	 * front.
	 */
	if (token->consent && strlen(header + 7) <= TOKEN_TEXT_MAX) {
		ret->consent = true;
		snprintf(ret->presented, sizeof(ret->presented), "%s", header + 7);
	}
	return PROBLEM_NONE;
}

static bool uid_consents(const struct auth *auth, uid_t uid)
{
	for (size_t i = 0; i < auth->consent_uids_count; i++) {
		if (auth->consent_uids[i] == uid) {
			return true;
		}
	}
	return false;
}

static bool uid_allowed(const struct auth *auth, uid_t uid)
{
	for (size_t i = 0; i < auth->uids_count; i++) {
		if (auth->uids[i] == uid) {
			return true;
		}
	}
	return uid == 0;
}

enum problem_kind auth_caller(const struct auth *auth, const struct http_exchange *exchange,
			      struct caller *ret)
{
	const char *header = http_header_find(exchange, "Authorization");

	*ret = (struct caller){ 0 };
	/* A caller that presents a token is identified by it, also on the unix socket. */
	if (header || !exchange->peer.local) {
		return header ? by_token(auth, header, ret) : PROBLEM_UNAUTHORIZED;
	}
	if (!uid_allowed(auth, exchange->peer.uid)) {
		return PROBLEM_FORBIDDEN;
	}
	snprintf(ret->name, sizeof(ret->name), "uid:%u", exchange->peer.uid);
	ret->consent = uid_consents(auth, exchange->peer.uid);
	memcpy(ret->tenant, ret->name, sizeof(ret->tenant));
	ret->is_operator = exchange->peer.uid == 0 || exchange->peer.uid == auth->owner;
	return PROBLEM_NONE;
}

bool auth_recall(const struct auth *auth, const char *tenant, const char *name, struct caller *ret)
{
	*ret = (struct caller){ .token = tokens_named(&auth->tokens, name) };
	snprintf(ret->tenant, sizeof(ret->tenant), "%s", tenant);
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->consent = ret->token ? ret->token->consent
				  : strncmp(name, "uid:", 4) == 0 &&
					    uid_consents(auth, (uid_t)strtoul(name + 4, NULL, 10));
	/*
	 * Without the token its ceilings are not known: do not treat it as a caller without
	 * ceilings.
	 */
	return ret->token || (strncmp(name, "uid:", 4) == 0 &&
			      uid_allowed(auth, (uid_t)strtoul(name + 4, NULL, 10)));
}

bool auth_expired(const struct caller *caller)
{
	return caller->token && token_expired(caller->token, time(NULL));
}

bool auth_is_valid(const struct auth *auth, const char *tenant, const char *name)
{
	const struct token *token = tokens_named(&auth->tokens, name);

	return strncmp(name, "uid:", 4) == 0 || (token && strcmp(token->tenant, tenant) == 0);
}
