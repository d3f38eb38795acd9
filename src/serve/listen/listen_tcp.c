/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP. If requests are not encrypted, the operator must allow any address that other hosts can
 * reach explicitly. Names are not resolved: only addresses are accepted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "serve/listen/listen_internal.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
	struct sockaddr_storage room;
};

static int wrong(const char *text, const char *why, struct brig_error *err)
{
	error_set(err, BRIG_E_INPUT, EINVAL, "listen: \"%.200s\": %s", text, why);
	error_remedy(err, "write unix:/PATH, 127.0.0.1:PORT or [::1]:PORT");
	return -EINVAL;
}

static int parse(const char *text, union address *ret, socklen_t *ret_size, struct brig_error *err)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;

	if (!colon || unit_parse(UNIT_COUNT, colon + 1, &port) < 0 || port > 65535) {
		return wrong(text, "has no port from 0 to 65535", err);
	}
	size_t size = (size_t)(colon - text);
	bool bracketed = size >= 2 && text[0] == '[' && text[size - 1] == ']';
	text += bracketed;
	size -= bracketed ? 2 : 0;
	if (size >= sizeof(host)) {
		return wrong(text, "is not an address", err);
	}
	memcpy(host, text, size);
	host[size] = '\0';
	const char *name = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
	memset(ret, 0, sizeof(*ret));
	if (!bracketed && inet_pton(AF_INET, name, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		*ret_size = sizeof(ret->v4);
		return 0;
	}
	if (bracketed && inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1) {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons((uint16_t)port);
		*ret_size = sizeof(ret->v6);
		return 0;
	}
	return wrong(host, "is not an address; names are not looked up", err);
}

static bool is_loopback(const union address *address)
{
	switch (address->any.sa_family) {
	case AF_INET:
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
	case AF_INET6:
		return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
	case AF_UNIX:
		return true;
	default:
		return false;
	}
}

static char *describe(const union address *address)
{
	char host[INET6_ADDRSTRLEN] = "?";
	char *text = NULL;
	int n = -1;

	switch (address->any.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &address->v4.sin_addr, host, sizeof(host));
		n = asprintf(&text, "%s:%u", host, ntohs(address->v4.sin_port));
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &address->v6.sin6_addr, host, sizeof(host));
		n = asprintf(&text, "[%s]:%u", host, ntohs(address->v6.sin6_port));
		break;
	case AF_UNIX:
		n = asprintf(&text, "unix:%.*s", (int)sizeof(address->local.sun_path),
			     address->local.sun_path);
		break;
	default:
		n = asprintf(&text, "?");
		break;
	}
	return n < 0 ? NULL : text;
}

static int check_address(const union address *address, const char *text,
			 const struct serve_config *config, struct brig_error *err)
{
	if (is_loopback(address) || config->tls_certificate || config->insecure_bind) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EACCES,
		  "listen: others can reach %s, and requests and tokens would travel in clear",
		  text);
	error_remedy(err, "set tls.certificate and tls.key; or listen on 127.0.0.1 behind a proxy "
			  "with TLS; or allow it: --insecure-bind");
	return -EACCES;
}

int listen_check(struct listen_socket *listener, const struct serve_config *config,
		 struct brig_error *err)
{
	union address address = { 0 };
	socklen_t size = sizeof(address);

	if (getsockname(listener->fd, &address.any, &size) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "getsockname");
	}
	listener->place = describe(&address);
	if (!listener->place) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "listen");
	}
	return check_address(&address, listener->place, config, err);
}

int listeners_check(const struct listeners *listeners, const struct serve_config *config,
		    struct brig_error *err)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < listeners->count; i++) {
		struct listen_socket look = { .fd = listeners->items[i].fd };
		r = listen_check(&look, config, err);
		free(look.place);
	}
	return r;
}

int listen_check_places(const struct serve_config *config, struct brig_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < config->listen.count; i++) {
		const char *text = config->listen.items[i];
		union address address;
		socklen_t size;

		if (strncmp(text, "unix:", 5) == 0) {
			continue;
		}
		r = parse(text, &address, &size, err);
		r = r < 0 ? r : check_address(&address, text, config, err);
	}
	return r;
}

int listen_tcp(struct listen_socket *listener, const char *text, const struct serve_config *config,
	       struct brig_error *err)
{
	union address address;
	socklen_t size;
	int on = 1;
	int r = parse(text, &address, &size, err);

	if (r < 0 || (r = check_address(&address, text, config, err)) < 0) {
		return r;
	}
	listener->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "listen on %s", text);
	}
	if (setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (address.any.sa_family == AF_INET6 &&
	     setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
	    bind(listener->fd, &address.any, size) < 0 ||
	    listen(listener->fd, LISTEN_BACKLOG) < 0) {
		r = error_errno(err, BRIG_E_INPUT, errno, "listen on %s", text);
		error_remedy(err, "choose another port, or stop the process that has it: ss -ltnp");
		return r;
	}
	return listen_check(listener, config, err);
}
