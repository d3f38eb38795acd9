/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subset of D-Bus that is needed for a request to a service manager: connect to a unix socket,
 * authenticate as oneself, send one call, wait for its reply. Every wait has a deadline
 * (clock_now_ns), every length a bound; the reply is not trusted.
 */
#ifndef BRIG_KERNEL_CGROUP_DBUS_H
#define BRIG_KERNEL_CGROUP_DBUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/bytes/buf.h"

#define DBUS_MESSAGE_MAX 65536u /* longer ones end the connection */
#define DBUS_SKIP_MAX    256    /* messages that are not the reply, before it gives up */
#define DBUS_HEADER_SIZE 16u    /* the fixed part, up to the length of the header fields */

struct dbus_address {
	struct sockaddr_un socket;
	socklen_t size;
};

/* The first unix socket in "unix:path=/run/user/1000/bus,guid=...;...". 0 or -EINVAL. */
int dbus_address_parse(const char *text, struct dbus_address *ret);
int dbus_address_path(const char *path, struct dbus_address *ret);

/*
 * A connected fd, or -errno. -EPERM: the listener is neither this user's nor root's. -EXDEV: it is
 * in a pid namespace above ours, so our pids are invalid there (pid_namespaces(7)).
 */
int dbus_connect(const struct dbus_address *address);
int dbus_authenticate(int fd, uint64_t deadline_ns);

struct dbus_call {
	const char *destination;
	const char *path;
	const char *interface;
	const char *member;
	const char *signature;  /* of the body; "" when there is none */
	const struct buf *body; /* may be NULL */
};

struct dbus_message {
	uint8_t type; /* 1 call, 2 reply, 3 error, 4 signal */
	uint32_t reply_serial;
	char error_name[128];
	char text[256];   /* the body's first string, if it begins with one */
	bool has_boolean; /* the body is a variant with a boolean: a property's value */
	bool boolean;
};

/*
 * `hello`: the peer is a message bus, which must be greeted first. 0, or -errno; -EREMOTEIO: the
 * peer replied with an error, named and explained in `answer`.
 */
int dbus_call(int fd, const struct dbus_call *call, bool hello, uint64_t deadline_ns,
	      struct dbus_message *answer);

/* Bodies. Native byte order, aligned to the start of the buffer. */
void dbus_put_align(struct buf *buf, size_t alignment);
void dbus_put_u32(struct buf *buf, uint32_t value);
void dbus_put_u64(struct buf *buf, uint64_t value);
void dbus_put_string(struct buf *buf, const char *text);
void dbus_put_signature(struct buf *buf, const char *text);
/* Array: begin returns a mark for end. `alignment` is that of the elements. */
struct dbus_array {
	size_t length_at;
	size_t start;
};
struct dbus_array dbus_array_begin(struct buf *buf, size_t alignment);
void dbus_array_end(struct buf *buf, struct dbus_array array);

/* A whole message, header and body. */
void dbus_message_build(struct buf *buf, const struct dbus_call *call, uint32_t serial);

/*
 * The length of the message that begins with these DBUS_HEADER_SIZE bytes. 0: malformed or too
 * long.
 */
size_t dbus_message_size(const uint8_t *header);
/* `size` is exactly dbus_message_size(). False: malformed. */
bool dbus_message_parse(const uint8_t *data, size_t size, struct dbus_message *ret);
#endif
