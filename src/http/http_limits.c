/* SPDX-License-Identifier: Apache-2.0 */
/* The default limits: one table. brig-serve(1) and docs/api.md list them. */
#include "http/http_limits.h"

#define KIB    1024u
#define MIB    (1024u * KIB)
#define SECOND 1000000000u

static const struct http_limits defaults = {
	.head_bytes = 16 * KIB,
	.headers = 100,
	.body_bytes = 64 * MIB,
	.bodies_bytes = 256 * MIB,
	.json_bytes = 32 * MIB, /* a file of 20 MB in base64, and the rest of a run */
	.file_bytes = 64 * MIB,
	.tenant_body_bytes = 64 * MIB + 1, /* room for the largest body and its NUL */
	.tenant_answer_bytes = 64 * MIB + 1,
	.queued_bytes = 256 * MIB,
	.tenant_queued_bytes = 64 * MIB,
	.connections = 12000,
	.head_ns = 10ull * SECOND,
	.body_ns = 60ull * SECOND,
	.idle_ns = 75ull * SECOND,
	.write_ns = 30ull * SECOND,
};

#define COMPLETE(field) (limits->field = limits->field ? limits->field : defaults.field)

void limits_complete(struct http_limits *limits)
{
	COMPLETE(head_bytes);
	COMPLETE(headers);
	COMPLETE(body_bytes);
	COMPLETE(bodies_bytes);
	COMPLETE(json_bytes);
	COMPLETE(file_bytes);
	COMPLETE(tenant_body_bytes);
	COMPLETE(tenant_answer_bytes);
	COMPLETE(queued_bytes);
	COMPLETE(tenant_queued_bytes);
	COMPLETE(connections);
	/* No single peer can take all connections; a proxy, or a load test, can take most. */
	if (!limits->connections_per_peer) {
		limits->connections_per_peer = limits->connections - limits->connections / 8;
	}
	COMPLETE(head_ns);
	COMPLETE(body_ns);
	COMPLETE(idle_ns);
	COMPLETE(write_ns);
}
