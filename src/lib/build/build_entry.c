/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One cache entry: magic, sha256 of the rest, count, then for every file its name, mode bit, size
 * and bytes. Numbers are little-endian, as on every machine that brig runs on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "base/files/path.h"
#include "lib/build/build_cache.h"

static const char magic[8] = "brigbld1";
#define HEAD_BYTES (sizeof(magic) + 64)
#define FILES_MAX  4096

struct file_head {
	uint32_t name_size;
	uint32_t executable;
	uint64_t size;
};

static void hash_bytes(const void *data, size_t size, char hex[65])
{
	struct sha256 hash;

	sha256_init(&hash);
	sha256_add(&hash, data, size);
	sha256_hex(&hash, hex);
}

int build_entry_write(const struct brig_file_out *files, size_t count, void **ret, size_t *size)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };
	uint32_t number = (uint32_t)count;
	char hex[65] = { 0 };

	buf_add(&out, magic, sizeof(magic));
	buf_add(&out, hex, 64);
	buf_add(&out, &number, sizeof(number));
	for (size_t i = 0; i < count; i++) {
		struct file_head head = {
			.name_size = (uint32_t)strlen(files[i].path),
			.executable = files[i].executable,
			.size = files[i].size,
		};
		buf_add(&out, &head, sizeof(head));
		buf_add(&out, files[i].path, head.name_size);
		buf_add(&out, files[i].data, files[i].size);
	}
	if (out.failed) {
		return -ENOMEM;
	}
	hash_bytes(out.data + HEAD_BYTES, out.size - HEAD_BYTES, hex);
	memcpy(out.data + sizeof(magic), hex, 64);
	*size = out.size;
	*ret = buf_take(&out);
	return *ret ? 0 : -ENOMEM;
}

struct reader {
	const char *at;
	size_t left;
};

static const void *take(struct reader *reader, uint64_t size)
{
	if (size > reader->left) {
		return NULL;
	}
	const void *from = reader->at;
	reader->at += size;
	reader->left -= (size_t)size;
	return from;
}

static int read_file(struct reader *reader, struct prepared *run, struct brig_error *err)
{
	struct file_head head;
	char name[1024];
	const void *bytes = take(reader, sizeof(head));

	if (!bytes) {
		return -EBADMSG;
	}
	memcpy(&head, bytes, sizeof(head));
	const void *text = head.name_size < sizeof(name) ? take(reader, head.name_size) : NULL;
	const void *data = text ? take(reader, head.size) : NULL;
	if (!data || head.executable > 1) {
		return -EBADMSG;
	}
	memcpy(name, text, head.name_size);
	name[head.name_size] = '\0';
	if (strlen(name) != head.name_size || !path_is_beneath(name, NULL)) {
		return -EBADMSG;
	}
	void *copy = malloc(head.size ? head.size : 1);
	if (!copy) {
		return -ENOMEM;
	}
	memcpy(copy, data, head.size);
	return prepared_add_input(run, name, copy, head.size, -1, head.executable ? 0755 : 0644,
				  err);
}

int build_entry_read(const void *data, size_t size, struct prepared *run, struct brig_error *err)
{
	struct reader reader = { data, size };
	char hex[65];
	uint32_t count;
	const char *head = take(&reader, HEAD_BYTES);

	if (!head || memcmp(head, magic, sizeof(magic)) != 0) {
		return -EBADMSG;
	}
	hash_bytes(reader.at, reader.left, hex);
	const void *number = take(&reader, sizeof(count));
	if (memcmp(hex, head + sizeof(magic), 64) != 0 || !number) {
		return -EBADMSG;
	}
	memcpy(&count, number, sizeof(count));
	if (count > FILES_MAX) {
		return -EBADMSG;
	}
	for (uint32_t i = 0; i < count; i++) {
		int r = read_file(&reader, run, err);
		if (r < 0) {
			return r;
		}
	}
	return reader.left == 0 ? 0 : -EBADMSG;
}
