/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections, decided by the gate's own rules: first those that every run of the policy may make,
 * then those that it may make if the caller requests them. No name is resolved.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check/internal.h"

static const char *const class_names[] = {
	[NET_PUBLIC] = "a public address",
	[NET_LOCAL] = "an address of this host or of its private networks",
	[NET_LINK] = "a link-local address, where clouds hand out credentials",
	[NET_NEVER] = "an address that is never allowed",
};

/* The destination in question: one host or address, and one port. */
struct target {
	struct net_rule rule; /* parsed like the rule of a request */
	char text[NET_RULE_TEXT];
	uint16_t port;
	bool named;
	enum net_class class;
};

static bool is_own(const struct net_address *address)
{
	_cleanup_close_ int routes = net_routes_open();

	return net_address_is_own(routes, address);
}

static int parse_target(const char *text, struct target *ret, struct brig_error *err)
{
	int r = net_rule_parse(text, &ret->rule, err);

	if (r < 0) {
		return r;
	}
	struct net_rule *rule = &ret->rule;
	ret->named = rule->host == NET_HOST_NAME;
	if (!ret->named && !(rule->host == NET_HOST_PREFIX && net_prefix_is_one(&rule->prefix))) {
		r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%s\" is more than one host", text);
		error_remedy(err, "ask about one: HOST:PORT or ADDRESS:PORT");
		return r;
	}
	/* Without a port a rule has two; a connection has one. */
	if (rule->ports_count == 2 && rule->ports[0].last == 80 && rule->ports[1].first == 443) {
		net_ports_parse("443", rule);
	}
	if (rule->ports_count != 1 || rule->ports[0].first != rule->ports[0].last) {
		r = error_set(err, BRIG_E_INPUT, EINVAL, "\"%s\" is more than one port", text);
		error_remedy(err, "ask about one: HOST:PORT");
		return r;
	}
	ret->port = rule->ports[0].first;
	net_rule_format(rule, ret->text);
	/* In a cell this name is a fixed address, before any query. */
	if (ret->named && strcmp(rule->name, "localhost") == 0) {
		ret->named = false;
		rule->prefix.address =
			(struct net_address){ .family = 4, .bytes = { 127, 0, 0, 1 } };
	}
	ret->class = ret->named ? NET_PUBLIC : net_classify(&rule->prefix.address);
	if (!ret->named && ret->class == NET_PUBLIC && is_own(&rule->prefix.address)) {
		ret->class = NET_LOCAL;
	}
	return 0;
}

static const struct net_rule *find_rule(const struct policy_network *network,
					const struct target *target, bool *host_known)
{
	const struct net_address *address = &target->rule.prefix.address;

	*host_known = false;
	if (target->named) {
		return net_rules_for_name(network->allow, network->allow_count, target->rule.name,
					  target->port, host_known);
	}
	const struct net_rule *rule =
		net_rules_for_address(network->allow, network->allow_count, address, target->port);
	/* Like the gate: the host's loopback has a name as well. */
	return rule || !net_address_is_loopback(address)
		       ? rule
		       : net_rules_for_name(network->allow, network->allow_count, "localhost",
					    target->port, host_known);
}

static void allow(const struct net_rule *rule, const struct target *target,
		  struct check_answer *ret)
{
	static const char *const shapes[] = {
		[NET_TLS] = "; it must be TLS for this name",
		[NET_HTTP] = "; it must be HTTP for this name",
		[NET_ANY] = "",
	};
	char text[NET_RULE_TEXT];

	check_set_answer(ret, CHECK_ALLOWED, "%s is allowed%s%s", net_rule_format(rule, text),
			 !target->named ? ""
			 : rule->local  ? ", at a private address too"
					: ", if it resolves to a public address",
			 shapes[net_rule_protocol(rule, target->port)]);
}

static void repair(const struct check *check, const struct target *target, bool local,
		   struct check_answer *ret)
{
	char what[NET_RULE_TEXT + 16];

	snprintf(what, sizeof(what), "\"%s%s\"", local && !target->rule.local ? "local:" : "",
		 target->text);
	check_repair(check, ret, REPAIR_ADD, "network", "allow", what);
}

static void refuse_address(const struct check *check, const struct target *target,
			   struct check_answer *ret)
{
	bool never = target->class == NET_NEVER;

	check_set_answer(ret, CHECK_REFUSED, "it is %s%s", class_names[target->class],
			 never ? ", which no rule can allow"
			 : target->class == NET_LINK
				 ? ": only a local: rule with this exact address allows it"
				 : ": only a local: rule allows it");
	if (!never && check->policy->network.caller == CALLER_NETWORK_LOCAL &&
	    !target->rule.local) {
		snprintf(ret->repair, sizeof(ret->repair), "request it: --net local:%s",
			 target->text);
	} else if (!never) {
		repair(check, target, true, ret);
	}
}

/* The port of the gate itself, and the operator's ceiling. */
static bool is_closed(const struct check *check, const struct target *target,
		      struct check_answer *ret)
{
	if (target->port == NET_DNS_PORT) {
		check_set_answer(ret, CHECK_REFUSED,
				 "port 53 belongs to the gate, which resolves names");
		return true;
	}
	if (policy_trace_ceiling(&check->trace, "network", NULL, &ret->origin)) {
		check_set_answer(ret, CHECK_REFUSED, "the operator allows no network at all");
		snprintf(ret->repair, sizeof(ret->repair),
			 "the operator has to remove network from %s", ret->origin.name);
		return true;
	}
	return false;
}

/* The policy's own list does not allow it: may the caller request it? */
static void ask_for(const struct check *check, const struct target *target, bool host_known,
		    struct check_answer *ret)
{
	const char *const wanted[] = { target->text, NULL };
	struct net_rule rules[NET_RULES_MAX];
	struct brig_error why = { 0 };

	if (policy_network_rules(check->policy, wanted, true, rules, &why) == 1) {
		policy_trace_key(&check->trace, "network", "caller", &ret->origin);
		if (!target->named &&
		    !net_rule_permits(&rules[0], &target->rule.prefix.address, target->class)) {
			refuse_address(check, target, ret);
			return;
		}
		allow(&rules[0], target, ret);
		snprintf(ret->condition, sizeof(ret->condition),
			 "--net %s, by a caller on this host", target->text);
		return;
	}
	if (!policy_trace_key(&check->trace, "network", "allow", &ret->origin)) {
		policy_trace_key(&check->trace, "network", NULL, &ret->origin);
	}
	check_set_answer(ret, CHECK_REFUSED, "%s%s",
			 host_known ? "the host is in the list, this port is not"
				    : "no entry of the list allows it",
			 target->class == NET_LOCAL && !target->named
				 ? "; a cell's loopback and private networks are not the host's"
				 : "");
	repair(check, target, target->class != NET_PUBLIC || target->rule.local, ret);
}

int check_answer_net(struct check *check, const char *text, struct check_answer *ret,
		     struct brig_error *err)
{
	const struct policy_network *network = &check->policy->network;
	struct target target = { 0 };
	bool host_known;
	int r = parse_target(text, &target, err);

	if (r < 0) {
		return r;
	}
	const struct provider *provider = check->policy->provider;
	if (!provider_can(provider, ABILITY_NETWORK)) {
		bool walls = provider_can(provider, ABILITY_WALLS);
		policy_trace_key(&check->trace, "provider", NULL, &ret->origin);
		check_set_answer(ret, walls ? CHECK_REFUSED : CHECK_ALLOWED,
				 walls ? "the provider %s has no network"
				       : "the provider %s does not hold the network back",
				 provider->name);
		return 0;
	}
	if (is_closed(check, &target, ret)) {
		return 0;
	}
	const struct net_rule *rule = find_rule(network, &target, &host_known);
	if (!rule) {
		ask_for(check, &target, host_known, ret);
		return 0;
	}
	policy_trace_item(&check->trace, "network", "allow", (size_t)(rule - network->allow),
			  &ret->origin);
	if (!target.named && !net_rule_permits(rule, &target.rule.prefix.address, target.class)) {
		refuse_address(check, &target, ret);
	} else {
		allow(rule, &target, ret);
	}
	return 0;
}
