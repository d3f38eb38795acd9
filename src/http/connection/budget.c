/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that are held for a tenant: see budget.h. */
#include "http/connection/budget.h"

bool budget_allows(const struct http_budget *budget, size_t size)
{
	return !budget || budget->answers == 0 || budget->answers_max == 0 ||
	       (size <= budget->answers_max && budget->answers <= budget->answers_max - size);
}

bool http_budget_take(struct http_budget *budget, size_t size)
{
	bool allowed = budget_allows(budget, size);

	if (budget && allowed) {
		budget->answers += size;
	}
	return allowed;
}

void http_budget_give(struct http_budget *budget, size_t size)
{
	if (budget) {
		budget->answers -= size;
	}
}

void budget_recount(struct http_connection *c)
{
	size_t waiting = outbox_waiting(&c->outbox);

	if (c->budget) {
		c->budget->answers += waiting - c->charged;
		c->charged = waiting;
	}
}

void budget_charge(struct http_connection *c, struct http_budget *budget)
{
	if (c->budget) {
		c->budget->answers -= c->charged;
	}
	c->budget = budget;
	c->charged = 0;
	budget_recount(c);
}
