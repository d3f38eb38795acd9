/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are held for a tenant, and their limits: see struct http_budget. */
#ifndef BRIG_HTTP_BUDGET_H
#define BRIG_HTTP_BUDGET_H

#include "http/connection/connection.h"

/* May so many bytes of an answer be kept? The first one always may. */
bool budget_allows(const struct http_budget *budget, size_t size);
/* The bytes in the outbox count for this budget from now on, and are counted as they change. */
void budget_charge(struct http_connection *c, struct http_budget *budget);
void budget_recount(struct http_connection *c);
#endif
