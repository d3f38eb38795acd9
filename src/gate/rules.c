/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule allows a connection. */
#include "gate/gate.h"

const struct net_rule *gate_rule_for_name(const struct gate *gate, const char *name, uint16_t port,
					  bool *host_known)
{
	*host_known = false;
	for (unsigned i = 0; i < gate->rules_count; i++) {
		if (net_rule_has_name(&gate->rules[i], name)) {
			*host_known = true;
			if (net_rule_has_port(&gate->rules[i], port)) {
				return &gate->rules[i];
			}
		}
	}
	return NULL;
}

const struct net_rule *gate_rule_for_address(const struct gate *gate,
					     const struct net_address *address, uint16_t port)
{
	for (unsigned i = 0; i < gate->rules_count; i++) {
		if (net_rule_has_address(&gate->rules[i], address) &&
		    net_rule_has_port(&gate->rules[i], port)) {
			return &gate->rules[i];
		}
	}
	return NULL;
}
