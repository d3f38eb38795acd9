/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rule that allows a connection, and whether the operator wants its TLS opened. */
#include <string.h>

#include "gate/gate.h"

bool gate_opens(const struct gate *gate, const char *name)
{
	for (unsigned i = 0; i < gate->credentials_count; i++) {
		if (gate->credentials[i].opened && strcmp(gate->credentials[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

const struct net_rule *gate_rule_for_name(const struct gate *gate, const char *name, uint16_t port,
					  bool *host_known)
{
	return net_rules_for_name(gate->rules, gate->rules_count, name, port, host_known);
}

const struct net_rule *gate_rule_for_address(const struct gate *gate,
					     const struct net_address *address, uint16_t port)
{
	return net_rules_for_address(gate->rules, gate->rules_count, address, port);
}
