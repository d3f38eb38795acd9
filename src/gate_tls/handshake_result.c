/* SPDX-License-Identifier: Apache-2.0 */
/* See handshake_result.h. */
#include "gate_tls/handshake_result.h"

#include <openssl/x509v3.h>
#include <string.h>

#include "base/cleanup.h"
#include "tls/tls_context.h"

enum gate_cause handshake_failure_cause(const SSL *ssl)
{
	static const struct {
		long result;
		enum gate_cause cause;
	} causes[] = {
		{ X509_V_OK, GATE_CAUSE_PROTOCOL },
		{ X509_V_ERR_HOSTNAME_MISMATCH, GATE_CAUSE_NAME },
		{ X509_V_ERR_CERT_HAS_EXPIRED, GATE_CAUSE_TIME },
		{ X509_V_ERR_CERT_NOT_YET_VALID, GATE_CAUSE_TIME },
		{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, GATE_CAUSE_UNTRUSTED },
		{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, GATE_CAUSE_UNTRUSTED },
		{ X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, GATE_CAUSE_UNTRUSTED },
		{ X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, GATE_CAUSE_UNTRUSTED },
		{ X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, GATE_CAUSE_UNTRUSTED },
		{ X509_V_ERR_CERT_UNTRUSTED, GATE_CAUSE_UNTRUSTED },
	};
	long result = SSL_get_verify_result(ssl);

	if (SSL_is_server(ssl)) {
		return GATE_CAUSE_PROGRAM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		if (causes[i].result == result) {
			return causes[i].cause;
		}
	}
	return GATE_CAUSE_CERTIFICATE;
}

/* No protocol at all means HTTP/1.1 as well: a peer without ALPN has no other. */
static bool is_one_protocol(const SSL *ssl)
{
	const unsigned char *name;
	unsigned size;

	SSL_get0_alpn_selected(ssl, &name, &size);
	return size == 0 ||
	       (size == strlen(TLS_ONE_PROTOCOL) && memcmp(name, TLS_ONE_PROTOCOL, size) == 0);
}

bool handshake_is_valid(const SSL *ssl)
{
	/*
	 * Checked once more: without a certificate the verification would have nothing to refuse.
	 */
	bool proved = SSL_is_server(ssl) ||
		      (SSL_get0_peer_certificate(ssl) && SSL_get_verify_result(ssl) == X509_V_OK);

	return proved && is_one_protocol(ssl);
}
