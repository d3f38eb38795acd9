/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of tls.certificate and tls.key. Their contents stay in the configuration, and are sent
 * to every front that is started; after changing the files, the operator sends SIGHUP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "serve/config.h"
#include "serve/tls/tls_program.h"
#include "serve/tls/tls_texts.h"

#define DAY_SECONDS  86400
#define WARNING_DAYS 14

static int read_file(const char *key, const char *path, bool secret, struct buf *ret,
		     struct brig_error *err)
{
	int r = config_file_linked(path, secret, ret, err);

	if (r == -ENOENT) {
		error_set(err, BRIG_E_INPUT, ENOENT, "%s: there is no file %s", key, path);
		error_remedy(err, "put it there, or leave tls.certificate and tls.key out: then "
				  "TCP is in clear");
	}
	return r;
}

/* The front is given both texts with a NUL in between. */
static int check_text(const char *key, const char *path, const struct buf *text,
		      struct brig_error *err)
{
	if (text->size > 0 && !memchr(text->data, '\0', text->size)) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EINVAL, "%s: %s is %s", key, path,
		  text->size ? "not in PEM format" : "empty");
	error_remedy(err, "it must have a line that begins with -----BEGIN");
	return -EINVAL;
}

static int check_both(const struct serve_config *config, struct brig_error *err)
{
	const char *missing = config->tls_certificate ? "tls.key" : "tls.certificate";

	if (config->tls_certificate && config->tls_key) {
		return 0;
	}
	error_set(err, BRIG_E_INPUT, EINVAL, "%s is not set, and TLS needs both files", missing);
	error_remedy(err, "set it, or leave both out: then TCP is in clear");
	return -EINVAL;
}

/* So that a different certificate makes a different configuration. */
static int note_print(struct serve_config *config, struct brig_error *err)
{
	char print[SHA256_HEX_SIZE];
	struct sha256 hash;

	sha256_init(&hash);
	sha256_add(&hash, config->certificate.data, config->certificate.size);
	sha256_hex(&hash, print);
	free(config->tls_print);
	config->tls_print = strdup(print);
	return config->tls_print ? 0 : error_errno(err, BRIG_E_SYSTEM, ENOMEM, "tls");
}

static void warn_of_end(const char *path, time_t expires)
{
	long days = (long)((expires - time(NULL)) / DAY_SECONDS);

	if (days < WARNING_DAYS) {
		role_log(ROLE_WARNING, "certificate-expires", "file=%s days=%ld", path, days);
	}
}

/* By the program that has OpenSSL. */
static int check_pair(const struct serve_config *config, time_t *expires, struct brig_error *err)
{
	const char *argv[] = { "brig-tls", TLS_WORD_CHECK, config->tls_certificate, config->tls_key,
			       NULL };
	_cleanup_close_ int texts = tls_texts_block(config, err);
	struct tls_child child = { 0 };
	struct tls_answer answer;

	if (texts < 0) {
		return texts;
	}
	int r = tls_program_ask(argv, texts, &child, &answer, err);
	if (r < 0) {
		return r;
	}
	*expires = (time_t)answer.expires;
	(void)tls_child_end(&child);
	return 0;
}

int config_tls(struct serve_config *config, struct brig_error *err)
{
	time_t expires = 0;

	config_forget_tls(config);
	if (!config->tls_certificate && !config->tls_key) {
		return 0;
	}
	int r = check_both(config, err);
	if (r < 0) {
		return r;
	}
	r = read_file("tls.certificate", config->tls_certificate, false, &config->certificate, err);
	if (r < 0) {
		return r;
	}
	r = read_file("tls.key", config->tls_key, true, &config->key, err);
	if (r < 0) {
		return r;
	}
	r = check_text("tls.certificate", config->tls_certificate, &config->certificate, err);
	if (r < 0) {
		return r;
	}
	r = check_text("tls.key", config->tls_key, &config->key, err);
	if (r < 0) {
		return r;
	}
	r = check_pair(config, &expires, err);
	if (r < 0) {
		return r;
	}
	r = note_print(config, err);
	if (r < 0) {
		return r;
	}
	warn_of_end(config->tls_certificate, expires);
	return 0;
}
