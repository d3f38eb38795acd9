/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule allows a connection. */
#include "gate/gate.h"

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
