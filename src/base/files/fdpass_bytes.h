/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from a stream socket whose peer is hostile, and may send descriptors with them.
 *
 * The process that drops a descriptor closes it, and the last close of one can wait for as long as
 * its sender wants: of a connection with SO_LINGER whose other end is in the same message, even
 * when the sender is dead. Since Linux 6.16 such messages can be refused (fdpass_refuse()). For
 * older kernels a message is looked at before it is received: one with descriptors stays where it
 * is, and the socket is closed by a thread that ends. A process or thread that ends does not wait.
 */
#ifndef BRIG_BASE_FDPASS_BYTES_H
#define BRIG_BASE_FDPASS_BYTES_H

#include <stdbool.h>
#include <sys/types.h>

struct plain_socket {
	bool refuses; /* the kernel refuses descriptors from now on */
	bool plain;   /* and none can be in the socket any more */
};

/*
 * From here on no descriptor is wanted. `empty`: the peer cannot have sent anything yet. 0 or
 * -errno.
 */
int plain_socket_begin(int fd, bool empty, struct plain_socket *ret);
/* As recv() with MSG_DONTWAIT. -EPROTO: a descriptor comes with the next bytes. Else -errno. */
ssize_t plain_socket_receive(int fd, struct plain_socket *plain, void *data, size_t size);
/*
 * Looks at the next bytes, or the next message, and leaves them where they are. -EPROTO: a
 * descriptor comes with them; `data` has them all the same. Else -errno.
 */
ssize_t plain_socket_look(int fd, void *data, size_t size);
/* Closes it, without waiting for anything that its peer has sent. -1 is fine. */
void plain_socket_close(int *fd);
/* The same for sockets of messages, and for those that listen: it costs a thread each time. */
void plain_socket_drop(int *fd);
#endif
