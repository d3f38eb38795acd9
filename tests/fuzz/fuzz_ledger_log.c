/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of the ledger's log, as a start reads them. Of any file only whole records in their
 * places are read, and of a file that was changed only those in front of the change.
 *
 * Input: a byte. If it is even, the rest is a file. Else the rest is a change (four bytes: a place,
 * a byte that is combined with the one there, and whether the file is cut there) and records (a
 * byte of kind, one of size, and the form), of which a file is made.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger/log/backlog.h"

#define RECORDS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds) {
		abort();
	}
}

struct written {
	struct log_record records[RECORDS_MAX];
	uint64_t ends[RECORDS_MAX];
	unsigned count;
};

static int make_file(const uint8_t *data, size_t size, struct written *written)
{
	/* The file is made in a directory, and stays only as a descriptor. */
	int dir = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[64];
	struct log_file file;
	struct buf out = { 0 };

	snprintf(name, sizeof(name), "brig-fuzz-log-%d", (int)getpid());
	must(dir >= 0 && log_file_make(&file, dir, name, 1, "boot", false) == 0);
	unlinkat(dir, name, 0);
	close(dir);
	for (size_t at = 0; at + 2 <= size && written->count < RECORDS_MAX;) {
		struct log_record *record = &written->records[written->count];
		size_t length = data[at + 1];

		length = length < size - at - 2 ? length : size - at - 2;
		*record = (struct log_record){ .kind = 1 + data[at] % (LEDGER_KINDS - 1),
					       .size = (uint32_t)length };
		log_file_add(&file, record, data + at + 2, &out);
		at += 2 + length;
		written->ends[written->count++] = file.size + out.size;
	}
	must(log_file_write(&file, &out, false) == 0);
	buf_done(&out);
	return file.fd;
}

/* All that can be read; the forms go on as at a start. */
static unsigned read_file(int fd, const struct written *written, int *ret_end)
{
	struct log_reader reader;
	struct log_record record;
	struct backlog backlog;
	unsigned count = 0;
	int end = log_reader_open(&reader, fd);

	backlog_init(&backlog);
	while (end == LOG_END && (end = log_reader_next(&reader, &record)) == LOG_RECORD) {
		must(!written || (count < written->count &&
				  memcmp(&record, &written->records[count], sizeof(record)) == 0));
		int r = backlog_read(&backlog, &record, reader.form);
		must(r == 0 || r == -EBADMSG);
		must(backlog.count <= ++count);
		end = LOG_END;
	}
	must(end != LOG_RECORD && reader.at <= reader.size);
	backlog_done(&backlog);
	log_reader_done(&reader);
	*ret_end = end;
	return count;
}

static void change(int fd, const uint8_t how[4], struct written *written)
{
	off_t size = lseek(fd, 0, SEEK_END);
	off_t at = (how[0] | how[1] << 8) % size;
	unsigned char byte;
	unsigned whole = 0;
	int end;

	must(pread(fd, &byte, 1, at) == 1);
	byte ^= how[2];
	must(pwrite(fd, &byte, 1, at) == 1);
	if (how[3] & 1) {
		must(ftruncate(fd, at) == 0);
	}
	while (whole < written->count && (off_t)written->ends[whole] <= at) {
		whole++;
	}
	bool header = at < (off_t)sizeof(struct log_header);
	bool changed = how[2] != 0 || how[3] & 1;
	unsigned want = !changed ? written->count : header ? 0 : whole;
	must(read_file(fd, written, &end) == want);
	/* A cut is never taken for damage, and damage never for a cut. */
	must(!changed || (how[3] & 1 ? end == LOG_END || end == LOG_TORN : end == LOG_DAMAGED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct written written;
	int end;

	if (size < 5) {
		return 0;
	}
	if (data[0] % 2 == 0) {
		int fd = memfd_create("log", MFD_CLOEXEC);

		must(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)size - 1);
		(void)read_file(fd, NULL, &end);
		close(fd);
		return 0;
	}
	written.count = 0;
	int fd = make_file(data + 5, size - 5, &written);
	must(read_file(fd, &written, &end) == written.count && end == LOG_END);
	change(fd, data + 1, &written);
	close(fd);
	return 0;
}
