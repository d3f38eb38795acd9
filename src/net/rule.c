/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: see rule.h. */
#include "net/rule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define PORT_HTTP  80
#define PORT_HTTPS 443
#define LOCAL_MARK "local:"

/* 1 to 65535, plain digits. Returns the text after them, or NULL. */
static const char *take_port(const char *at, uint16_t *ret)
{
	unsigned value = 0;
	const char *start = at;

	while (*at >= '0' && *at <= '9' && at - start < 5) {
		value = value * 10 + (unsigned)(*at++ - '0');
	}
	if (at == start || *start == '0' || value > 65535) {
		return NULL;
	}
	*ret = (uint16_t)value;
	return at;
}

int net_ports_parse(const char *text, struct net_rule *ret)
{
	unsigned count = 0;

	for (const char *at = text;; at++) {
		struct net_ports *range = &ret->ports[count];
		if (count++ == NET_RULE_PORTS_MAX || !(at = take_port(at, &range->first))) {
			return -EINVAL;
		}
		range->last = range->first;
		if (*at == '-' && !(at = take_port(at + 1, &range->last))) {
			return -EINVAL;
		}
		if (range->last < range->first) {
			return -EINVAL;
		}
		if (*at == '\0') {
			break;
		}
		if (*at != ',') {
			return -EINVAL;
		}
	}
	ret->ports_count = (uint8_t)count;
	return 0;
}

static int parse_host(const char *host, size_t size, struct net_rule *rule)
{
	char text[NET_NAME_MAX + 1];

	if (size == 0 || size > NET_NAME_MAX || memchr(host, '\0', size)) {
		return -EINVAL;
	}
	memcpy(text, host, size);
	text[size] = '\0';
	if (strcmp(text, "*") == 0) {
		rule->host = NET_HOST_ANY;
		return 0;
	}
	if (net_prefix_parse(text, &rule->prefix) == 0) {
		rule->host = NET_HOST_PREFIX;
		return 0;
	}
	bool below = strncmp(text, "*.", 2) == 0;
	rule->host = below ? NET_HOST_BELOW : NET_HOST_NAME;
	return net_name_normal(text + 2 * below, size - 2u * below, rule->name) ? 0 : -EINVAL;
}

/* "[2001:db8::]/32:443": the length belongs to the address, outside of the brackets. */
static int parse_bracketed(const char *text, struct net_rule *rule, const char **rest)
{
	char prefix[NET_ADDRESS_TEXT + 4];
	const char *end = strchr(text, ']');
	size_t length = end ? (size_t)(end - text - 1) : 0;

	if (!end || length == 0 || length >= NET_ADDRESS_TEXT) {
		return -EINVAL;
	}
	size_t more = strcspn(end + 1, ":");
	if (more > 4) {
		return -EINVAL;
	}
	memcpy(prefix, text + 1, length);
	memcpy(prefix + length, end + 1, more);
	prefix[length + more] = '\0';
	*rest = end + 1 + more;
	rule->host = NET_HOST_PREFIX;
	return net_prefix_parse(prefix, &rule->prefix);
}

static int parse(const char *text, struct net_rule *rule)
{
	const char *rest;
	int r;

	if (strncmp(text, LOCAL_MARK, strlen(LOCAL_MARK)) == 0) {
		rule->local = 1;
		text += strlen(LOCAL_MARK);
	}
	if (text[0] == '[') {
		r = parse_bracketed(text, rule, &rest);
	} else {
		size_t length = strcspn(text, ":");
		rest = text + length;
		r = parse_host(text, length, rule);
	}
	/* Written as text, this name would be the "local:" prefix. */
	if (r == 0 && !rule->local && strcmp(rule->name, "local") == 0) {
		r = -EINVAL;
	}
	if (r < 0) {
		return r;
	}
	if (*rest == '\0') {
		return net_ports_parse("80,443", rule);
	}
	return *rest == ':' ? net_ports_parse(rest + 1, rule) : -EINVAL;
}

int net_rule_parse(const char *text, struct net_rule *ret, struct brig_error *err)
{
	struct net_rule rule = { 0 };

	if (parse(text, &rule) < 0) {
		error_set(err, BRIG_E_INPUT, EINVAL, "\"%.80s\" is not a valid host", text);
		error_remedy(err, "write HOST[:PORTS]: pypi.org, *.example.org:443, "
				  "192.0.43.0/24:8000-8010, [2001:500::]/32:443; with local: in "
				  "front for a private address");
		return -EINVAL;
	}
	*ret = rule;
	return 0;
}

bool net_rule_is_sound(const struct net_rule *rule)
{
	char text[NET_RULE_TEXT];
	struct net_rule again = { 0 };

	if (rule->host > NET_HOST_PREFIX || rule->protocol > NET_ANY || rule->local > 1 ||
	    rule->ports_count == 0 || rule->ports_count > NET_RULE_PORTS_MAX ||
	    !memchr(rule->name, '\0', sizeof(rule->name)) ||
	    (rule->prefix.address.family != 4 && rule->prefix.address.family != 6 &&
	     rule->host == NET_HOST_PREFIX)) {
		return false;
	}
	/* A rule is sound if it is the same after it was written and parsed again. */
	return parse(net_rule_format(rule, text), &again) == 0 && again.host == rule->host &&
	       strcmp(again.name, rule->name) == 0;
}

const char *net_rule_format(const struct net_rule *rule, char text[NET_RULE_TEXT])
{
	char address[NET_ADDRESS_TEXT];
	bool six = rule->host == NET_HOST_PREFIX && rule->prefix.address.family == 6;
	const char *host = rule->host == NET_HOST_ANY ? "*" : rule->name;
	int n;

	if (rule->host == NET_HOST_PREFIX) {
		host = net_address_format(&rule->prefix.address, address);
	}
	n = snprintf(text, NET_RULE_TEXT, "%s%s%s%s%s", rule->local ? LOCAL_MARK : "",
		     rule->host == NET_HOST_BELOW ? "*." : "", six ? "[" : "", host,
		     six ? "]" : "");
	if (rule->host == NET_HOST_PREFIX && !net_prefix_is_one(&rule->prefix)) {
		n += snprintf(text + n, NET_RULE_TEXT - (size_t)n, "/%u", rule->prefix.bits);
	}
	for (unsigned i = 0; i < rule->ports_count; i++) {
		const struct net_ports *range = &rule->ports[i];
		n += snprintf(text + n, NET_RULE_TEXT - (size_t)n, "%c%u", i ? ',' : ':',
			      range->first);
		if (range->last > range->first) {
			n += snprintf(text + n, NET_RULE_TEXT - (size_t)n, "-%u", range->last);
		}
	}
	return text;
}

bool net_rule_has_port(const struct net_rule *rule, uint16_t port)
{
	for (unsigned i = 0; i < rule->ports_count; i++) {
		if (port >= rule->ports[i].first && port <= rule->ports[i].last) {
			return true;
		}
	}
	return false;
}

bool net_rule_has_name(const struct net_rule *rule, const char *name)
{
	switch ((enum net_host)rule->host) {
	case NET_HOST_NAME:
		return strcmp(rule->name, name) == 0;
	case NET_HOST_BELOW:
		return net_name_is_below(name, rule->name);
	case NET_HOST_ANY:
		return true;
	default:
		return false;
	}
}

bool net_rule_has_address(const struct net_rule *rule, const struct net_address *address)
{
	return rule->host == NET_HOST_PREFIX && net_prefix_has(&rule->prefix, address);
}

static bool covers_ports(const struct net_rule *wide, const struct net_ports *range)
{
	for (unsigned i = 0; i < wide->ports_count; i++) {
		if (wide->ports[i].first <= range->first && wide->ports[i].last >= range->last) {
			return true;
		}
	}
	return false;
}

static bool covers_host(const struct net_rule *wide, const struct net_rule *narrow)
{
	switch ((enum net_host)narrow->host) {
	case NET_HOST_NAME:
		return net_rule_has_name(wide, narrow->name);
	case NET_HOST_BELOW:
		return wide->host == NET_HOST_ANY ||
		       (wide->host == NET_HOST_BELOW &&
			(strcmp(wide->name, narrow->name) == 0 ||
			 net_name_is_below(narrow->name, wide->name)));
	case NET_HOST_ANY:
		return wide->host == NET_HOST_ANY;
	case NET_HOST_PREFIX:
		return wide->host == NET_HOST_PREFIX &&
		       net_prefix_covers(&wide->prefix, &narrow->prefix);
	}
	return false;
}

bool net_rule_covers(const struct net_rule *wide, const struct net_rule *narrow)
{
	for (unsigned i = 0; i < narrow->ports_count; i++) {
		if (!covers_ports(wide, &narrow->ports[i])) {
			return false;
		}
	}
	return covers_host(wide, narrow);
}

bool net_rule_permits(const struct net_rule *rule, const struct net_address *address,
		      enum net_class class)
{
	switch (class) {
	case NET_PUBLIC:
		return true;
	case NET_LOCAL:
		return rule->local;
	case NET_LINK:
		/*
		 * Metadata services hand out credentials: only a rule with the exact address
		 * reaches them.
		 */
		return rule->local && rule->host == NET_HOST_PREFIX &&
		       net_prefix_is_one(&rule->prefix) &&
		       net_address_equal(&rule->prefix.address, address);
	case NET_NEVER:
		break;
	}
	return false;
}

enum net_protocol net_rule_protocol(const struct net_rule *rule, uint16_t port)
{
	if (rule->host == NET_HOST_PREFIX) {
		return NET_ANY; /* there is no name to compare with */
	}
	if (rule->protocol != NET_BY_PORT) {
		return (enum net_protocol)rule->protocol;
	}
	return port == PORT_HTTPS ? NET_TLS : port == PORT_HTTP ? NET_HTTP : NET_ANY;
}

const struct net_rule *net_rules_for_name(const struct net_rule *rules, size_t count,
					  const char *name, uint16_t port, bool *host_known)
{
	*host_known = false;
	for (size_t i = 0; i < count; i++) {
		if (net_rule_has_name(&rules[i], name)) {
			*host_known = true;
			if (net_rule_has_port(&rules[i], port)) {
				return &rules[i];
			}
		}
	}
	return NULL;
}

const struct net_rule *net_rules_for_address(const struct net_rule *rules, size_t count,
					     const struct net_address *address, uint16_t port)
{
	for (size_t i = 0; i < count; i++) {
		if (net_rule_has_address(&rules[i], address) &&
		    net_rule_has_port(&rules[i], port)) {
			return &rules[i];
		}
	}
	return NULL;
}

int net_rules_ports(const struct net_rule *rules, size_t count, uint16_t ports[NET_PORTS_MAX])
{
	int found = 0;

	for (unsigned port = 1; port <= 65535; port++) {
		bool wanted = false;
		for (size_t i = 0; i < count && !wanted; i++) {
			wanted = net_rule_has_port(&rules[i], (uint16_t)port);
		}
		if (!wanted || port == NET_DNS_PORT) {
			continue;
		}
		if (found == NET_PORTS_MAX) {
			return -E2BIG;
		}
		ports[found++] = (uint16_t)port;
	}
	return found;
}
