/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trusted authorities where TLS to a host is opened: those of the gate, and those of the cell's
 * programs. Both are read here, with the permissions of brig's caller; the gate reads no files of
 * the operator.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/prepare/prepare.h"

#define TRUST_BYTES_MAX (2u << 20)

static int read_text(const char *path, struct buf *ret, struct brig_error *err)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat info;
	char data[8192];
	ssize_t n;

	if (fd < 0 || fstat(fd, &info) < 0) {
		return error_errno(err, BRIG_E_POLICY, errno, "certificate authorities %s", path);
	}
	if (!S_ISREG(info.st_mode)) {
		return error_set(err, BRIG_E_POLICY, EINVAL,
				 "certificate authorities %s is not a file", path);
	}
	while ((n = read(fd, data, sizeof(data))) > 0 && ret->size <= TRUST_BYTES_MAX) {
		buf_add(ret, data, (size_t)n);
	}
	if (n != 0 || ret->size == 0 || ret->failed) {
		return error_set(
			err, BRIG_E_POLICY, EINVAL,
			"certificate authorities %s cannot be read, is empty or is too large",
			path);
	}
	return 0;
}

/* The host's own list goes into the cell as well, followed by the cell's authority. */
static int read_default(struct prepared *p, struct brig_error *err)
{
	struct buf *bundle = &p->gate->bundle;
	int r = p->spec.certificates ? read_text(p->spec.certificates, bundle, err) : 0;

	if (r == 0 && bundle->size) {
		buf_addc(bundle, '\n');
	}
	p->gate->bundle_host = bundle->size;
	return r;
}

static bool is_known(const struct prepared_gate *gate, const char *name)
{
	for (size_t i = 0; i < gate->trusts_count; i++) {
		if (strcmp(gate->trusts[i].name, name) == 0) {
			return true;
		}
	}
	return false;
}

static int read_own(struct prepared *p, const struct policy_credential *from,
		    struct brig_error *err)
{
	struct prepared_gate *gate = p->gate;

	if (!from->authorities && !p->spec.certificates) {
		error_set(err, BRIG_E_POLICY, ENOENT,
			  "TLS to %s cannot be opened: this host has no list of certificate "
			  "authorities",
			  from->name);
		error_remedy(err, "install ca-certificates, or name a file as \"authorities\" of "
				  "the credential");
		return -ENOENT;
	}
	if (!from->authorities || is_known(gate, from->name)) {
		gate->trusts_host |= !from->authorities;
		return 0;
	}
	struct prepared_trust *trust = &gate->trusts[gate->trusts_count++];
	trust->name = from->name;
	return read_text(from->authorities, &trust->text, err);
}

/* A host may have several credentials, and is named once. */
static void name_host(struct prepared_gate *gate, const struct policy_credential *list, size_t last)
{
	for (size_t i = 0; i < last; i++) {
		if (list[i].opened && strcmp(list[i].name, list[last].name) == 0) {
			return;
		}
	}
	buf_adds(&gate->opened, gate->opened.size ? ", " : "");
	buf_adds(&gate->opened, list[last].name);
}

int prepare_trust(struct prepared *p, struct brig_error *err)
{
	const struct policy_network *network = &p->policy->network;
	struct prepared_gate *gate = p->gate;

	for (size_t i = 0; i < network->credentials_count; i++) {
		const struct policy_credential *from = &network->credentials[i];
		if (!prepared_gate_opens(gate, from)) {
			continue;
		}
		int r = gate->opens ? 0 : read_default(p, err);
		gate->opens = true;
		r = r < 0 ? r : read_own(p, from, err);
		if (r < 0) {
			return r;
		}
		name_host(gate, network->credentials, i);
	}
	if (gate->bundle.failed || gate->opened.failed) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for certificates");
	}
	return gate->opens ? prepared_gate_trust(p, "", err) : 0;
}

int prepared_gate_trust(struct prepared *p, const char *authority, struct brig_error *err)
{
	struct prepared_gate *gate = p->gate;

	/* A second start has another authority. */
	gate->bundle.size = gate->bundle_host;
	buf_adds(&gate->bundle, authority);
	gate->authority.size = 0;
	buf_adds(&gate->authority, authority);
	if (gate->bundle.failed || gate->authority.failed) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for certificates");
	}
	p->spec.opened = gate->opened.data;
	p->spec.authority = gate->authority.data;
	p->spec.authority_size = gate->authority.size;
	p->spec.bundle = gate->bundle.data;
	p->spec.bundle_size = gate->bundle.size;
	return 0;
}
