/* SPDX-License-Identifier: Apache-2.0 */
/* The gate with a hostile warden: records of any size, kind and order. */
#include <stdlib.h>
#include <string.h>

#include "gate/tls/tls_opener.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int gate_listen(struct gate *gate, const int *fds, unsigned count)
{
	(void)gate;
	(void)fds;
	(void)count;
	return 0;
}

/* Two bytes give the length of the next record. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tls_opener opener = { 0 }; /* one that takes what is meant for it */
	struct gate *gate = calloc(1, sizeof(*gate));
	char text[NET_RULE_TEXT];

	if (gate) {
		gate->opener = size % 2 ? &opener : NULL;
	}

	while (gate && size > 2) {
		size_t length = (size_t)data[0] << 8 | data[1];
		data += 2;
		size -= 2;
		length = length < size ? length : size;
		int r = gate_take_message(gate, data, length);
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
	for (unsigned i = 0; gate && i < gate->trusts_count; i++) {
		if (!gate->opener || strlen(gate->trusts[i].name) > NET_NAME_MAX) {
			abort();
		}
		buf_done(&gate->trusts[i].text);
	}
	for (unsigned i = 0; gate && i < gate->credentials_count; i++) {
		if (gate->credentials[i].opened && !gate->opener) {
			abort();
		}
	}
	if (gate) {
		free(gate->credentials);
	}
	free(gate);
	return 0;
}
