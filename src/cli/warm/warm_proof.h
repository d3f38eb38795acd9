/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that only those can read who may trace the service: see thin/warm_message.h. */
#ifndef BRIG_CLI_WARM_WARM_PROOF_H
#define BRIG_CLI_WARM_WARM_PROOF_H

#include <sys/types.h>

#include "base/error.h"
#include "thin/warm_message.h"

/* Makes a new one, and holds it open for as long as this process lives. */
int warm_proof_show(char ret[WARM_PROOF_SIZE], struct brig_error *err);
/* The same with any number, and the caller closes it. */
int warm_proof_make(char ret[WARM_PROOF_SIZE]);
/* Reads that of a process; -errno: it has none, or it may not be read. */
int warm_proof_read(pid_t pid, unsigned number, char ret[WARM_PROOF_SIZE]);
#endif
