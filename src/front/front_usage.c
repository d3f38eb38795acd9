/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage of callers with a daily limit survives a restart: each charge is reported to the ledger
 * before the end of the run, and after a start nothing runs until the ledger has reported today's
 * usage.
 */
#include <jansson.h>

#include "front/front_internal.h"
#include "role/log.h"

/* An amount that is not reported now is included in the next charge: the ledger gets the sum. */
static void used(void *user, const struct account *account)
{
	struct front *front = user;

	if (ledger_used(front->ledger, account->name, (uint32_t)account->day, account->cpu_ns) <
	    0) {
		role_log_often(ROLE_ERROR, "ledger.used", "", "caller=%s", account->name);
	}
}

static void restored(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct front *front = user;
	json_t *root = error ? NULL : json_loadb(data, size, 0, NULL);
	json_t *one;
	size_t index;

	if (!root) {
		role_log(ROLE_ERROR, "usage.unknown", "why=%s",
			 error ? error->message : "the ledger's answer cannot be read");
	}
	json_array_foreach(json_object_get(root, "used"), index, one)
	{
		const char *name = json_string_value(json_object_get(one, "caller"));
		json_int_t cpu_ns = json_integer_value(json_object_get(one, "cpu_ns"));

		if (name && cpu_ns > 0) {
			admission_restore(&front->admission, &front->auth.tokens, name,
					  front->usage_day, (uint64_t)cpu_ns);
		}
	}
	json_decref(root);
	admission_restored(&front->admission);
}

void front_usage_begin(struct front *front)
{
	front->usage_day = account_today();
	front->admission.used = used;
	front->admission.used_user = front;
	front->admission.restoring = true;
	if (ledger_usage(front->ledger, (uint32_t)front->usage_day, restored, front) < 0) {
		role_log(ROLE_ERROR, "usage.unknown", "why=%s", "the ledger does not answer");
		front->admission.restoring = false;
	}
}
