/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of the user's warm service: where it is, who may reach it, who listens. */
#ifndef BRIG_CLI_WARM_WARM_SOCKET_H
#define BRIG_CLI_WARM_WARM_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"

/* The address that `brig run` tries: below $XDG_RUNTIME_DIR, else below /run/user/UID. */
int warm_socket_name(struct sockaddr_un *ret, struct brig_error *err);
/* Makes the directory, which must be the user's alone. *ret_name: the bound path. */
int warm_socket_listen(struct sockaddr_un *ret_name, struct brig_error *err);
/* The socket that systemd has passed to this process; -1: none. */
int warm_socket_passed(void);
/* Connected, with the peer's pid; -errno: there is no service of this user. */
int warm_socket_connect(pid_t *ret_pid, struct brig_error *err);
#endif
