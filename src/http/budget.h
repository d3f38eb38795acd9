/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are held for somebody, and how many may be: see struct http_budget. */
#ifndef BRIG_HTTP_BUDGET_H
#define BRIG_HTTP_BUDGET_H

#include "http/connection.h"

/* May so many bytes of an answer be kept? One that is alone always may. */
bool budget_allows(const struct http_budget *budget, size_t size);
/* What waits in the outbox is this one's from now on, and is counted as it changes. */
void budget_charge(struct http_connection *c, struct http_budget *budget);
void budget_recount(struct http_connection *c);
#endif
