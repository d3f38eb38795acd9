/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a daemon is there, answers in time, is new enough, and limits its containers. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"
#include "kernel/probe/probe.h"

static void missing(const struct brig_error *err, struct probe_finding *ret)
{
	ret->state = PROBE_MISSING;
	ret->errnum = err->errnum;
	snprintf(ret->detail, sizeof(ret->detail), "%.*s", (int)sizeof(ret->detail) - 1,
		 err->message);
	snprintf(ret->repair, sizeof(ret->repair), "%.*s", (int)sizeof(ret->repair) - 1,
		 err->remedy);
}

static int ask(const char *socket, const char *path, uint64_t deadline_ns, struct daemon_call *call,
	       struct brig_error *err)
{
	const struct daemon_request request = { .method = "GET", .path = path };
	int r = daemon_ask(call, socket, &request, deadline_ns, err);

	if (r == 0 && daemon_call_status(call) != 200) {
		r = error_set(err, BRIG_E_HOST, EPROTO, "the daemon at %s answered %s with %u",
			      socket, path, daemon_call_status(call));
		error_remedy(err, "see whether the socket is that of a container daemon");
	}
	return r;
}

static int ask_version(const struct daemon_kind *kind, const char *socket, uint64_t deadline_ns,
		       struct daemon_version *ret, struct brig_error *err)
{
	_cleanup_(daemon_call_done)
	struct daemon_call call = DAEMON_CALL_NONE;
	int r = ask(socket, "/version", deadline_ns, &call, err);

	if (r < 0) {
		return r;
	}
	if (daemon_answer_version(&call.body, ret) < 0) {
		r = error_set(err, BRIG_E_HOST, EPROTO, "the daemon at %s names no version",
			      socket);
		error_remedy(err, "see whether the socket is that of %s", kind->title);
		return r;
	}
	if (ret->most < DAEMON_API_MINOR) {
		r = error_set(err, BRIG_E_HOST, ENOTSUP, "%s has API 1.%u, and 1.%u is needed",
			      kind->title, ret->most, DAEMON_API_MINOR);
		error_remedy(err, "install a newer %s", kind->title);
	}
	return r;
}

static bool is_of_root(const char *socket)
{
	struct stat info;

	return stat(socket, &info) == 0 && info.st_uid == 0;
}

static int ask_info(const struct daemon_kind *kind, const char *socket, uint64_t deadline_ns,
		    struct brig_error *err)
{
	_cleanup_(daemon_call_done)
	struct daemon_call call = DAEMON_CALL_NONE;
	struct daemon_info info;
	char path[32];

	snprintf(path, sizeof(path), "/info");
	int r = ask(socket, path, deadline_ns, &call, err);
	if (r < 0) {
		return r;
	}
	if (daemon_answer_info(&call.body, &info) < 0) {
		return error_set(err, BRIG_E_HOST, EPROTO,
				 "the daemon at %s says nothing of its "
				 "limits",
				 socket);
	}
	info.rootless |= !is_of_root(socket);
	/* Podman says of itself that it can. */
	if (info.memory && info.pids && !(info.rootless && info.old_groups)) {
		return 0;
	}
	r = error_set(err, BRIG_E_HOST, ENOTSUP, "%s%s cannot limit memory and processes",
		      info.rootless ? "rootless " : "", kind->title);
	error_remedy(err, "use the daemon of root, or control groups of version 2");
	return r;
}

void daemon_probe(const struct daemon_kind *kind, const struct spec *spec, uint64_t deadline_ns,
		  struct probe_finding *ret)
{
	char socket[DAEMON_SOCKET_MAX] = "";
	struct daemon_version version = { 0 };
	struct brig_error err = { 0 };
	int r = daemon_find(kind, kind->settings(spec), socket, &err);

	r = r < 0 ? r : ask_version(kind, socket, deadline_ns, &version, &err);
	if (r == -ENOENT || r == -ECONNREFUSED) {
		error_remedy(&err, "start it (systemctl %s%s); or name its socket in the policy",
			     kind->own_socket && geteuid() != 0 ? "--user " : "", kind->start);
	}
	r = r < 0 ? r : ask_info(kind, socket, deadline_ns, &err);
	if (r < 0) {
		missing(&err, ret);
		return;
	}
	snprintf(ret->detail, sizeof(ret->detail), "%s %s, API 1.%u, at %s", kind->title,
		 version.text, version.most, socket);
}
