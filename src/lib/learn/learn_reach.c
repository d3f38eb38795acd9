/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a proposal: the hosts that it reached through the gate; others as comments. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/learn/learn.h"

/* Was it allowed by a rule for local addresses? Then the proposal needs such a rule again. */
static bool is_local(const struct learn_origin *origin, const char *host, uint16_t port)
{
	struct net_rule rules[NET_RULES_MAX];
	struct net_address address;
	bool literal = net_address_parse(host, &address) == 0;
	int count = policy_network_rules(origin->under, origin->request->network,
					 origin->request->network_own, rules, NULL);

	for (int i = 0; i < count; i++) {
		bool same = literal ? net_rule_has_address(&rules[i], &address)
				    : net_rule_has_name(&rules[i], host);
		if (same && net_rule_has_port(&rules[i], port)) {
			return rules[i].local;
		}
	}
	return false;
}

static void print_rule(const struct learn_origin *origin, const char *reached, const char *between,
		       struct buf *out)
{
	char host[NET_NAME_MAX + 1], text[NET_RULE_TEXT];
	const char *colon = strrchr(reached, ':');
	size_t length = colon ? (size_t)(colon - reached) : strlen(reached);

	snprintf(host, sizeof(host), "%.*s", (int)length, reached);
	bool local = colon && is_local(origin, host, (uint16_t)strtoul(colon + 1, NULL, 10));
	bool six = strchr(host, ':') != NULL;
	snprintf(text, sizeof(text), "%s%s%s%s%s", local ? "local:" : "", six ? "[" : "", host,
		 six ? "]" : "", colon ? colon : "");
	buf_adds(out, between);
	learn_print_quoted(out, text);
}

static void print_wanted(struct buf *out, const char *what, const struct strlist *list)
{
	for (size_t i = 0; i < list->count; i++) {
		buf_addf(out, "\t//   %s ", what);
		learn_print_plain(out, list->items[i]);
		buf_adds(out, "\n");
	}
}

void learn_print_network(const struct learn *learn, const struct learn_origin *origin,
			 struct buf *out)
{
	const struct policy *earlier = origin->extended;
	size_t kept = earlier ? earlier->network.allow_count : 0;
	char text[NET_RULE_TEXT];
	const char *between = "";

	if (learn->missed.count || (learn->names.count && !origin->result->networked) ||
	    learn->addresses.count) {
		buf_adds(out,
			 "\t// Hosts that it wanted to reach. Refused hosts are not proposed: to "
			 "learn with a host,\n\t// run again with --net HOST.\n");
		print_wanted(out, "refused", &learn->missed);
		print_wanted(out, "asked for the name", &learn->names);
		print_wanted(out, "connected, or tried to:", &learn->addresses);
	}
	if (learn->reached.count == 0 && kept == 0) {
		buf_adds(out, "\t\"network\": \"none\", // it reached no host\n");
		return;
	}
	buf_adds(out, "\t\"network\": { \"allow\": [");
	for (size_t i = 0; i < learn->reached.count; i++) {
		print_rule(origin, learn->reached.items[i], between, out);
		between = ", ";
	}
	for (size_t i = 0; i < kept; i++) {
		buf_adds(out, between);
		learn_print_quoted(out, net_rule_format(&earlier->network.allow[i], text));
		between = ", ";
	}
	const struct policy_network *most = &origin->under->network;
	buf_addf(out,
		 "], \"caller\": \"none\", \"connections\": %" PRIu64
		 ", \"connections_total\": %" PRIu64 ", \"rate\": %" PRIu64
		 " }, // the hosts that it reached\n",
		 most->connections, most->connections_total, most->rate);
}
