/* SPDX-License-Identifier: Apache-2.0 */
/* A person's consent, where a policy wants it (auto_run "ask"). */
#ifndef BRIG_CLI_RUN_CONSENT_H
#define BRIG_CLI_RUN_CONSENT_H

#include <stdbool.h>

#include "lib/context.h"

/* Asks at the terminal, if a person is there and their word would do. */
bool consent_ask(const struct brig_context *context, const struct brig_request *request);
#endif
