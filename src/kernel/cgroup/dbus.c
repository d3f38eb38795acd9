/* SPDX-License-Identifier: Apache-2.0 */
/* A D-Bus client: address, connection, authentication, one call. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroup/dbus.h"

#define LINE_MAX_SIZE 512
#define SERIAL_HELLO  1
#define SERIAL_CALL   2
#define TYPE_ANSWER   2
#define TYPE_ERROR    3

int dbus_address_path(const char *path, struct dbus_address *ret)
{
	size_t size = strlen(path);

	if (*path != '/' || size >= sizeof(ret->socket.sun_path)) {
		return -EINVAL;
	}
	*ret = (struct dbus_address){ .socket.sun_family = AF_UNIX };
	memcpy(ret->socket.sun_path, path, size + 1);
	ret->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + 1);
	return 0;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c | 0x20) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* "%2f" means '/'. NUL is rejected: it would cut the path short. */
static bool unescape(const char *text, size_t size, char *out, size_t out_size)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		int c = (unsigned char)text[i];

		if (c == '%') {
			int high = i + 1 < size ? hex_digit(text[i + 1]) : -1;
			int low = i + 2 < size ? hex_digit(text[i + 2]) : -1;

			if (high < 0 || low < 0) {
				return false;
			}
			c = high * 16 + low;
			i += 2;
		}
		if (c == 0 || n + 1 >= out_size) {
			return false;
		}
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return true;
}

static int parse_one(const char *text, size_t size, struct dbus_address *ret)
{
	char path[sizeof(ret->socket.sun_path)];
	const char *end = text + size;

	if (size < 5 || memcmp(text, "unix:", 5) != 0) {
		return -EINVAL;
	}
	for (const char *at = text + 5; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t n = (size_t)((comma ? comma : end) - at);

		if (n > 5 && memcmp(at, "path=", 5) == 0) {
			return unescape(at + 5, n - 5, path, sizeof(path))
				       ? dbus_address_path(path, ret)
				       : -EINVAL;
		}
		if (n > 9 && memcmp(at, "abstract=", 9) == 0 &&
		    unescape(at + 9, n - 9, path, sizeof(path) - 1)) {
			*ret = (struct dbus_address){ .socket.sun_family = AF_UNIX };
			memcpy(ret->socket.sun_path + 1, path, strlen(path));
			ret->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
						strlen(path));
			return 0;
		}
		at += n + 1;
	}
	return -EINVAL;
}

int dbus_address_parse(const char *text, struct dbus_address *ret)
{
	while (*text) {
		size_t n = strcspn(text, ";");

		if (parse_one(text, n, ret) == 0) {
			return 0;
		}
		text += n + (text[n] == ';');
	}
	return -EINVAL;
}

int dbus_connect(const struct dbus_address *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address->socket, address->size) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
		return -errno;
	}
	/* Another listener would learn of our runs and could pretend to limit them. */
	if (peer.uid != geteuid() && peer.uid != 0) {
		return -EPERM;
	}
	/*
	 * A pid that we send would be another process there, and would be moved in place of the
	 * cell.
	 */
	if (peer.pid == 0) {
		return -EXDEV;
	}
	return TAKE_FD(fd);
}

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = events };
		uint64_t now = clock_now_ns();
		int r;

		if (now >= deadline_ns) {
			return -ETIMEDOUT;
		}
		r = poll(&poll_fd, 1, (int)((deadline_ns - now) / 1000000 + 1));
		if (r > 0) {
			return 0;
		}
		if (r < 0 && errno != EINTR) {
			return -errno;
		}
	}
}

static int send_all(int fd, const void *data, size_t size, uint64_t deadline_ns)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

		if (n >= 0) {
			at += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			int r = wait_for(fd, POLLOUT, deadline_ns);

			if (r < 0) {
				return r;
			}
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* Reads exactly `size` bytes, none of the following ones, so no buffer must be kept. */
static int receive_all(int fd, void *data, size_t size, uint64_t deadline_ns)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = recv(fd, at, size, 0);

		if (n > 0) {
			at += n;
			size -= (size_t)n;
		} else if (n == 0) {
			return -ECONNRESET;
		} else if (errno == EAGAIN) {
			int r = wait_for(fd, POLLIN, deadline_ns);

			if (r < 0) {
				return r;
			}
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int receive_line(int fd, char line[LINE_MAX_SIZE], uint64_t deadline_ns)
{
	for (size_t n = 0; n < LINE_MAX_SIZE; n++) {
		int r = receive_all(fd, line + n, 1, deadline_ns);

		if (r < 0) {
			return r;
		}
		if (line[n] == '\n') {
			line[n] = '\0';
			return 0;
		}
	}
	return -EBADMSG;
}

/*
 * SASL EXTERNAL: the uid in decimal, each digit in hexadecimal; the kernel certifies it (unix(7),
 * SO_PEERCRED).
 */
int dbus_authenticate(int fd, uint64_t deadline_ns)
{
	char uid[16], request[96], line[LINE_MAX_SIZE];
	size_t n = 0;

	snprintf(uid, sizeof(uid), "%u", (unsigned)geteuid());
	request[n++] = '\0'; /* the byte that carries credentials on other systems */
	n += (size_t)snprintf(request + n, sizeof(request) - n, "AUTH EXTERNAL ");
	for (const char *c = uid; *c; c++) {
		n += (size_t)snprintf(request + n, sizeof(request) - n, "%02x", (unsigned)*c);
	}
	n += (size_t)snprintf(request + n, sizeof(request) - n, "\r\n");
	int r = send_all(fd, request, n, deadline_ns);
	if (r < 0) {
		return r;
	}
	r = receive_line(fd, line, deadline_ns);
	if (r < 0) {
		return r;
	}
	if (strncmp(line, "OK ", 3) != 0) {
		return strncmp(line, "REJECTED", 8) == 0 ? -EACCES : -EBADMSG;
	}
	return send_all(fd, "BEGIN\r\n", 7, deadline_ns);
}

static int receive_message(int fd, uint64_t deadline_ns, struct dbus_message *message)
{
	uint8_t header[DBUS_HEADER_SIZE];
	int r = receive_all(fd, header, sizeof(header), deadline_ns);

	if (r < 0) {
		return r;
	}
	size_t size = dbus_message_size(header);
	if (size == 0) {
		return -EBADMSG;
	}
	uint8_t *data = malloc(size);
	if (!data) {
		return -ENOMEM;
	}
	memcpy(data, header, sizeof(header));
	r = receive_all(fd, data + sizeof(header), size - sizeof(header), deadline_ns);
	bool good = r == 0 && dbus_message_parse(data, size, message);
	free(data);
	return r < 0 || good ? r : -EBADMSG;
}

/* Waits for the reply to our call; signals and the reply to the greeting are skipped. */
static int receive_answer(int fd, uint64_t deadline_ns, struct dbus_message *answer)
{
	for (int i = 0; i < DBUS_SKIP_MAX; i++) {
		int r = receive_message(fd, deadline_ns, answer);

		if (r < 0) {
			return r;
		}
		if (answer->type == TYPE_ERROR) {
			return -EREMOTEIO;
		}
		if (answer->type == TYPE_ANSWER && answer->reply_serial == SERIAL_CALL) {
			return 0;
		}
	}
	return -EBADMSG;
}

static const struct dbus_call hello_call = {
	.destination = "org.freedesktop.DBus",
	.path = "/org/freedesktop/DBus",
	.interface = "org.freedesktop.DBus",
	.member = "Hello",
};

int dbus_call(int fd, const struct dbus_call *call, bool hello, uint64_t deadline_ns,
	      struct dbus_message *answer)
{
	struct buf out = { 0 };
	int r;

	*answer = (struct dbus_message){ 0 };
	/* The greeting and the call are sent together: one round trip less. */
	if (hello) {
		dbus_message_build(&out, &hello_call, SERIAL_HELLO);
	}
	dbus_message_build(&out, call, SERIAL_CALL);
	r = out.failed ? -ENOMEM : send_all(fd, out.data, out.size, deadline_ns);
	buf_done(&out);
	return r < 0 ? r : receive_answer(fd, deadline_ns, answer);
}
