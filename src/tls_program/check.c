/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a certificate and its key for the supervisor, before a front is given them. */
#include <unistd.h>

#include "http_tls/pair.h"
#include "role/message.h"
#include "serve/tls/tls_texts.h"
#include "tls_program/tls_program.h"

static int check(char *const words[], int64_t *ret_expires, struct brig_error *err)
{
	struct endpoint_texts texts = { 0 };
	time_t expires = 0;
	void *data = NULL;
	size_t size = 0;
	int r = message_block_map(FD_TLS_INPUT, TLS_TEXTS_MAX, &data, &size);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "certificate");
	}
	(void)tls_texts_split(data, size, &texts);
	r = pair_check(&texts, words[0], words[1], &expires, err);
	message_block_unmap(data, size);
	*ret_expires = expires;
	return r;
}

int tls_check_main(char *const words[])
{
	struct tls_answer answer = { 0 };
	int r = check(words, &answer.expires, &answer.error);

	return tls_answer_send(&answer, r) ? TLS_STATUS_FINE : TLS_STATUS_CUT;
}
