/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates and keys in PEM form. No user is asked for a passphrase. */
#ifndef BRIG_TLS_PEM_H
#define BRIG_TLS_PEM_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stddef.h>

/*
 * All certificates of a text, in order. -ENODATA: it has none; -E2BIG: it has more than `most`;
 * -EBADMSG: one is damaged, and library_reason() tells how; -ENOMEM.
 */
int pem_certificates(const char *text, size_t size, int most, STACK_OF(X509) * *ret);
void pem_certificates_free(STACK_OF(X509) * *list);
/* The first key. -ENODATA, -EBADMSG, -ENOMEM: as above; -EACCES: it has a passphrase. */
int pem_key(const char *text, size_t size, EVP_PKEY **ret);
/* The authorities in a text; NULL: it has none, or one is damaged. */
X509_STORE *pem_authorities(const char *text, size_t size);
#endif
