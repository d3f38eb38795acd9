/* SPDX-License-Identifier: Apache-2.0 */
/* Do the control groups of a client hold it tighter than those of the service? */
#ifndef BRIG_CLI_WARM_WARM_GROUPS_H
#define BRIG_CLI_WARM_WARM_GROUPS_H

#include <stdbool.h>

/*
 * `service` and `client` as in /proc/PID/cgroup; `root`: where version 2 is mounted. False: they
 * are in the same groups; or, in version 2, in different ones, and no group of the client's that
 * does not hold the service too sets any limit. So it is with the shells of a user's desktop.
 * `root` NULL: only the same groups are accepted.
 */
bool warm_groups_differ(const char *root, const char *service, const char *client);
#endif
