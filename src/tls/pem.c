/* SPDX-License-Identifier: Apache-2.0 */
/* Texts in PEM form: see pem.h. */
#include "tls/pem.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

static void free_bio(BIO **bio)
{
	BIO_free(*bio);
}

static BIO *text_bio(const char *text, size_t size)
{
	ERR_clear_error();
	return size <= INT_MAX ? BIO_new_mem_buf(text, (int)size) : NULL;
}

static int no_passphrase(char *buffer, int size, int writes, void *user)
{
	bool *asked = user;

	(void)buffer, (void)size, (void)writes;
	*asked = true;
	return -1;
}

/* Was the end of the text the reason that nothing was read? */
static bool at_end(void)
{
	return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

void pem_certificates_free(STACK_OF(X509) * *list)
{
	sk_X509_pop_free(*list, X509_free);
	*list = NULL;
}

int pem_certificates(const char *text, size_t size, int most, STACK_OF(X509) * *ret)
{
	_cleanup_(free_bio)
	BIO *bio = text_bio(text, size);
	_cleanup_(pem_certificates_free)
	STACK_OF(X509) *list = bio ? sk_X509_new_null() : NULL;
	bool asked = false;
	X509 *next;

	if (!list) {
		return -ENOMEM;
	}
	while ((next = PEM_read_bio_X509(bio, NULL, no_passphrase, &asked))) {
		int r = sk_X509_num(list) == most ? -E2BIG : sk_X509_push(list, next) ? 0 : -ENOMEM;
		if (r < 0) {
			X509_free(next);
			return r;
		}
	}
	if (!at_end()) {
		return -EBADMSG;
	}
	if (sk_X509_num(list) == 0) {
		return -ENODATA;
	}
	ERR_clear_error();
	*ret = TAKE_PTR(list);
	return 0;
}

int pem_key(const char *text, size_t size, EVP_PKEY **ret)
{
	static const char mark[] = "PRIVATE KEY-----";
	_cleanup_(free_bio)
	BIO *bio = text_bio(text, size);
	bool asked = false;
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &asked) : NULL;

	if (key) {
		*ret = key;
		return 0;
	}
	if (!bio) {
		return -ENOMEM;
	}
	return asked ? -EACCES : memmem(text, size, mark, sizeof(mark) - 1) ? -EBADMSG : -ENODATA;
}

X509_STORE *pem_authorities(const char *text, size_t size)
{
	_cleanup_(pem_certificates_free)
	STACK_OF(X509) *list = NULL;
	int r = pem_certificates(text, size, INT_MAX, &list);
	X509_STORE *store = r == 0 ? X509_STORE_new() : NULL;
	int count = 0;

	for (int i = 0; store && i < sk_X509_num(list); i++) {
		count += X509_STORE_add_cert(store, sk_X509_value(list, i)) == 1;
	}
	ERR_clear_error();
	if (count == 0) {
		X509_STORE_free(store);
		return NULL;
	}
	return store;
}
