/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preparation before the seal: the authority, and all data that OpenSSL will need. See hosts.h,
 * main.c.
 */
#include "gate_tls/hosts.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gate_tls/authority.h"
#include "gate_tls/tls_end.h"
#include "gate_tls/trial_handshake.h"
#include "tls/library.h"
#include "tls/pem.h"
#include "tls/tls_context.h"

const struct tls_host *tls_host_find(const struct gate *gate, const char *name)
{
	const struct tls_hosts *hosts = gate->opener_state;

	for (unsigned i = 0; i < hosts->count; i++) {
		if (strcmp(hosts->list[i].name, name) == 0) {
			return &hosts->list[i];
		}
	}
	return NULL;
}

/* Each host once, though it may have several credentials. */
static void list_hosts(const struct gate *gate, struct tls_hosts *hosts)
{
	for (unsigned i = 0; i < gate->credentials_count; i++) {
		const struct gate_credential *credential = &gate->credentials[i];
		if (credential->opened && !tls_host_find(gate, credential->name)) {
			memcpy(hosts->list[hosts->count++].name, credential->name,
			       sizeof(credential->name));
		}
	}
}

static const struct trust *trust_for(const struct gate *gate, const char *name)
{
	const struct trust *all = NULL;

	for (unsigned i = 0; i < gate->trusts_count; i++) {
		if (strcmp(gate->trusts[i].name, name) == 0) {
			return &gate->trusts[i];
		}
		all = gate->trusts[i].name[0] ? all : &gate->trusts[i];
	}
	return all;
}

/* The trusted authorities of each host: hosts with the same PEM text share one store. */
static int make_clients(struct gate *gate, struct tls_hosts *hosts, struct gate_authority *ret)
{
	X509_STORE *stores[ARRAY_SIZE(gate->trusts)] = { NULL };
	int r = 0;

	for (unsigned i = 0; r == 0 && i < hosts->count; i++) {
		struct tls_host *host = &hosts->list[i];
		const struct trust *trust = trust_for(gate, host->name);
		X509_STORE **store = trust ? &stores[trust - gate->trusts] : NULL;
		if (store && !*store) {
			*store = pem_authorities(trust->text.data, trust->text.size);
		}
		host->client = store && *store ? tls_context_client(*store) : NULL;
		if (!host->client) {
			ret->trouble = store && *store ? GATE_TROUBLE_MADE : GATE_TROUBLE_TRUST;
			memcpy(ret->host, host->name, sizeof(ret->host));
			r = -EINVAL;
		}
	}
	for (unsigned i = 0; i < ARRAY_SIZE(stores); i++) {
		X509_STORE_free(stores[i]);
	}
	return r;
}

static int make_server(const struct authority *authority, struct tls_host *host)
{
	EVP_PKEY *key = NULL;
	X509 *certificate = NULL;
	int r = authority_sign(authority, host->name, &key, &certificate);

	if (r < 0) {
		return r;
	}
	host->server = tls_host_context(host);
	if (!host->server || SSL_CTX_use_certificate(host->server, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey(host->server, key) != 1) {
		r = -EIO;
	}
	EVP_PKEY_free(key);
	X509_free(certificate);
	return r;
}

static int write_text(X509 *certificate, struct gate_authority *ret)
{
	BIO *bio = BIO_new(BIO_s_mem());
	int size = bio && PEM_write_bio_X509(bio, certificate) == 1 ? (int)BIO_pending(bio) : -1;
	bool fits = size > 0 && (size_t)size < sizeof(ret->text) &&
		    BIO_read(bio, ret->text, size) == size;

	BIO_free(bio);
	return fits ? 0 : -EIO;
}

static int make_servers(struct tls_hosts *hosts, struct gate_authority *ret)
{
	const char *names[GATE_CREDENTIALS_MAX];
	struct authority authority;

	for (unsigned i = 0; i < hosts->count; i++) {
		names[i] = hosts->list[i].name;
	}
	int r = authority_new(names, hosts->count, &authority);
	if (r < 0) {
		return r;
	}
	for (unsigned i = 0; r == 0 && i < hosts->count; i++) {
		r = make_server(&authority, &hosts->list[i]);
	}
	r = r < 0 ? r : write_text(authority.certificate, ret);
	r = r < 0 ? r : trial_handshakes(hosts, authority.certificate);
	authority_free(&authority);
	return r;
}

static int prepare(struct gate *gate, struct gate_authority *ret)
{
	struct tls_hosts *hosts = calloc(1, sizeof(*hosts));

	ret->trouble = GATE_TROUBLE_MADE;
	if (!hosts || library_init(NULL) < 0) {
		free(hosts);
		return -ENOMEM;
	}
	gate->opener_state = hosts;
	list_hosts(gate, hosts);
	int r = make_clients(gate, hosts, ret);
	r = r < 0 ? r : make_servers(hosts, ret);
	for (unsigned i = 0; i < gate->trusts_count; i++) {
		buf_done(&gate->trusts[i].text);
	}
	ERR_clear_error();
	ret->trouble = r == 0 ? GATE_TROUBLE_NONE : ret->trouble;
	return r;
}

const struct tls_opener tls_opener = {
	.prepare = prepare,
	.accept = tls_end_accept,
	.connect = tls_end_connect,
	.follow = tls_end_follow,
	.free = tls_end_free,
};
