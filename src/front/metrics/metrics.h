/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of /metrics, as OpenMetrics text. */
#ifndef BRIG_FRONT_METRICS_METRICS_H
#define BRIG_FRONT_METRICS_METRICS_H

#include "front/front_internal.h"

/* Writes the beginning of a family. */
void metrics_family(struct buf *out, const char *name, const char *type, const char *help);
/* A family of one sample. */
void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 uint64_t value);
/* All tenants, for operators; and one tenant, for itself. */
void metrics_tenants(struct buf *out, const struct front *front);
void metrics_tenant(struct buf *out, const struct front *front, const char *tenant);
/* Writes the objects with numbers that the engine and the ledger report. */
void metrics_engine(struct buf *out, const char *data, size_t size);
void metrics_ledger(struct buf *out, const char *data, size_t size);
#endif
