/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of TLS on both sides: versions 1.2 and 1.3, forward secrecy, no resumption, HTTP/1.1
 * only.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "gate/client_hello.h"
#include "gate_tls/hosts.h"

#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

static const unsigned char protocols[] = "\x08" TLS_ONE_PROTOCOL;

static SSL_CTX *context_new(const SSL_METHOD *method)
{
	SSL_CTX *context = SSL_CTX_new(method);

	if (!context) {
		return NULL;
	}
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					     SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_cipher_list(context, CIPHERS) != 1) {
		SSL_CTX_free(context);
		return NULL;
	}
	return context;
}

/* A program that wants another protocol gets an alert; one without ALPN is accepted. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
			   const unsigned char *offered, unsigned int size, void *user)
{
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)user;
	if (SSL_select_next_proto(&chosen, out_size, protocols, sizeof(protocols) - 1, offered,
				  size) != OPENSSL_NPN_NEGOTIATED) {
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	}
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* Checks the second ClientHello as well, which a program sends when it is asked for another key. */
static int judge_hello(SSL *ssl, int *alert, void *user)
{
	const struct tls_host *host = user;
	char name[NET_NAME_MAX + 1];
	const unsigned char *data;
	size_t size;

	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &data, &size) == 1 &&
			       hello_name_parse(data, size, name) == 0 &&
			       strcmp(name, host->name) == 0
		       ? SSL_CLIENT_HELLO_SUCCESS
		       : SSL_CLIENT_HELLO_ERROR;
}

SSL_CTX *tls_server_context(struct tls_host *host)
{
	SSL_CTX *context = context_new(TLS_server_method());

	if (context) {
		SSL_CTX_set_num_tickets(context, 0);
		SSL_CTX_set_client_hello_cb(context, judge_hello, host);
		SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	}
	return context;
}

SSL_CTX *tls_client_context(X509_STORE *trusted)
{
	SSL_CTX *context = context_new(TLS_client_method());

	/* The only function of its kind that returns 0 on success. */
	if (context && SSL_CTX_set_alpn_protos(context, protocols, sizeof(protocols) - 1) != 0) {
		SSL_CTX_free(context);
		return NULL;
	}
	if (context) {
		SSL_CTX_set1_cert_store(context, trusted);
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
		X509_VERIFY_PARAM_set_hostflags(SSL_CTX_get0_param(context),
						X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	}
	return context;
}

bool tls_name_peer(SSL *ssl, const char *name)
{
	char copy[NET_NAME_MAX + 1]; /* the macro takes no const */

	snprintf(copy, sizeof(copy), "%s", name);
	return SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, copy) == 1;
}

X509_STORE *tls_store_parse(const char *text, size_t size)
{
	BIO *bio = BIO_new_mem_buf(text, (int)size);
	X509_STORE *store = X509_STORE_new();
	unsigned count = 0;
	X509 *certificate;

	while (bio && store && (certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		count += X509_STORE_add_cert(store, certificate) == 1;
		X509_free(certificate);
	}
	/* A PEM text that ends in the middle of a certificate is an operator's mistake. */
	bool whole = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
	ERR_clear_error();
	BIO_free(bio);
	if (count == 0 || !whole) {
		X509_STORE_free(store);
		return NULL;
	}
	return store;
}
