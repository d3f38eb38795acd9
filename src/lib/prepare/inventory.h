/* SPDX-License-Identifier: Apache-2.0 */
/* The runtimes and policies of this host, as JSON: for `brig runtimes --json`, `brig policy list
 * --json`, and the service. */
#ifndef BRIG_LIB_PREPARE_INVENTORY_H
#define BRIG_LIB_PREPARE_INVENTORY_H

#include "base/bytes/buf.h"
#include "lib/context.h"

/* All runtimes; those that are installed have their path and version. */
int listing_load_runtimes(struct brig_context *context, struct runtime ***ret, size_t *ret_count,
			  struct brig_error *err);
void listing_free_runtimes(struct runtime **all, size_t count);
/* {"runtimes":[...]} */
void listing_print_runtimes(struct runtime *const *all, size_t count, struct buf *out);
/* {"policies":[...]}: an invalid file is listed as invalid. */
int listing_print_policies(const struct policy_source *source, struct buf *out,
			   struct brig_error *err);
#endif
