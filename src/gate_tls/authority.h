/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate authority of one cell: made, used for the certificates of its hosts, and erased.
 * Its key is in the memory of this process from authority_new() to authority_free(), and never
 * anywhere else.
 */
#ifndef BRIG_GATE_TLS_AUTHORITY_H
#define BRIG_GATE_TLS_AUTHORITY_H

#include <openssl/evp.h>
#include <openssl/x509.h>

struct authority {
	EVP_PKEY *key; /* owned */
	X509 *certificate;
};

/* It can sign for these hosts, and no others. 0 or -EIO. */
int authority_new(const char *const *names, unsigned count, struct authority *ret);
void authority_free(struct authority *authority);
/* A server's certificate for this host alone, with a key of its own. 0 or -EIO. */
int authority_sign(const struct authority *authority, const char *name, EVP_PKEY **ret_key,
		   X509 **ret_certificate);
#endif
