/* SPDX-License-Identifier: Apache-2.0 */
/* Certificate authorities: see authority.h. */
#include "gate_tls/authority.h"

#include <errno.h>
#include <openssl/ec.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"

/*
 * A cell that lives longer has to be made again; valid from an hour ago, for clocks that are
 * adjusted meanwhile.
 */
#define LIFE_SECONDS (30L * 24 * 3600)
#define SKEW_SECONDS 3600L

struct extension {
	int kind;
	const char *value;
};

static int add_extensions(X509 *certificate, X509 *issuer, const struct extension *list,
			  size_t count)
{
	X509V3_CTX context;

	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	X509V3_set_ctx_nodb(&context);
	for (size_t i = 0; i < count; i++) {
		X509_EXTENSION *extension =
			X509V3_EXT_conf_nid(NULL, &context, list[i].kind, list[i].value);
		if (!extension || X509_add_ext(certificate, extension, -1) != 1) {
			X509_EXTENSION_free(extension);
			return -EIO;
		}
		X509_EXTENSION_free(extension);
	}
	return 0;
}

static int set_serial(X509 *certificate)
{
	unsigned char bytes[16];

	if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
		return -EIO;
	}
	bytes[0] &= 0x7f; /* a positive number */
	bytes[0] |= 0x40;
	BIGNUM *number = BN_bin2bn(bytes, sizeof(bytes), NULL);
	bool fine = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
	BN_free(number);
	return fine ? 0 : -EIO;
}

static int add_name(X509_NAME *name, const char *field, const char *text)
{
	return X509_NAME_add_entry_by_txt(name, field, MBSTRING_ASC, (const unsigned char *)text,
					  -1, -1, 0) == 1
		       ? 0
		       : -EIO;
}

/* All but the extensions and the signature. NULL: it could not be made. */
static X509 *certificate_new(EVP_PKEY *key, const char *unit)
{
	X509 *certificate = X509_new();
	X509_NAME *subject = certificate ? X509_get_subject_name(certificate) : NULL;

	if (!certificate || X509_set_version(certificate, X509_VERSION_3) != 1 ||
	    set_serial(certificate) < 0 ||
	    !X509_gmtime_adj(X509_getm_notBefore(certificate), -SKEW_SECONDS) ||
	    !X509_gmtime_adj(X509_getm_notAfter(certificate), LIFE_SECONDS) ||
	    X509_set_pubkey(certificate, key) != 1 || add_name(subject, "O", "brig") < 0 ||
	    add_name(subject, "OU", unit) < 0) {
		X509_free(certificate);
		return NULL;
	}
	return certificate;
}

/* Host names have no character that has a meaning here: net_name_normal(). */
static char *constraints_of(const char *const *names, unsigned count)
{
	struct buf text = { 0 };

	buf_adds(&text, "critical,excluded;IP:0.0.0.0/0.0.0.0,"
			"excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0");
	for (unsigned i = 0; i < count; i++) {
		buf_addf(&text, ",permitted;DNS:%s", names[i]);
	}
	return buf_take(&text);
}

/* No two cells have authorities of the same name: programs look them up by it. */
static int unit_new(char unit[64])
{
	unsigned char bytes[8];

	if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
		return -EIO;
	}
	int n = snprintf(unit, 64, "this cell only, ");
	for (size_t i = 0; i < sizeof(bytes); i++) {
		n += snprintf(unit + n, 64 - (size_t)n, "%02x", bytes[i]);
	}
	return 0;
}

int authority_new(const char *const *names, unsigned count, struct authority *ret)
{
	_cleanup_free_ char *constraints = constraints_of(names, count);
	char unit[64];
	const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:TRUE,pathlen:0" },
		{ NID_key_usage, "critical,keyCertSign" },
		{ NID_subject_key_identifier, "hash" },
		{ NID_name_constraints, constraints },
	};
	struct authority own = { 0 };

	if (!constraints || unit_new(unit) < 0 || !(own.key = EVP_EC_gen("P-256")) ||
	    !(own.certificate = certificate_new(own.key, unit)) ||
	    X509_set_issuer_name(own.certificate, X509_get_subject_name(own.certificate)) != 1 ||
	    add_extensions(own.certificate, own.certificate, extensions, ARRAY_SIZE(extensions)) <
		    0 ||
	    X509_sign(own.certificate, own.key, EVP_sha256()) == 0) {
		authority_free(&own);
		return -EIO;
	}
	*ret = own;
	return 0;
}

/* OpenSSL overwrites private keys when it frees them. */
void authority_free(struct authority *authority)
{
	EVP_PKEY_free(authority->key);
	X509_free(authority->certificate);
	*authority = (struct authority){ 0 };
}

int authority_sign(const struct authority *authority, const char *name, EVP_PKEY **ret_key,
		   X509 **ret_certificate)
{
	char names[320];
	const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:FALSE" },
		{ NID_key_usage, "critical,digitalSignature" },
		{ NID_ext_key_usage, "serverAuth" },
		{ NID_subject_key_identifier, "hash" },
		{ NID_authority_key_identifier, "keyid:always" },
		{ NID_subject_alt_name, names },
	};
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate = key ? certificate_new(key, "gate") : NULL;

	snprintf(names, sizeof(names), "DNS:%s", name);
	if (!certificate ||
	    X509_set_issuer_name(certificate, X509_get_subject_name(authority->certificate)) != 1 ||
	    add_extensions(certificate, authority->certificate, extensions,
			   ARRAY_SIZE(extensions)) < 0 ||
	    X509_sign(certificate, authority->key, EVP_sha256()) == 0) {
		X509_free(certificate);
		EVP_PKEY_free(key);
		return -EIO;
	}
	*ret_key = key;
	*ret_certificate = certificate;
	return 0;
}
