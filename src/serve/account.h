/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users and groups by name, from the local files alone: the C library's functions would load name
 * services, which a static program cannot.
 */
#ifndef BRIG_SERVE_ACCOUNT_H
#define BRIG_SERVE_ACCOUNT_H

#include <sys/types.h>

/* A name or a number. 0 or -ENOENT. */
int account_user(const char *name, uid_t *ret);
int account_group(const char *name, gid_t *ret);
#endif
