/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's log: calls that were answered and are not in the store yet, in two files of the
 * state directory that take turns. A file is a header, and records behind each other:
 *
 *	header   magic, number of the first record, seed, boot id, hash of these
 *	record   check, size, kind, number, time, value, number of the call, hash; the call's form
 *
 * The hash of a record is over the hash in front of it (the header's for the first), its own fields
 * and its form; the check is over the hash in front, its own fields and its hash. So a record is
 * valid only in its place, and the length of a damaged record is not believed. All numbers are in
 * the byte order of the host: the files never leave it.
 *
 * A write that was cut off by a death leaves the beginning of a record at the end of the file, and
 * nothing else: it is LOG_TORN. Anything else that is not a record is LOG_DAMAGED.
 */
#ifndef BRIG_LEDGER_LOG_FILE_H
#define BRIG_LEDGER_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes/buf.h"
#include "base/error.h"

#define LOG_FILES      2
#define LOG_BOOT_SIZE  40
#define LOG_HASH_SIZE  32
#define LOG_CHECK_SIZE 8
/* The form of the longest call that is logged. */
#define LOG_FORM_MAX ((size_t)1 << 20)

/* ledger.log.0, ledger.log.1 */
extern const char *const log_names[LOG_FILES];

struct log_header {
	char magic[8];
	uint64_t first;
	unsigned char seed[16];   /* no two files have the same hashes */
	char boot[LOG_BOOT_SIZE]; /* kernel.random.boot_id; empty: unknown */
	unsigned char hash[LOG_HASH_SIZE];
};

struct log_record {
	unsigned char check[LOG_CHECK_SIZE];
	uint32_t size; /* of the form */
	uint32_t kind; /* enum ledger_kind */
	uint64_t sequence;
	uint64_t time_ms;
	uint64_t value, number; /* of the call */
	unsigned char hash[LOG_HASH_SIZE];
};

/* --- writing --- */

struct log_file {
	int fd;        /* owned; -1: there is none */
	uint64_t size; /* bytes that are in it */
	uint64_t next; /* number of the next record */
	unsigned char hash[LOG_HASH_SIZE];
};

/*
 * A new file; one of that name is replaced. `durable`: its name is on the disk when this returns.
 */
int log_file_make(struct log_file *file, int dir, const char *name, uint64_t first,
		  const char *boot, bool durable);
void log_file_done(struct log_file *file);
/*
 * Appends a record to `out`: check, hash and number are set here, and `file` goes on behind it.
 * Only log_file_write() writes it.
 */
void log_file_add(struct log_file *file, struct log_record *record, const void *form,
		  struct buf *out);
/*
 * One write of all that was added since the last one. -errno: nothing of it is in the file, which
 * must not be used any more.
 */
int log_file_write(struct log_file *file, const struct buf *records, bool durable);

/* --- reading --- */

enum log_end { LOG_RECORD, LOG_END, LOG_TORN, LOG_DAMAGED };

struct log_reader {
	int fd;                   /* borrowed */
	uint64_t at, size;        /* the next record; of the file when it was opened */
	struct log_header header; /* valid after log_reader_open() */
	uint64_t next;
	unsigned char hash[LOG_HASH_SIZE];
	char *form; /* owned: of the last record */
	size_t form_room;
};

/*
 * LOG_END: it can be read. LOG_TORN: it was cut off before its header was complete, so it has no
 * record. Negative: -errno.
 */
int log_reader_open(struct log_reader *reader, int fd);
void log_reader_done(struct log_reader *reader);
/*
 * An enum log_end, or -errno. LOG_RECORD: its form is in the reader until the next call. Otherwise
 * `at` is where the valid records end.
 */
int log_reader_next(struct log_reader *reader, struct log_record *ret);
#endif
