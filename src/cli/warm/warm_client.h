/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the user's warm service about itself, or to end. */
#ifndef BRIG_CLI_WARM_WARM_CLIENT_H
#define BRIG_CLI_WARM_WARM_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct warm_state {
	pid_t pid;
	char figures[200];
	char why[200]; /* a run from here would be cold; "": it would be warm */
};

/* -ENOENT or another error: no service answers. */
int warm_client_status(struct warm_state *ret, struct brig_error *err);
/* Returns when it has ended; its runs are waited for. */
int warm_client_stop(struct brig_error *err);
#endif
