/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the ledger's log: see log_file.h. */
#include "ledger/log/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger/ledger_messages.h"

static const char magic[8] = "briglog1";

const char *const log_names[LOG_FILES] = { "ledger.log.0", "ledger.log.1" };

_Static_assert(sizeof(struct log_header) == 104 && sizeof(struct log_record) == 80,
	       "no padding: all bytes are written, and hashed");

/* --- hashes ---------------------------------------------------------------------------------- */

struct part {
	const void *data;
	size_t size;
};

static void hash_parts(const struct part *parts, size_t count, unsigned char *out, size_t size)
{
	crypto_generichash_blake2b_state state;

	crypto_generichash_blake2b_init(&state, NULL, 0, LOG_HASH_SIZE);
	for (size_t i = 0; i < count; i++) {
		crypto_generichash_blake2b_update(&state, parts[i].data, parts[i].size);
	}
	unsigned char whole[LOG_HASH_SIZE];
	crypto_generichash_blake2b_final(&state, whole, sizeof(whole));
	memcpy(out, whole, size);
}

static void hash_header(const struct log_header *header, unsigned char hash[LOG_HASH_SIZE])
{
	const struct part all = { header, offsetof(struct log_header, hash) };

	hash_parts(&all, 1, hash, LOG_HASH_SIZE);
}

static void hash_record(const unsigned char before[LOG_HASH_SIZE], const struct log_record *record,
			const void *form, unsigned char hash[LOG_HASH_SIZE])
{
	const size_t from = offsetof(struct log_record, size);
	const struct part parts[] = {
		{ before, LOG_HASH_SIZE },
		{ (const char *)record + from, offsetof(struct log_record, hash) - from },
		{ form, record->size },
	};

	hash_parts(parts, ARRAY_SIZE(parts), hash, LOG_HASH_SIZE);
}

static void hash_check(const unsigned char before[LOG_HASH_SIZE], const struct log_record *record,
		       unsigned char check[LOG_CHECK_SIZE])
{
	const struct part parts[] = {
		{ before, LOG_HASH_SIZE },
		{ (const char *)record + LOG_CHECK_SIZE, sizeof(*record) - LOG_CHECK_SIZE },
	};

	hash_parts(parts, ARRAY_SIZE(parts), check, LOG_CHECK_SIZE);
}

/* --- writing --------------------------------------------------------------------------------- */

/* All of it, or nothing: a signal cannot cut a write to a file in half, but a full disk can. */
static int write_at(int fd, const void *data, size_t size, uint64_t at)
{
	const char *bytes = data;

	while (size > 0) {
		ssize_t n = pwrite(fd, bytes, size, (off_t)at);
		if (n <= 0) {
			return n < 0 ? -errno : -ENOSPC;
		}
		bytes += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static int make_header(struct log_header *header, uint64_t first, const char *boot)
{
	*header = (struct log_header){ .first = first };
	memcpy(header->magic, magic, sizeof(magic));
	(void)strncat(header->boot, boot, sizeof(header->boot) - 1);
	if (getrandom(header->seed, sizeof(header->seed), 0) != (ssize_t)sizeof(header->seed)) {
		return -EIO;
	}
	hash_header(header, header->hash);
	return 0;
}

static int write_header(struct log_file *file, int dir, const struct log_header *header,
			bool durable)
{
	int r = write_at(file->fd, header, sizeof(*header), 0);

	if (r < 0 || !durable) {
		return r;
	}
	return fdatasync(file->fd) < 0 || fsync(dir) < 0 ? -errno : 0;
}

int log_file_make(struct log_file *file, int dir, const char *name, uint64_t first,
		  const char *boot, bool durable)
{
	struct log_header header;
	int r = make_header(&header, first, boot);

	if (r < 0) {
		return r;
	}
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT) {
		return -errno;
	}
	*file = (struct log_file){ .size = sizeof(header), .next = first };
	file->fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file->fd < 0) {
		return -errno;
	}
	r = write_header(file, dir, &header, durable);
	if (r < 0) {
		log_file_done(file);
		(void)unlinkat(dir, name, 0);
		return r;
	}
	memcpy(file->hash, header.hash, sizeof(file->hash));
	return 0;
}

void log_file_done(struct log_file *file)
{
	close_fd(&file->fd);
}

void log_file_add(struct log_file *file, struct log_record *record, const void *form,
		  struct buf *out)
{
	record->sequence = file->next++;
	hash_record(file->hash, record, form, record->hash);
	hash_check(file->hash, record, record->check);
	memcpy(file->hash, record->hash, sizeof(file->hash));
	buf_add(out, record, sizeof(*record));
	buf_add(out, form, record->size);
}

int log_file_write(struct log_file *file, const struct buf *records, bool durable)
{
	int r = records->failed ? -ENOMEM
				: write_at(file->fd, records->data, records->size, file->size);

	if (r == 0 && durable && fdatasync(file->fd) < 0) {
		r = -errno;
	}
	if (r < 0) {
		/*
		 * Bytes that may be left of it were not answered: at a start they are a torn end,
		 * or calls that the store knows already.
		 */
		return ftruncate(file->fd, (off_t)file->size) < 0 ? -errno : r;
	}
	file->size += records->size;
	return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

/* All of it: the file may not become shorter meanwhile. */
static int read_at(int fd, void *data, size_t size, uint64_t at)
{
	char *bytes = data;

	while (size > 0) {
		ssize_t n = pread(fd, bytes, size, (off_t)at);
		if (n <= 0) {
			return n < 0 ? -errno : -ESTALE;
		}
		bytes += n;
		at += (uint64_t)n;
		size -= (size_t)n;
	}
	return 0;
}

static bool header_valid(const struct log_header *header)
{
	unsigned char hash[LOG_HASH_SIZE];

	hash_header(header, hash);
	return memcmp(header->magic, magic, sizeof(magic)) == 0 &&
	       memcmp(header->hash, hash, sizeof(hash)) == 0 && header->first > 0 &&
	       memchr(header->boot, '\0', sizeof(header->boot));
}

int log_reader_open(struct log_reader *reader, int fd)
{
	struct stat info;

	*reader = (struct log_reader){ .fd = fd };
	if (fstat(fd, &info) < 0) {
		return -errno;
	}
	if (!S_ISREG(info.st_mode)) {
		return -EBADMSG;
	}
	reader->size = (uint64_t)info.st_size;
	if (reader->size < sizeof(reader->header)) {
		return LOG_TORN;
	}
	int r = read_at(fd, &reader->header, sizeof(reader->header), 0);
	if (r < 0) {
		return r;
	}
	if (!header_valid(&reader->header)) {
		return LOG_DAMAGED;
	}
	reader->at = sizeof(reader->header);
	reader->next = reader->header.first;
	memcpy(reader->hash, reader->header.hash, sizeof(reader->hash));
	return LOG_END;
}

void log_reader_done(struct log_reader *reader)
{
	free(reader->form);
	reader->form = NULL;
}

static bool record_valid(const struct log_reader *reader, const struct log_record *record)
{
	unsigned char check[LOG_CHECK_SIZE];

	hash_check(reader->hash, record, check);
	return memcmp(check, record->check, sizeof(check)) == 0 &&
	       record->sequence == reader->next && record->size <= LOG_FORM_MAX &&
	       record->kind > 0 && record->kind < LEDGER_KINDS;
}

/* The size is one that log_file_add() has written: at most LOG_FORM_MAX. */
static int read_form(struct log_reader *reader, const struct log_record *record)
{
	if (reader->form_room < record->size) {
		char *room = realloc(reader->form, record->size);
		if (!room) {
			return -ENOMEM;
		}
		reader->form = room;
		reader->form_room = record->size;
	}
	return read_at(reader->fd, reader->form, record->size, reader->at + sizeof(*record));
}

int log_reader_next(struct log_reader *reader, struct log_record *ret)
{
	unsigned char hash[LOG_HASH_SIZE];
	uint64_t left = reader->size - reader->at;

	if (left < sizeof(*ret)) {
		return left == 0 ? LOG_END : LOG_TORN;
	}
	int r = read_at(reader->fd, ret, sizeof(*ret), reader->at);
	if (r < 0) {
		return r;
	}
	if (!record_valid(reader, ret)) {
		return LOG_DAMAGED;
	}
	if (left - sizeof(*ret) < ret->size) {
		return LOG_TORN;
	}
	r = read_form(reader, ret);
	if (r < 0) {
		return r;
	}
	hash_record(reader->hash, ret, reader->form, hash);
	if (memcmp(hash, ret->hash, sizeof(hash)) != 0) {
		return LOG_DAMAGED;
	}
	reader->at += sizeof(*ret) + ret->size;
	reader->next++;
	memcpy(reader->hash, ret->hash, sizeof(reader->hash));
	return LOG_RECORD;
}
