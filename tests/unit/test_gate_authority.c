/* SPDX-License-Identifier: Apache-2.0 */
/* The authority of a cell: its certificates are valid for its hosts, and for no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "gate_tls/authority.h"
#include "gate_tls/hosts.h"
#include "tls/pem.h"

static const char *const names[] = { "a.test", "b.internal" };

/* X509_V_OK, or the error of the verification. */
static int judge(X509 *certificate, X509 *trusted, const char *name)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *context = X509_STORE_CTX_new();

	assert_int_equal(X509_STORE_add_cert(store, trusted), 1);
	assert_int_equal(X509_STORE_CTX_init(context, store, certificate, NULL), 1);
	X509_VERIFY_PARAM *wanted = X509_STORE_CTX_get0_param(context);
	X509_VERIFY_PARAM_set1_host(wanted, name, 0);
	X509_VERIFY_PARAM_set_flags(wanted, X509_V_FLAG_X509_STRICT);
	X509_STORE_CTX_set_default(context, "ssl_server");
	(void)X509_verify_cert(context);
	int result = X509_STORE_CTX_get_error(context);
	X509_STORE_CTX_free(context);
	X509_STORE_free(store);
	return result;
}

static int signed_for(const struct authority *authority, const char *name, const char *used_for)
{
	EVP_PKEY *key = NULL;
	X509 *certificate = NULL;

	assert_int_equal(authority_sign(authority, name, &key, &certificate), 0);
	int result = judge(certificate, authority->certificate, used_for);
	EVP_PKEY_free(key);
	X509_free(certificate);
	return result;
}

static void test_hosts(void **state)
{
	struct authority authority;

	(void)state;
	assert_int_equal(authority_new(names, 2, &authority), 0);
	assert_int_equal(signed_for(&authority, "a.test", "a.test"), X509_V_OK);
	assert_int_equal(signed_for(&authority, "b.internal", "b.internal"), X509_V_OK);
	assert_int_equal(signed_for(&authority, "a.test", "b.internal"),
			 X509_V_ERR_HOSTNAME_MISMATCH);
	/* Refused even though it is signed. */
	assert_int_equal(signed_for(&authority, "evil.test", "evil.test"),
			 X509_V_ERR_PERMITTED_VIOLATION);
	assert_int_equal(signed_for(&authority, "xa.test", "xa.test"),
			 X509_V_ERR_PERMITTED_VIOLATION);
	authority_free(&authority);
}

static void test_cells_do_not_share(void **state)
{
	struct authority one, other;
	EVP_PKEY *key = NULL;
	X509 *certificate = NULL;

	(void)state;
	assert_int_equal(authority_new(names, 2, &one), 0);
	assert_int_equal(authority_new(names, 2, &other), 0);
	assert_int_not_equal(X509_NAME_cmp(X509_get_subject_name(one.certificate),
					   X509_get_subject_name(other.certificate)),
			     0);
	assert_int_equal(authority_sign(&one, "a.test", &key, &certificate), 0);
	assert_int_equal(judge(certificate, other.certificate, "a.test"),
			 X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
	EVP_PKEY_free(key);
	X509_free(certificate);
	authority_free(&one);
	authority_free(&other);
}

static void test_long_names(void **state)
{
	char longest[NET_NAME_MAX + 1];
	const char *list[GATE_CREDENTIALS_MAX];
	struct authority authority;

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	longest[63] = longest[127] = longest[191] = '.';
	for (int i = 0; i < GATE_CREDENTIALS_MAX; i++) {
		list[i] = longest;
	}
	assert_int_equal(authority_new(list, GATE_CREDENTIALS_MAX, &authority), 0);
	assert_int_equal(signed_for(&authority, longest, longest), X509_V_OK);
	BIO *bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_X509(bio, authority.certificate), 1);
	assert_true(BIO_pending(bio) < GATE_AUTHORITY_MAX);
	BIO_free(bio);
	authority_free(&authority);
}

static void test_lists(void **state)
{
	struct authority authority;
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;

	(void)state;
	assert_int_equal(authority_new(names, 2, &authority), 0);
	assert_int_equal(PEM_write_bio_X509(bio, authority.certificate), 1);
	size_t size = (size_t)BIO_get_mem_data(bio, &text);
	X509_STORE *store = pem_authorities(text, size);
	assert_non_null(store);
	X509_STORE_free(store);
	/* Texts without a whole certificate are refused. */
	assert_null(pem_authorities("", 0));
	assert_null(pem_authorities("nothing of the kind\n", 20));
	assert_null(pem_authorities(text, size / 2));
	BIO_free(bio);
	authority_free(&authority);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_cells_do_not_share),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
