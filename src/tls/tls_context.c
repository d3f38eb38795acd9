/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of TLS: see tls_context.h. */
#include "tls/tls_context.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <stdio.h>

/* Of version 1.2. OpenSSL's default includes CBC and key exchange without forward secrecy. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

#define NAME_SIZE 256

static const unsigned char protocols[] = "\x08" TLS_ONE_PROTOCOL;

static SSL_CTX *context_new(const SSL_METHOD *method)
{
	SSL_CTX *context = SSL_CTX_new(method);

	if (!context) {
		return NULL;
	}
	/*
	 * No session is stored for resumption: a key is not used beyond its connection, and clients
	 * cannot fill a cache.
	 */
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
					     SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	/* An idle connection keeps no buffers. */
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* After a record without content the caller decides whether to go on. */
	SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_cipher_list(context, CIPHERS) != 1) {
		SSL_CTX_free(context);
		return NULL;
	}
	return context;
}

/* `user` is NULL unless other protocols are refused. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_size,
			   const unsigned char *offered, unsigned int size, void *user)
{
	unsigned char *chosen = NULL;

	(void)ssl;
	if (SSL_select_next_proto(&chosen, out_size, protocols, sizeof(protocols) - 1, offered,
				  size) != OPENSSL_NPN_NEGOTIATED) {
		return user ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK;
	}
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

SSL_CTX *tls_context_server(bool strict)
{
	SSL_CTX *context = context_new(TLS_server_method());

	if (context) {
		SSL_CTX_set_num_tickets(context, 0);
		SSL_CTX_set_alpn_select_cb(context, choose_protocol, strict ? context : NULL);
	}
	return context;
}

SSL_CTX *tls_context_client(X509_STORE *trusted)
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

static bool is_address(const char *name)
{
	unsigned char bytes[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* An address is no server name (RFC 6066, section 3). */
bool tls_name_peer(SSL *ssl, const char *name)
{
	char copy[NAME_SIZE]; /* the macro takes no const */
	int size = snprintf(copy, sizeof(copy), "%s", name);

	return size >= 0 && (size_t)size < sizeof(copy) && SSL_set1_host(ssl, name) == 1 &&
	       (is_address(name) || SSL_set_tlsext_host_name(ssl, copy) == 1);
}
