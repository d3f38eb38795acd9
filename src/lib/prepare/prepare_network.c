/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a run: its rules, and the ports and routes of the cell that follow from them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/idrange.h"
#include "lib/prepare/prepare.h"

/* The paths of the list of trusted TLS authorities, by distribution. */
static const char *const certificate_files[] = {
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
};

#define CREDENTIALS_BYTES (GATE_CREDENTIALS_MAX * sizeof(struct gate_credential))

static bool is_name(const struct net_rule *rule)
{
	return rule->host != NET_HOST_PREFIX;
}

/* The cell has its own loopback: it needs no route. */
static bool is_loopback(const struct net_prefix *prefix)
{
	const struct net_address *address = &prefix->address;

	return address->family == 4
		       ? address->bytes[0] == 127 && prefix->bits >= 8
		       : net_prefix_is_one(prefix) && net_classify(address) == NET_LOCAL &&
				 address->bytes[0] == 0;
}

static int make_routes(struct prepared_gate *gate)
{
	bool names = false;

	for (size_t i = 0; i < gate->rules_count; i++) {
		names |= is_name(&gate->rules[i]);
		if (!is_name(&gate->rules[i]) && !is_loopback(&gate->rules[i].prefix)) {
			gate->routes[gate->routes_count++] = gate->rules[i].prefix;
		}
	}
	if (names) {
		return net_prefix_parse(GATE_SYNTHETIC, &gate->routes[gate->routes_count++]);
	}
	return 0;
}

static int make_ports(struct prepared_gate *gate, struct brig_error *err)
{
	int count = net_rules_ports(gate->rules, gate->rules_count, gate->ports);

	if (count < 0) {
		error_set(err, BRIG_E_POLICY, E2BIG,
			  "the network hosts have more than %d ports in all", NET_PORTS_MAX);
		error_remedy(err, "name the ports that this run needs: --net HOST:PORT");
		return -E2BIG;
	}
	gate->ports_count = (size_t)count;
	return 0;
}

static int read_value(const struct policy_credential *from, char value[GATE_VALUE_MAX],
		      struct brig_error *err)
{
	_cleanup_close_ int fd = open(from->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0) {
		return error_errno(err, BRIG_E_POLICY, errno, "credential file %s", from->file);
	}
	ssize_t n = S_ISREG(info.st_mode) ? read(fd, value, GATE_VALUE_MAX - 1) : 0;
	while (n > 0 && (value[n - 1] == '\n' || value[n - 1] == '\r')) {
		n--;
	}
	value[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i < n; i++) {
		if ((unsigned char)value[i] < ' ' || value[i] == 0x7f) {
			n = 0;
		}
	}
	return n > 0 ? 0
		     : error_set(err, BRIG_E_POLICY, EINVAL,
				 "credential file %s is not a single line of text", from->file);
}

static int make_credentials(struct prepared_gate *gate, struct brig_error *err)
{
	void *memory = mmap(NULL, CREDENTIALS_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, CREDENTIALS_BYTES, MADV_WIPEONFORK) < 0) {
		int r = error_errno(err, BRIG_E_SYSTEM, errno, "no memory for credentials");
		if (memory != MAP_FAILED) {
			munmap(memory, CREDENTIALS_BYTES);
		}
		return r;
	}
	(void)madvise(memory, CREDENTIALS_BYTES, MADV_DONTDUMP);
	gate->credentials = memory;
	return 0;
}

bool prepared_gate_opens(const struct prepared_gate *gate, const struct policy_credential *from)
{
	for (size_t i = 0; from->opened && i < gate->rules_count; i++) {
		const struct net_rule *rule = &gate->rules[i];
		for (size_t j = 0; net_rule_has_name(rule, from->name) && j < gate->ports_count;
		     j++) {
			if (net_rule_has_port(rule, gate->ports[j]) &&
			    net_rule_protocol(rule, gate->ports[j]) == NET_TLS) {
				return true;
			}
		}
	}
	return false;
}

/* Only for hosts that this run may reach: the gate does not get the others. */
static int add_credential(struct prepared_gate *gate, const struct policy_credential *from,
			  struct brig_error *err)
{
	bool wanted = prepared_gate_opens(gate, from);

	for (size_t i = 0; !from->opened && i < gate->rules_count; i++) {
		wanted |= net_rule_has_name(&gate->rules[i], from->name);
	}
	if (!wanted) {
		return 0;
	}
	struct gate_credential *to = &gate->credentials[gate->credentials_count++];
	to->kind = GATE_CREDENTIAL;
	to->opened = from->opened;
	memcpy(to->name, from->name, sizeof(to->name));
	memcpy(to->header, from->header, sizeof(to->header));
	return read_value(from, to->value, err);
}

static void find_certificates(struct prepared *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(certificate_files); i++) {
		struct stat info;
		if (stat(certificate_files[i], &info) == 0 && S_ISREG(info.st_mode)) {
			p->spec.certificates = certificate_files[i];
			return;
		}
	}
}

static int add_credentials(struct prepared *p, struct prepared_gate *gate, struct brig_error *err)
{
	const struct policy_network *network = &p->policy->network;

	if (!network->credentials_count) {
		return 0;
	}
	int r = make_credentials(gate, err);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < network->credentials_count; i++) {
		r = add_credential(gate, &network->credentials[i], err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int fill(struct prepared *p, struct prepared_gate *gate, struct brig_error *err)
{
	int r = make_ports(gate, err);

	if (r < 0) {
		return r;
	}
	if (make_routes(gate) < 0) {
		return error_set(err, BRIG_E_SYSTEM, EINVAL, "the gate's own addresses");
	}
	r = add_credentials(p, gate, err);
	if (r < 0) {
		return r;
	}
	r = prepare_trust(p, err);
	if (r < 0 || !(p->spec.layers & LAYER_BIT(LAYER_UIDRANGE))) {
		return r;
	}
	gate->ids = idrange_take(&gate->id, err);
	return gate->ids < 0 ? gate->ids : 0;
}

int prepare_network(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	struct net_rule rules[NET_RULES_MAX];
	int count = p->purpose == PURPOSE_COMPILE
			    ? 0
			    : policy_network_rules(p->policy, request->network,
						   request->network_own, rules, err);

	p->spec.gate = -1;
	if (count <= 0) {
		return count;
	}
	if (!provider_can(p->spec.provider, ABILITY_NETWORK)) {
		int r = error_set(err, BRIG_E_POLICY, ENOTSUP,
				  provider_can(p->spec.provider, ABILITY_WALLS)
					  ? "provider %s has no network"
					  : "provider %s cannot restrict the network",
				  p->spec.provider->name);
		error_remedy(err, "leave the network hosts out, or " PROVIDER_REMEDY);
		return r;
	}
	struct prepared_gate *gate = p->gate = calloc(1, sizeof(*gate));
	if (!gate) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for network rules");
	}
	gate->ids = -1;
	memcpy(gate->rules, rules, (size_t)count * sizeof(*rules));
	gate->rules_count = (size_t)count;
	find_certificates(p);
	int r = fill(p, gate, err);
	if (r < 0) {
		return r;
	}
	p->spec.gate_ports = gate->ports;
	p->spec.gate_ports_count = gate->ports_count;
	p->spec.gate_routes = gate->routes;
	p->spec.gate_routes_count = gate->routes_count;
	return 0;
}

void prepared_gate_free(struct prepared_gate *gate)
{
	if (gate) {
		close_fd(&gate->ids);
		if (gate->credentials) {
			explicit_bzero(gate->credentials, CREDENTIALS_BYTES);
			munmap(gate->credentials, CREDENTIALS_BYTES);
		}
		for (size_t i = 0; i < gate->trusts_count; i++) {
			buf_done(&gate->trusts[i].text);
		}
		buf_done(&gate->opened);
		buf_done(&gate->bundle);
		buf_done(&gate->authority);
		free(gate);
	}
}
