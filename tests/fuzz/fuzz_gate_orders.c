/* SPDX-License-Identifier: Apache-2.0 */
/* The gate with a hostile warden: records of any size, kind and order. */
#include <stdlib.h>
#include <string.h>

#include "gate/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int gate_listen(struct gate *gate, const int *fds, unsigned count)
{
	(void)gate;
	(void)fds;
	(void)count;
	return 0;
}

/* Two bytes say how long the next record is. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gate *gate = calloc(1, sizeof(*gate));
	char text[NET_RULE_TEXT];

	while (gate && size > 2) {
		size_t length = (size_t)data[0] << 8 | data[1];
		data += 2;
		size -= 2;
		length = length < size ? length : size;
		int r = gate_take_order(gate, data, length);
		data += length;
		size -= length;
		if (r < 0) {
			break;
		}
	}
	for (unsigned i = 0; gate && i < gate->rules_count; i++) {
		if (!net_rule_is_sound(&gate->rules[i]) ||
		    strlen(net_rule_format(&gate->rules[i], text)) >= sizeof(text)) {
			abort();
		}
	}
	if (gate && gate->begun && gate->limits.kind != GATE_LIMITS) {
		abort();
	}
	if (gate) {
		free(gate->credentials);
	}
	free(gate);
	return 0;
}
