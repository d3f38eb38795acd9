/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon's socket is: the policy, the environment of brig itself, the usual places. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"

#define UNIX_URL "unix://"

static int take(const char *path, char ret[DAEMON_SOCKET_MAX], const char *from,
		struct brig_error *err)
{
	if (path[0] == '/' && strlen(path) < DAEMON_SOCKET_MAX) {
		snprintf(ret, DAEMON_SOCKET_MAX, "%s", path);
		return 0;
	}
	int r = error_set(err, BRIG_E_HOST, EINVAL, "%s: \"%.100s\" is no path of a Unix socket",
			  from, path);
	error_remedy(err, "name a path that begins with a slash, of at most %d bytes",
		     DAEMON_SOCKET_MAX - 1);
	return r;
}

static int take_url(const struct daemon_kind *kind, const char *url, char ret[DAEMON_SOCKET_MAX],
		    struct brig_error *err)
{
	if (strncmp(url, UNIX_URL, strlen(UNIX_URL)) == 0) {
		return take(url + strlen(UNIX_URL), ret, kind->variable, err);
	}
	const char *colon = strchr(url, ':');
	int scheme = colon ? (int)(colon - url) : 0;
	int r = error_set(err, BRIG_E_HOST, EPROTONOSUPPORT,
			  "%s names a daemon by %.*s://, and only Unix sockets are used",
			  kind->variable, scheme < 16 ? scheme : 16, url);
	error_remedy(err,
		     "set %s=unix:///PATH, or \"socket\" in the policy: the daemon has to be "
		     "on this host",
		     kind->variable);
	return r;
}

/* The one of an ordinary user, then the host's. */
static int take_usual(const struct daemon_kind *kind, char ret[DAEMON_SOCKET_MAX])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (kind->own_socket && geteuid() != 0) {
		if (!runtime || runtime[0] != '/') {
			snprintf(ret, DAEMON_SOCKET_MAX, "/run/user/%u/%s", geteuid(),
				 kind->own_socket);
			return 0;
		}
		int n = snprintf(ret, DAEMON_SOCKET_MAX, "%s/%s", runtime, kind->own_socket);
		return n < DAEMON_SOCKET_MAX ? 0 : -ENAMETOOLONG;
	}
	const char *second = kind->sockets[1];
	bool first = access(kind->sockets[0], F_OK) == 0 || !second;
	snprintf(ret, DAEMON_SOCKET_MAX, "%s", first ? kind->sockets[0] : second);
	return 0;
}

int daemon_find(const struct daemon_kind *kind, const struct daemon_settings *settings,
		char ret[DAEMON_SOCKET_MAX], struct brig_error *err)
{
	const char *url = getenv(kind->variable);

	if (settings && settings->socket) {
		return take(settings->socket, ret, "socket", err);
	}
	if (url && *url) {
		return take_url(kind, url, ret, err);
	}
	int r = take_usual(kind, ret);
	return r < 0 ? error_errno(err, BRIG_E_HOST, -r, "XDG_RUNTIME_DIR") : 0;
}
