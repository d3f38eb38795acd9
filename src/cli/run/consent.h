/* SPDX-License-Identifier: Apache-2.0 */
/* A person's consent, where a policy requires it (auto_run "ask"). */
#ifndef BRIG_CLI_RUN_CONSENT_H
#define BRIG_CLI_RUN_CONSENT_H

#include <stdbool.h>

#include "lib/context.h"

/* Asks at the terminal, if there is one and consent would be enough. */
bool consent_ask(const struct brig_context *context, const struct brig_request *request);
#endif
