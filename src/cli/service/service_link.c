/* SPDX-License-Identifier: Apache-2.0 */
/* Connects to a service: see service_link.h. */
#include "cli/service/service_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "cli/service/service_name.h"
#include "cli/service/service_tls.h"

static int connect_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		return -errno;
	}
	if (strlen(path) >= sizeof(address.sun_path)) {
		return -ENAMETOOLONG;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		return -errno;
	}
	return TAKE_FD(fd);
}

/* The default sockets of `brig serve`: the user's own service first, then the machine's. */
static int connect_usual(struct buf *tried)
{
	static const struct {
		const char *variable, *format;
	} places[] = {
		{ "XDG_RUNTIME_DIR", "%s/brig/brig.sock" },
		{ "XDG_STATE_HOME", "%s/brig/brig.sock" },
		{ "HOME", "%s/.local/state/brig/brig.sock" },
	};
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int fd = -ENOENT;

	for (size_t i = 0; fd < 0 && geteuid() != 0 && i < ARRAY_SIZE(places); i++) {
		const char *base = getenv(places[i].variable);
		struct buf text = { 0 };

		if (base && base[0] == '/') {
			buf_adds(&text, base);
			buf_adds(&text, places[i].format + 2);
		}
		if (text.data && !text.failed && text.size < sizeof(path)) {
			memcpy(path, text.data, text.size + 1);
			buf_addf(tried, "%s%s", tried->size ? ", " : "", path);
			fd = connect_unix(path);
		}
		buf_done(&text);
	}
	if (fd < 0) {
		buf_addf(tried, "%s/run/brig/brig.sock", tried->size ? ", " : "");
		fd = connect_unix("/run/brig/brig.sock");
	}
	return fd;
}

static int no_service(const char *where, int errnum, struct brig_error *err)
{
	int r = error_errno(err, BRIG_E_SYSTEM, errnum, "no service answers at %s", where);

	error_remedy(err, "start one with brig serve, or give its address: --service URL");
	return r;
}

/* Is the other end this host? Also for an IPv4-mapped IPv6 address. */
static bool is_loopback(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} address = { .six = { 0 } };
	socklen_t size = sizeof(address);

	if (getpeername(fd, &address.any, &size) < 0) {
		return false;
	}
	if (address.any.sa_family == AF_INET) {
		return (ntohl(address.four.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
	}
	const uint8_t *bytes = address.six.sin6_addr.s6_addr;

	return memcmp(bytes, &in6addr_loopback, sizeof(in6addr_loopback)) == 0 ||
	       (IN6_IS_ADDR_V4MAPPED(&address.six.sin6_addr) && bytes[12] == IN_LOOPBACKNET);
}

static int open_remote(const struct service_name *name, struct service_link *link,
		       struct brig_error *err)
{
	int fd = service_name_connect(name, err);

	if (fd < 0) {
		return fd;
	}
	link->fd = fd;
	link->remote = true;
	link->exposed = !name->tls && !is_loopback(fd);
	snprintf(link->host, sizeof(link->host), "%s%s%s:%s", name->literal6 ? "[" : "", name->host,
		 name->literal6 ? "]" : "", name->port);
	if (!name->tls) {
		return 0;
	}
	int r = service_tls_open(fd, name->host, link->host, &link->tls, err);
	if (r == 0) {
		close(fd);
		link->fd = TAKE_FD(link->tls.line);
	}
	return r;
}

int service_link_open(const char *where, struct service_link *ret, struct brig_error *err)
{
	struct service_name name;
	_cleanup_(buf_done)
	struct buf tried = { 0 };
	const char *url = getenv("BRIG_URL"), *socket = getenv("BRIG_SOCKET");

	*ret = (struct service_link){ .fd = -1, .host = "localhost" };
	where = where ? where : url && *url ? url : socket && *socket ? socket : NULL;
	int r = where ? service_name_parse(where, &name, err) : 0;
	if (r < 0) {
		return r;
	}
	if (where && name.kind == SERVICE_TCP) {
		r = open_remote(&name, ret, err);
		if (r < 0) {
			service_link_close(ret);
		}
		return r;
	}
	if (where) {
		buf_adds(&tried, name.path);
	}
	ret->fd = where ? connect_unix(name.path) : connect_usual(&tried);
	return ret->fd < 0 ? no_service(tried.data ? tried.data : "?", -ret->fd, err) : 0;
}

void service_link_close(struct service_link *link)
{
	close_fd(&link->fd);
	(void)tls_child_end(&link->tls);
}

/* Not EPIPE, which would mean stdout. */
static int hung_up(struct brig_error *err)
{
	int r = error_set(err, BRIG_E_SYSTEM, ECONNRESET,
			  "the service closed the connection before it had read the whole request");

	error_remedy(err, "send less: a request with its files has a limit (http.json_bytes)");
	return r;
}

int service_link_send(struct service_link *link, const char *data, size_t size,
		      struct brig_error *err)
{
	while (size > 0) {
		ssize_t n = send(link->fd, data, size, MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR) {
			return errno == EPIPE || errno == ECONNRESET
				       ? hung_up(err)
				       : error_errno(err, BRIG_E_SYSTEM, errno,
						     "cannot send the request to the service");
		}
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

ssize_t service_link_receive(struct service_link *link, char *data, size_t size)
{
	ssize_t n;

	do {
		n = recv(link->fd, data, size, 0);
	} while (n < 0 && errno == EINTR);
	if (n == 0) { /* with TLS the end of the line is the service's own only if it said so */
		return tls_child_end(&link->tls);
	}
	return n < 0 ? -errno : n;
}
