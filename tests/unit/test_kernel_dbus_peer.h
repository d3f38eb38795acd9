/* SPDX-License-Identifier: Apache-2.0 */
/* The other end of a D-Bus connection: a child process that follows a script of bytes. */
#ifndef TEST_KERNEL_DBUS_PEER_H
#define TEST_KERNEL_DBUS_PEER_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/cgroup/dbus.h"

struct peer {
	char path[128];
	pid_t pid;
};

/* An answer (type 2) or an error (3) to a call, in either byte order. */
static inline void peer_answer(struct buf *out, char type, uint32_t serial, const char *error,
			       const char *text)
{
	struct buf body = { 0 };
	struct dbus_call call = { .signature = text ? "s" : "", .body = &body };
	struct buf message = { 0 };
	struct dbus_array fields;
	uint32_t size;

	if (text) {
		dbus_put_string(&body, text);
	}
	buf_add(&message, "l\0\0\1", 4);
	message.data[1] = type;
	size = (uint32_t)body.size;
	dbus_put_u32(&message, size);
	dbus_put_u32(&message, 77);
	fields = dbus_array_begin(&message, 8);
	buf_addc(&message, 5);
	dbus_put_signature(&message, "u");
	dbus_put_u32(&message, serial);
	if (error) {
		dbus_put_align(&message, 8);
		buf_addc(&message, 4);
		dbus_put_signature(&message, "s");
		dbus_put_string(&message, error);
	}
	if (text) {
		dbus_put_align(&message, 8);
		buf_addc(&message, 8);
		dbus_put_signature(&message, "g");
		dbus_put_signature(&message, call.signature);
	}
	dbus_array_end(&message, fields);
	dbus_put_align(&message, 8);
	buf_add(&message, body.data, body.size);
	buf_add(out, message.data, message.size);
	buf_done(&message);
	buf_done(&body);
}

static inline void peer_read(int fd, void *data, size_t size)
{
	char *at = data;

	while (size > 0) {
		ssize_t n = read(fd, at, size);

		if (n <= 0) {
			_exit(3);
		}
		at += n;
		size -= (size_t)n;
	}
}

static inline void peer_line(int fd, char *line, size_t size)
{
	for (size_t n = 0; n + 1 < size; n++) {
		peer_read(fd, line + n, 1);
		if (line[n] == '\n') {
			line[n + 1] = '\0';
			return;
		}
	}
	_exit(4);
}

/* Serves connections until it is killed: `ok` answers AUTH, then one call gets `answer`. */
static inline void peer_serve(int listener, const char *ok, const struct buf *answer)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		uint8_t header[DBUS_HEADER_SIZE];
		char line[128], expected[64];
		size_t size, n = 0;

		/* A connection that sends nothing only checked that the socket exists. */
		if (recv(fd, line, 1, 0) != 1) {
			close(fd);
			continue;
		}
		peer_line(fd, line, sizeof(line));
		n = (size_t)snprintf(expected, sizeof(expected), "AUTH EXTERNAL ");
		for (char uid[16], *c = (snprintf(uid, 16, "%u", geteuid()), uid); *c; c++) {
			n += (size_t)snprintf(expected + n, sizeof(expected) - n, "3%c", *c);
		}
		if (strncmp(line, expected, n) != 0 || strcmp(line + n, "\r\n") != 0 ||
		    write(fd, ok, strlen(ok)) < 0) {
			_exit(5);
		}
		if (strncmp(ok, "OK", 2) == 0) {
			uint8_t rest[4096];

			peer_line(fd, line, sizeof(line));
			peer_read(fd, header, sizeof(header));
			size = dbus_message_size(header);
			if (strcmp(line, "BEGIN\r\n") != 0 || size == 0 || size > 4096) {
				_exit(6);
			}
			peer_read(fd, rest, size - sizeof(header));
			if (answer->size && write(fd, answer->data, answer->size) < 0) {
				_exit(7);
			}
		}
		/* Kept open: a client that waits for more has to time out by itself. */
	}
}

static inline void peer_start(struct peer *peer, const char *path, const char *ok,
			      const struct buf *answer)
{
	struct dbus_address address;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(peer->path, sizeof(peer->path), "%s", path);
	assert_int_equal(dbus_address_path(path, &address), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address.socket, address.size), 0);
	assert_int_equal(listen(listener, 8), 0);
	peer->pid = fork();
	assert_true(peer->pid >= 0);
	if (peer->pid == 0) {
		peer_serve(listener, ok, answer);
	}
	close(listener);
}

static inline void peer_stop(struct peer *peer)
{
	int status = 0;

	kill(peer->pid, SIGKILL);
	waitpid(peer->pid, &status, 0);
	unlink(peer->path);
	assert_true(WIFSIGNALED(status)); /* it found no error */
}
#endif
