/* SPDX-License-Identifier: Apache-2.0 */
/* Each bound once: its field in the configuration, and its field in the front's options. */
#include "serve/config/config_front.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

#define FIELD(in_config, in_options)                                                               \
	{                                                                                          \
		offsetof(struct serve_config, in_config),                                          \
			offsetof(struct front_options, in_options),                                \
			sizeof(((struct front_options *)0)->in_options)                            \
	}

/* All are 64 bits wide in the configuration; in the options some are `unsigned`. */
static const struct {
	size_t config, option, size;
} fields[] = {
	FIELD(head_bytes, http.head_bytes),
	FIELD(headers, http.headers),
	FIELD(body_bytes, http.body_bytes),
	FIELD(bodies_bytes, http.bodies_bytes),
	FIELD(json_bytes, http.json_bytes),
	FIELD(file_bytes, http.file_bytes),
	FIELD(tenant_body_bytes, http.tenant_body_bytes),
	FIELD(tenant_answer_bytes, http.tenant_answer_bytes),
	FIELD(queued_bytes, http.queued_bytes),
	FIELD(tenant_queued_bytes, http.tenant_queued_bytes),
	FIELD(connections, http.connections),
	FIELD(connections_per_peer, http.connections_per_peer),
	FIELD(head_ns, http.head_ns),
	FIELD(body_ns, http.body_ns),
	FIELD(idle_ns, http.idle_ns),
	FIELD(write_ns, http.write_ns),
	FIELD(runs, admission.running),
	FIELD(runs_reserve, admission.reserve),
	FIELD(runs_per_tenant, admission.running_tenant),
	FIELD(queue, admission.queue),
	FIELD(queue_per_tenant, admission.queue_tenant),
	FIELD(queue_ns, admission.queue_ns),
	FIELD(memory_floor_bytes, admission.memory_floor),
	FIELD(resume_ns, resume_ns),
};

void config_to_front(const struct serve_config *config, struct front_options *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t value;
		memcpy(&value, (const char *)config + fields[i].config, sizeof(value));
		unsigned narrow = (unsigned)value;
		bool wide = fields[i].size == sizeof(value);
		memcpy((char *)ret + fields[i].option, wide ? (void *)&value : (void *)&narrow,
		       fields[i].size);
	}
}

void config_of_front(const struct front_options *options, struct serve_config *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *from = (const char *)options + fields[i].option;
		uint64_t value = 0;
		unsigned narrow = 0;

		if (fields[i].size == sizeof(value)) {
			memcpy(&value, from, sizeof(value));
		} else {
			memcpy(&narrow, from, sizeof(narrow));
			value = narrow;
		}
		memcpy((char *)ret + fields[i].config, &value, sizeof(value));
	}
}
