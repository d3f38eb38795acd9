/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate and its key, before they are used: see pair.h. */
#include "http_tls/pair.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include "base/cleanup.h"
#include "tls/library.h"
#include "tls/pem.h"

struct certificate_pair {
	const char *certificate_name, *key_name;
	X509 *certificate; /* owned */
	EVP_PKEY *key;     /* owned */
};

static void pair_done(struct certificate_pair *pair)
{
	X509_free(pair->certificate);
	EVP_PKEY_free(pair->key);
	ERR_clear_error();
}

static int no_certificate(const char *name, int r, struct brig_error *err)
{
	switch (r) {
	case -E2BIG:
		return error_set(err, BRIG_E_INPUT, E2BIG,
				 "tls.certificate: %s holds more than %d certificates", name,
				 ENDPOINT_CHAIN_MAX);
	case -ENODATA:
		error_set(err, BRIG_E_INPUT, EINVAL,
			  "tls.certificate: %s holds no certificate in PEM form", name);
		error_remedy(err, "it must have a line -----BEGIN CERTIFICATE-----; to convert: "
				  "openssl x509 -inform der -in FILE");
		return -EINVAL;
	default:
		error_set(err, BRIG_E_INPUT, EINVAL, "tls.certificate: %s is damaged: %s", name,
			  library_reason());
		error_remedy(err, "get it again from its issuer");
		return -EINVAL;
	}
}

/*
 * Reads the whole file, though only the first certificate matters here: a client needs the others
 * too.
 */
static int read_certificate(struct certificate_pair *pair, const struct endpoint_texts *texts,
			    struct brig_error *err)
{
	STACK_OF(X509) *chain = NULL;
	int r = pem_certificates(texts->certificate, texts->certificate_size, ENDPOINT_CHAIN_MAX,
				 &chain);

	if (r < 0) {
		return no_certificate(pair->certificate_name, r, err);
	}
	pair->certificate = sk_X509_shift(chain);
	pem_certificates_free(&chain);
	return 0;
}

static int read_key(struct certificate_pair *pair, const struct endpoint_texts *texts,
		    struct brig_error *err)
{
	int r = pem_key(texts->key, texts->key_size, &pair->key);

	switch (r) {
	case 0:
		return 0;
	case -EACCES:
		error_set(err, BRIG_E_INPUT, EINVAL, "tls.key: %s has a passphrase",
			  pair->key_name);
		error_remedy(err, "the service cannot ask for it; remove it: openssl pkey -in %s",
			     pair->key_name);
		return -EINVAL;
	case -ENODATA:
		error_set(err, BRIG_E_INPUT, EINVAL, "tls.key: %s holds no private key in PEM form",
			  pair->key_name);
		error_remedy(err, "it must have a line -----BEGIN PRIVATE KEY-----");
		return -EINVAL;
	default:
		error_set(err, BRIG_E_INPUT, EINVAL, "tls.key: %s is damaged: %s", pair->key_name,
			  library_reason());
		error_remedy(err, "make a new key, and have a certificate issued for it");
		return -EINVAL;
	}
}

static int check_match(const struct certificate_pair *pair, struct brig_error *err)
{
	if (X509_check_private_key(pair->certificate, pair->key) == 1) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EINVAL, "tls.key: %s is not the key of the certificate in %s",
		  pair->key_name, pair->certificate_name);
	error_remedy(err, "use the key and certificate of one issue; in a chain the server's own "
			  "certificate must "
			  "come first");
	return -EINVAL;
}

static time_t to_time(const ASN1_TIME *time)
{
	struct tm parts = { 0 };

	return time && ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

static int check_time(const struct certificate_pair *pair, time_t *ret_expires,
		      struct brig_error *err)
{
	time_t from = to_time(X509_get0_notBefore(pair->certificate));
	time_t until = to_time(X509_get0_notAfter(pair->certificate));
	time_t now = time(NULL);
	time_t bound = now < from ? from : until;
	struct tm parts;
	char text[32] = "?";

	*ret_expires = until;
	if (now >= from && now <= until) {
		return 0;
	}
	if (gmtime_r(&bound, &parts)) {
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
	}
	error_set(err, BRIG_E_INPUT, EINVAL, "tls.certificate: %s %s %s", pair->certificate_name,
		  now < from ? "is not valid before" : "has expired on", text);
	error_remedy(err, now < from ? "wait, or correct this host's clock"
				     : "renew it; no client would accept it");
	return -EINVAL;
}

/* Finds faults that only show in use, such as keys that are too short for OpenSSL. */
static int check_use(const struct certificate_pair *pair, const struct endpoint_texts *texts,
		     struct brig_error *err)
{
	struct endpoint *endpoint = NULL;
	struct brig_error why = { 0 };
	int r = endpoint_new(texts, &endpoint, &why);

	if (r < 0) {
		error_set(err, why.code, -r, "tls.certificate: %s cannot be used: %s",
			  pair->certificate_name, why.message);
		error_remedy(err, "use a key for P-256 or RSA with at least 2048 bits");
	}
	endpoint_free(endpoint);
	return r;
}

int pair_check(const struct endpoint_texts *texts, const char *certificate_name,
	       const char *key_name, time_t *ret_expires, struct brig_error *err)
{
	_cleanup_(pair_done)
	struct certificate_pair pair = { .certificate_name = certificate_name,
					 .key_name = key_name };
	int r = library_init(err);

	r = r < 0 ? r : read_certificate(&pair, texts, err);
	r = r < 0 ? r : read_key(&pair, texts, err);
	r = r < 0 ? r : check_match(&pair, err);
	r = r < 0 ? r : check_time(&pair, ret_expires, err);
	return r < 0 ? r : check_use(&pair, texts, err);
}
