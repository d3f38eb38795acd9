/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate and its key in one memory file: see tls_texts.h. */
#include "serve/tls/tls_texts.h"

#include <string.h>

#include "base/bytes/buf.h"
#include "base/files/memfile.h"
#include "role/message.h"

/* The key comes last, so that growing the buffer leaves no copy of it in freed memory. */
int tls_texts_block(const struct serve_config *config, struct brig_error *err)
{
	struct buf text = { 0 };

	if (config->key.size > 0) {
		buf_add(&text, config->certificate.data, config->certificate.size);
		buf_addc(&text, '\0');
		buf_add(&text, config->key.data, config->key.size);
	}
	int fd = text.failed ? -ENOMEM : message_block_make(text.data ? text.data : "", text.size);
	if (text.data) {
		explicit_bzero(text.data, text.size);
	}
	buf_done(&text);
	return fd < 0 ? error_errno(err, BRIG_E_SYSTEM, -fd, "cannot send the certificate") : fd;
}

bool tls_texts_split(const char *data, size_t size, struct endpoint_texts *ret)
{
	const char *end = data ? memchr(data, '\0', size) : NULL;

	if (!end) {
		return false;
	}
	*ret = (struct endpoint_texts){ data, (size_t)(end - data), end + 1,
					size - (size_t)(end + 1 - data) };
	return true;
}
