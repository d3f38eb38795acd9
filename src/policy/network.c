/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a policy: "none", or the hosts that its cells may reach; and the rules of a
 * request.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "policy/policy_reader.h"

#define CONNECTIONS_MAX 256
#define TOTAL_MAX       UINT64_C(1000000)
#define CREDENTIALS_MAX 16

static const char *const caller_names[] = { "none", "public", "local" };
/* TLS to a host passes unopened, unless it is opened for a credential. */
static const char *const tls_names[] = { "pass", "open" };
static const char *const protocol_names[] = { "by_port", "tls", "http", "any" };

static void forget_credentials(struct policy_network *network)
{
	for (size_t i = 0; i < network->credentials_count; i++) {
		free(network->credentials[i].file);
		free(network->credentials[i].authorities);
	}
	free(network->credentials);
	network->credentials = NULL;
	network->credentials_count = 0;
}

static void free_reasons(char **reasons, size_t count)
{
	for (size_t i = 0; reasons && i < count; i++) {
		free(reasons[i]);
	}
	free(reasons);
}

void policy_network_done(struct policy_network *network)
{
	forget_credentials(network);
	free_reasons(network->reasons, network->allow_count);
	free(network->allow);
	network->allow = NULL;
	network->reasons = NULL;
	network->allow_count = 0;
	network->caller = CALLER_NETWORK_NONE;
}

static int complain(struct policy_reader *reader, const char *path, const struct brig_error *why)
{
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "%s", why->message);
	error_remedy(reader->err, "%s", why->remedy);
	return -EINVAL;
}

/* --- rules --------------------------------------------------------------------------------- */

/* The rule being read, which the plain reader has no field for. */
struct rule_reader {
	struct policy_reader reader; /* first: the keys get a pointer to it */
	struct net_rule *rule;
	char **reason;
};

static struct net_rule *rule_of(struct policy_reader *reader)
{
	return ((struct rule_reader *)reader)->rule;
}

static int read_host(struct policy_reader *reader, const char *path, json_t *value)
{
	struct brig_error why = { 0 };
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	r = net_rule_parse(text, rule_of(reader), &why);
	return r < 0 ? complain(reader, path, &why) : 0;
}

static int read_ports(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0 || net_ports_parse(text, rule_of(reader)) == 0) {
		return r;
	}
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
		       "\"%.64s\" is not a valid list of ports", text);
	error_remedy(reader->err, "write \"443\", \"80,443\" or \"8000-8010\"");
	return -EINVAL;
}

static int read_local(struct policy_reader *reader, const char *path, json_t *value)
{
	bool local = false;
	int r = read_bool(reader, path, value, &local);

	rule_of(reader)->local = local;
	return r;
}

static int read_protocol(struct policy_reader *reader, const char *path, json_t *value)
{
	const struct reader_choice names = { protocol_names, ARRAY_SIZE(protocol_names) };
	unsigned choice = 0;
	int r = read_choice(reader, path, value, &names, &choice);

	rule_of(reader)->protocol = (uint8_t)choice;
	return r;
}

static int read_rule_reason(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_reason(reader, path, value, ((struct rule_reader *)reader)->reason);
}

/* "HOST:PORTS", or an object with more keys. */
static int read_rule(struct policy_reader *reader, const char *path, json_t *value,
		     struct net_rule *ret, char **reason)
{
	static const struct reader_key keys[] = {
		{ "host", read_host },          { "ports", read_ports },
		{ "local", read_local },        { "protocol", read_protocol },
		{ "reason", read_rule_reason },
	};
	struct rule_reader own = { .reader = *reader, .rule = ret, .reason = reason };
	char below[POLICY_PATH_MAX];

	*ret = (struct net_rule){ 0 };
	if (!json_is_object(value)) {
		return read_host(&own.reader, path, value);
	}
	/*
	 * The host first, whatever the order in the file: it sets default ports, which other keys
	 * replace.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *item = json_object_get(value, keys[i].name);
		if (!item && i == 0) {
			return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
					      "\"host\" is missing");
		}
		reader_path(below, path, keys[i].name);
		int r = item ? keys[i].read(&own.reader, below, item) : 0;
		if (r < 0) {
			return r;
		}
	}
	const struct net_rule whole = *ret;
	int r = read_object(&own.reader, path, value, keys, ARRAY_SIZE(keys)); /* unknown keys */
	*ret = whole;
	return r;
}

struct rule_list {
	struct net_rule *rules; /* owned */
	char **reasons;         /* owned, with each of them */
	size_t count;
};

static void rule_list_done(struct rule_list *list)
{
	free(list->rules);
	free_reasons(list->reasons, list->count);
}

static int read_allow(struct policy_reader *reader, const char *path, json_t *value)
{
	struct policy_network *network = &reader->policy->network;
	int r = read_array(reader, path, value, NET_RULES_MAX);

	if (r < 0) {
		return r;
	}
	size_t count = json_array_size(value);
	_cleanup_(rule_list_done)
	struct rule_list list = {
		.rules = calloc(count + 1, sizeof(*list.rules)),
		.reasons = calloc(count + 1, sizeof(*list.reasons)),
		.count = count,
	};
	if (!list.rules || !list.reasons) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	for (size_t i = 0; i < count; i++) {
		char below[POLICY_PATH_MAX];
		snprintf(below, sizeof(below), "%.100s[%zu]", path, i);
		r = read_rule(reader, below, json_array_get(value, i), &list.rules[i],
			      &list.reasons[i]);
		if (r < 0) {
			return r;
		}
	}
	free_reasons(network->reasons, network->allow_count);
	network->reasons = TAKE_PTR(list.reasons);
	free(network->allow);
	network->allow = TAKE_PTR(list.rules);
	network->allow_count = count;
	return 0;
}

/* --- credentials --------------------------------------------------------------------------- */

struct credential_reader {
	struct policy_reader reader;
	struct policy_credential *credential;
};

static struct policy_credential *credential_of(struct policy_reader *reader)
{
	return ((struct credential_reader *)reader)->credential;
}

static int wrong(struct policy_reader *reader, const char *path, const char *what)
{
	return json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "%s", what);
}

static int read_credential_host(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	return r < 0 || net_name_normal(text, strlen(text), credential_of(reader)->name)
		       ? r
		       : wrong(reader, path, "must be one host name");
}

static int read_credential_header(struct policy_reader *reader, const char *path, json_t *value)
{
	struct policy_credential *credential = credential_of(reader);
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	size_t length = strlen(text);
	if (length == 0 || length >= sizeof(credential->header) ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") !=
		    length) {
		return wrong(reader, path, "must be a header name");
	}
	memcpy(credential->header, text, length + 1);
	return 0;
}

static int read_path(struct policy_reader *reader, const char *path, json_t *value, char **ret)
{
	const char *text;
	int r = read_string(reader, path, value, &text);

	if (r < 0) {
		return r;
	}
	if (text[0] != '/' || !path_is_beneath(text + 1, NULL)) {
		return wrong(reader, path, "must be an absolute path, without \"..\"");
	}
	free(*ret);
	*ret = strdup(text);
	return *ret ? 0 : error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
}

static int read_credential_file(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_path(reader, path, value, &credential_of(reader)->file);
}

static int read_credential_authorities(struct policy_reader *reader, const char *path,
				       json_t *value)
{
	return read_path(reader, path, value, &credential_of(reader)->authorities);
}

static int read_credential_tls(struct policy_reader *reader, const char *path, json_t *value)
{
	const struct reader_choice names = { tls_names, ARRAY_SIZE(tls_names) };
	unsigned choice = 0;
	int r = read_choice(reader, path, value, &names, &choice);

	credential_of(reader)->opened = choice == 1;
	return r;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Checks across keys; `list[last]` is the newest. */
static int check_credential(struct policy_reader *reader, const char *path,
			    const struct policy_credential *list, size_t last)
{
	const struct policy_credential *own = &list[last];

	if (!own->name[0] || !own->header[0] || !own->file) {
		return wrong(reader, path, "requires \"host\", \"header\" and \"file\"");
	}
	if (own->authorities && !own->opened) {
		return wrong(reader, path, "\"authorities\" requires \"tls\": \"open\"");
	}
	for (size_t i = 0; own->opened && i < last; i++) {
		if (list[i].opened && strcmp(list[i].name, own->name) == 0 &&
		    !same(list[i].authorities, own->authorities)) {
			return wrong(reader, path,
				     "\"authorities\" differs from that of the same host above");
		}
	}
	return 0;
}

static int read_credentials(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "host", read_credential_host },
		{ "header", read_credential_header },
		{ "file", read_credential_file },
		{ "tls", read_credential_tls },
		{ "authorities", read_credential_authorities },
	};
	struct policy_network *network = &reader->policy->network;
	int r = read_array(reader, path, value, CREDENTIALS_MAX);

	if (r < 0) {
		return r;
	}
	size_t count = json_array_size(value);
	struct policy_credential *list = calloc(count + 1, sizeof(*list));
	if (!list) {
		return error_errno(reader->err, BRIG_E_SYSTEM, ENOMEM, "%s", path);
	}
	/* Owned by the policy from here on, even after an error. */
	forget_credentials(network);
	network->credentials = list;
	network->credentials_count = count;
	for (size_t i = 0; r == 0 && i < count; i++) {
		struct credential_reader own = { .reader = *reader, .credential = &list[i] };
		char below[POLICY_PATH_MAX];
		snprintf(below, sizeof(below), "%.100s[%zu]", path, i);
		r = read_object(&own.reader, below, json_array_get(value, i), keys,
				ARRAY_SIZE(keys));
		r = r < 0 ? r : check_credential(reader, below, list, i);
	}
	return r;
}

/* --- the section --------------------------------------------------------------------------- */

static int read_caller(struct policy_reader *reader, const char *path, json_t *value)
{
	const struct reader_choice names = { caller_names, ARRAY_SIZE(caller_names) };
	unsigned choice = 0;
	int r = read_choice(reader, path, value, &names, &choice);

	reader->policy->network.caller = (enum caller_network)choice;
	return r;
}

static int read_connections(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 1, CONNECTIONS_MAX,
			     &reader->policy->network.connections);
}

static int read_total(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 1, TOTAL_MAX,
			     &reader->policy->network.connections_total);
}

static int read_rate(struct policy_reader *reader, const char *path, json_t *value)
{
	return read_quantity(reader, path, value, UNIT_COUNT, 1, TOTAL_MAX,
			     &reader->policy->network.rate);
}

int read_network(struct policy_reader *reader, const char *path, json_t *value)
{
	static const struct reader_key keys[] = {
		{ "allow", read_allow },
		{ "caller", read_caller },
		{ "connections", read_connections },
		{ "connections_total", read_total },
		{ "rate", read_rate },
		{ "credentials", read_credentials },
		{ "reasons", read_reasons },
	};
	static const char *const none[] = { "none" };
	const struct reader_choice names = { none, ARRAY_SIZE(none) };
	unsigned choice;

	if (json_is_object(value)) {
		return read_object(reader, path, value, keys, ARRAY_SIZE(keys));
	}
	policy_network_done(&reader->policy->network);
	return read_choice(reader, path, value, &names, &choice);
}

/* --- a request ----------------------------------------------------------------------------- */

static int refuse(const struct policy *policy, const char *text, bool local, struct brig_error *err)
{
	error_set(err, BRIG_E_POLICY, EACCES, "policy %s does not allow the network host %s",
		  policy->name, text);
	error_remedy(err, local ? "the operator can set network.caller to \"local\", or add it to "
				  "network.allow, in the policy"
				: "use a host of network.allow, or let the operator add it there");
	return -EACCES;
}

static int take_wanted(const struct policy *policy, const char *text, bool own,
		       struct net_rule *ret, struct brig_error *err)
{
	const struct policy_network *network = &policy->network;
	int r = net_rule_parse(text, ret, err);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < network->allow_count; i++) {
		const struct net_rule *allowed = &network->allow[i];
		if (net_rule_covers(allowed, ret) && (!ret->local || allowed->local)) {
			ret->local = allowed->local;
			ret->protocol = allowed->protocol;
			return 0;
		}
	}
	/* A host that a caller requests beyond the list has no reason. */
	if (own && network->reasons_required && network->caller != CALLER_NETWORK_NONE) {
		error_set(err, BRIG_E_POLICY, EACCES,
			  "the network host %s is not in policy %s, and the operator requires a "
			  "reason for each",
			  text, policy->name);
		error_remedy(err, "let the operator add it to network.allow, with its \"reason\"");
		return -EACCES;
	}
	enum caller_network needed = ret->local ? CALLER_NETWORK_LOCAL : CALLER_NETWORK_PUBLIC;
	return own && network->caller >= needed ? 0 : refuse(policy, text, ret->local, err);
}

int policy_network_rules(const struct policy *policy, const char *const *wanted, bool own,
			 struct net_rule ret[NET_RULES_MAX], struct brig_error *err)
{
	int count = 0;

	if (!wanted) {
		if (policy->network.allow_count) {
			memcpy(ret, policy->network.allow,
			       policy->network.allow_count * sizeof(*ret));
		}
		return (int)policy->network.allow_count;
	}
	for (; *wanted; wanted++) {
		if (count == NET_RULES_MAX) {
			return error_set(err, BRIG_E_INPUT, E2BIG, "more than %d network hosts",
					 NET_RULES_MAX);
		}
		int r = take_wanted(policy, *wanted, own, &ret[count], err);
		if (r < 0) {
			return r;
		}
		count++;
	}
	return count;
}
