/* SPDX-License-Identifier: Apache-2.0 */
/* See trial_handshake.h. */
#include "gate_tls/trial_handshake.h"

#include <errno.h>
#include <openssl/err.h>

#include "base/cleanup.h"
#include "tls/tls_context.h"

#define TURNS 16

static bool goes_on(SSL *ssl, int r)
{
	int error = SSL_get_error(ssl, r);

	return r == 1 || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

/* true: the handshake succeeded. */
static bool shake(SSL *server, SSL *client)
{
	bool met = false;

	for (int i = 0; i < TURNS && !met; i++) {
		int c = SSL_do_handshake(client);
		int s = SSL_do_handshake(server);
		if (!goes_on(client, c) || !goes_on(server, s)) {
			break;
		}
		met = c == 1 && s == 1;
	}
	ERR_clear_error();
	return met;
}

static bool meet(const struct tls_host *host, SSL_CTX *client_context, int version)
{
	SSL *server = SSL_new(host->server), *client = SSL_new(client_context);
	BIO *ours = NULL, *theirs = NULL;
	bool met = false;

	if (server && client && BIO_new_bio_pair(&ours, 0, &theirs, 0) == 1) {
		SSL_set_bio(server, ours, ours);
		SSL_set_bio(client, theirs, theirs);
		SSL_set_accept_state(server);
		SSL_set_connect_state(client);
		met = tls_name_peer(client, host->name) &&
		      SSL_set_max_proto_version(client, version) == 1 && shake(server, client);
	}
	SSL_free(server);
	SSL_free(client);
	return met;
}

int trial_handshakes(const struct tls_hosts *hosts, X509 *authority)
{
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	X509_STORE *store = X509_STORE_new();
	bool fine = store && X509_STORE_add_cert(store, authority) == 1;
	SSL_CTX *trusting = fine ? tls_context_client(store) : NULL;

	fine = trusting != NULL;
	for (unsigned i = 0; fine && i < hosts->count; i++) {
		for (size_t j = 0; fine && j < ARRAY_SIZE(versions); j++) {
			fine = meet(&hosts->list[i], trusting, versions[j]);
		}
		/* The true host's authorities must not trust ours. */
		fine = fine && !meet(&hosts->list[i], hosts->list[i].client, TLS1_3_VERSION);
	}
	SSL_CTX_free(trusting);
	X509_STORE_free(store);
	return fine ? 0 : -EIO;
}
