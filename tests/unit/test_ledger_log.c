/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's log: its files, and what a start makes of those that a death has left. */
#include "ledger/log/log_file.h"
#include "ledger_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "ledger/log/open_set.h"

#define NEVER   (UINT64_C(3600) * 1000000000)
#define RECORDS 5u
#define RUNS    7

/* --- files ------------------------------------------------------------------------------------ */

/* Of different lengths, one without any bytes. */
static size_t form_of(unsigned i, char form[64])
{
	return i == 2 ? 0
		      : (size_t)snprintf(form, 64, "record %u %.*s", i, (int)(5 * i),
					 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
}

static void make_log(int dir, uint64_t ends[RECORDS])
{
	struct log_file file;
	struct buf out = { 0 };

	assert_int_equal(log_file_make(&file, dir, log_names[0], 10, "boot", false), 0);
	for (unsigned i = 0; i < RECORDS; i++) {
		char form[64];
		struct log_record record = { .size = (uint32_t)form_of(i, form),
					     .kind = LEDGER_ENDED,
					     .time_ms = i,
					     .value = 7 * i,
					     .number = UINT64_MAX - i };
		log_file_add(&file, &record, form, &out);
		assert_int_equal(record.sequence, 10 + i);
		/* Some writes have one record, some two. */
		if (i % 2) {
			assert_int_equal(log_file_write(&file, &out, i == 3), 0);
			out.size = 0;
		}
		ends[i] = file.size + out.size;
	}
	assert_int_equal(log_file_write(&file, &out, false), 0);
	assert_int_equal(file.size, ends[RECORDS - 1]);
	buf_done(&out);
	log_file_done(&file);
}

/* Reads it; returns how it ends, and how many records were before that. */
static int read_log(int fd, unsigned *count)
{
	struct log_reader reader;
	struct log_record record;
	int end = log_reader_open(&reader, fd);

	*count = 0;
	if (end == LOG_END) {
		assert_int_equal(reader.header.first, 10);
		assert_string_equal(reader.header.boot, "boot");
		while ((end = log_reader_next(&reader, &record)) == LOG_RECORD) {
			char form[64];
			size_t size = form_of(*count, form);

			assert_int_equal(record.sequence, 10 + *count);
			assert_int_equal(record.value, 7 * *count);
			assert_int_equal(record.number, UINT64_MAX - *count);
			assert_int_equal(record.size, size);
			assert_true(size == 0 || memcmp(reader.form, form, size) == 0);
			++*count;
		}
	}
	log_reader_done(&reader);
	return end;
}

static void torn_at_every_byte(void **state)
{
	struct place *place = *state;
	uint64_t ends[RECORDS];
	unsigned count, whole = RECORDS;

	make_log(place->dir, ends);
	int fd = openat(place->dir, log_names[0], O_RDWR | O_CLOEXEC);
	for (uint64_t size = ends[RECORDS - 1]; size + 1 > 0; size--) {
		assert_int_equal(ftruncate(fd, (off_t)size), 0);
		while (whole > 0 && ends[whole - 1] > size) {
			whole--;
		}
		bool clean =
			(whole > 0 && ends[whole - 1] == size) || size == sizeof(struct log_header);
		assert_int_equal(read_log(fd, &count), clean ? LOG_END : LOG_TORN);
		assert_int_equal(count, whole);
	}
	close(fd);
	unlinkat(place->dir, log_names[0], 0);
}

static void changed_in_every_byte(void **state)
{
	struct place *place = *state;
	uint64_t ends[RECORDS];
	unsigned count, before = 0;

	make_log(place->dir, ends);
	int fd = openat(place->dir, log_names[0], O_RDWR | O_CLOEXEC);
	for (uint64_t at = 0; at < ends[RECORDS - 1]; at++) {
		unsigned char byte, other;

		before += at >= ends[before];
		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		other = byte ^ (unsigned char)(1u << at % 8);
		assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
		assert_int_equal(read_log(fd, &count), LOG_DAMAGED);
		assert_int_equal(count, at < sizeof(struct log_header) ? 0 : before);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	assert_int_equal(read_log(fd, &count), LOG_END);
	/* A record more than once, and one that is missing. */
	char copy[4096];
	size_t third = (size_t)(ends[3] - ends[2]);
	assert_int_equal(pread(fd, copy, third, (off_t)ends[2]), third);
	assert_int_equal(pwrite(fd, copy, third, (off_t)ends[RECORDS - 1]), third);
	assert_int_equal(read_log(fd, &count), LOG_DAMAGED);
	assert_int_equal(count, RECORDS);
	assert_int_equal(pwrite(fd, copy, third, (off_t)ends[1]), third);
	assert_int_equal(read_log(fd, &count), LOG_DAMAGED);
	assert_int_equal(count, 2);
	close(fd);
	unlinkat(place->dir, log_names[0], 0);
}

/* --- the set of those that run ---------------------------------------------------------------- */

static void open_set(void **state)
{
	struct open_set *set = calloc(1, sizeof(*set));
	char id[27];

	(void)state;
	for (unsigned i = 0; i < OPEN_SET_MAX; i++) {
		(void)snprintf(id, sizeof(id), "%026u", i);
		assert_true(open_set_add(set, id));
		assert_false(open_set_add(set, id));
	}
	assert_false(open_set_add(set, "one more"));
	for (unsigned i = 0; i < OPEN_SET_MAX; i += 2) {
		(void)snprintf(id, sizeof(id), "%026u", i);
		assert_true(open_set_has(set, id));
		assert_true(open_set_remove(set, id));
		assert_false(open_set_remove(set, id));
		assert_false(open_set_has(set, id));
	}
	assert_int_equal(set->count, OPEN_SET_MAX / 2);
	open_set_done(set);
	assert_int_equal(set->count, 0);
	free(set);
}

/* --- a role that dies ------------------------------------------------------------------------- */

static void start_again(struct place *place)
{
	stop(place);
	start(place);
}

/* In a process of its own, which is gone afterwards as if it was killed. */
static void killed_after(struct place *place, void (*act)(struct place *place))
{
	int status = -1;

	stop(place);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		place->options.fill_ns = NEVER;
		start(place);
		act(place);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static int64_t count_of(struct place *place, const char *sql)
{
	char path[80];
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;

	(void)snprintf(path, sizeof(path), "%s/%s", place->path, STORE_NAME);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	int64_t count = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return count;
}

static void fixed_id(char id[27], unsigned number)
{
	(void)snprintf(id, 27, "01ARZ3NDEKTSV4RRFFQ69G%04u", number);
}

static int begin_fixed(struct place *place, unsigned number)
{
	char id[27];
	struct ledger_execution execution = {
		.id = id, .tenant = "one", .caller = "uid:1000", .language = "python"
	};

	fixed_id(id, number);
	return answer(place, ledger_begin(place->ledger, &execution, done, place));
}

static int end_fixed(struct place *place, unsigned number)
{
	char id[27];

	fixed_id(id, number);
	return end(place, id);
}

static const char *status_of(struct place *place, unsigned number)
{
	char id[27];

	fixed_id(id, number);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	return text(place, "status");
}

/* All but the last end. */
static void some_runs(struct place *place)
{
	for (unsigned i = 0; i < RUNS; i++) {
		assert_int_equal(begin_fixed(place, i), 0);
		assert_int_equal(i + 1 < RUNS ? end_fixed(place, i) : 0, 0);
	}
}

#define ENDED_AS "SELECT count(*) FROM executions WHERE status = "

static void assert_some_runs(struct place *place)
{
	start_again(place);
	for (unsigned i = 0; i < RUNS; i++) {
		assert_string_equal(status_of(place, i), i + 1 < RUNS ? "ok" : "lost");
	}
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM executions"), RUNS);
	assert_int_equal(count_of(place, "SELECT count(*) FROM results"), RUNS);
	assert_int_equal(count_of(place, "SELECT count(*) FROM audit WHERE kind LIKE 'exec%'"),
			 2 * RUNS);
	for (unsigned i = 0; i < LOG_FILES; i++) {
		assert_int_equal(faccessat(place->dir, log_names[i], F_OK, 0), -1);
	}
	start(place);
}

static void stored_at_the_start(void **state)
{
	struct place *place = *state;

	killed_after(place, some_runs);
	assert_int_equal(faccessat(place->dir, log_names[0], F_OK, 0), 0);
	assert_int_equal(count_of(place, "SELECT count(*) FROM executions"), 0);
	start(place);
	assert_some_runs(place);
}

static void copy_file(struct place *place, const char *from, const char *to)
{
	static char data[1 << 20];
	int in = openat(place->dir, from, O_RDONLY | O_CLOEXEC);
	int out = openat(place->dir, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ssize_t size = read(in, data, sizeof(data));

	assert_true(size > 0 && size < (ssize_t)sizeof(data));
	assert_int_equal(write(out, data, (size_t)size), size);
	close(in);
	close(out);
}

/* A death between the commit and the removal of the file: nothing is stored a second time. */
static void stored_once(void **state)
{
	struct place *place = *state;

	killed_after(place, some_runs);
	copy_file(place, log_names[0], "copy");
	start(place);
	stop(place);
	copy_file(place, "copy", log_names[0]);
	start(place);
	assert_some_runs(place);
	unlinkat(place->dir, "copy", 0);
}

/* Cut at any byte: what is whole before it is stored, and it is no error. */
static void cut_anywhere(void **state)
{
	struct place *place = *state;
	struct stat info;

	killed_after(place, some_runs);
	copy_file(place, log_names[0], "copy.log");
	copy_file(place, STORE_NAME, "copy.db");
	assert_int_equal(fstatat(place->dir, "copy.log", &info, 0), 0);
	int64_t most = RUNS - 1;
	for (off_t size = info.st_size; size >= 0; size -= 97) {
		copy_file(place, "copy.log", log_names[0]);
		copy_file(place, "copy.db", STORE_NAME);
		unlinkat(place->dir, CHAIN_HEAD_NAME, 0);
		int fd = openat(place->dir, log_names[0], O_WRONLY | O_CLOEXEC);
		assert_int_equal(ftruncate(fd, size), 0);
		close(fd);
		start(place);
		stop(place);
		int64_t ended = count_of(place, ENDED_AS "'ok'");
		assert_true(ended <= most && ended + 1 >= most);
		most = ended;
	}
	assert_int_equal(most, 0);
	unlinkat(place->dir, "copy.log", 0);
	unlinkat(place->dir, "copy.db", 0);
	start(place);
}

static int start_error(struct place *place)
{
	int sockets[2];
	int r = start_on(place, sockets);

	assert_true(r < 0);
	close(sockets[1]);
	return r;
}

static int truncate_log(struct place *place, off_t size)
{
	_cleanup_close_ int fd = openat(place->dir, log_names[0], O_WRONLY | O_CLOEXEC);

	return ftruncate(fd, size);
}

static void flip(struct place *place, off_t at)
{
	unsigned char byte;
	int fd = openat(place->dir, log_names[0], O_RDWR | O_CLOEXEC);

	assert_int_equal(pread(fd, &byte, 1, at), 1);
	byte ^= 0x20;
	assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* A change in its middle is an error while the host runs; after a loss of power it is its end. */
static void damaged(void **state)
{
	struct place *place = *state;

	place->options.boot = "today";
	killed_after(place, some_runs);
	flip(place, 2000);
	assert_int_equal(start_error(place), -EBADMSG);
	place->options.boot = NULL;
	assert_int_equal(start_error(place), -EBADMSG);
	/* Nothing was changed by the failed starts. */
	flip(place, 2000);
	copy_file(place, log_names[0], "copy");
	flip(place, 2000);
	place->options.boot = "tomorrow";
	start(place);
	stop(place);
	int64_t ended = count_of(place, ENDED_AS "'ok'");
	assert_in_range(ended, 1, RUNS - 2);
	start(place);
	unlinkat(place->dir, "copy", 0);
}

static void one_more_run(struct place *place)
{
	assert_int_equal(begin_fixed(place, RUNS), 0);
}

/* The second file, as it was after `before` records of the first: one run has begun. */
static void make_second(struct place *place, uint64_t before, const char *boot)
{
	const struct ledger_text texts[BEGIN_FIELDS] = {
		[BEGIN_ID] = { "01ARZ3NDEKTSV4RRFFQ69G0077", 26 },
		[BEGIN_TENANT] = { "one", 3 },
		[BEGIN_CALLER] = { "uid:1000", 8 },
	};
	struct buf form = { 0 }, out = { 0 };
	struct log_file file;

	ledger_form_pack(&ledger_forms[LEDGER_BEGIN], texts, &form);
	struct log_record record = { .size = (uint32_t)form.size, .kind = LEDGER_BEGIN };
	assert_int_equal(log_file_make(&file, place->dir, log_names[1], before + 1, boot, false),
			 0);
	log_file_add(&file, &record, form.data, &out);
	assert_int_equal(log_file_write(&file, &out, false), 0);
	log_file_done(&file);
	buf_done(&form);
	buf_done(&out);
}

/* Two files, and the first has lost its end: with the power, or in a way that is an error. */
static void cut_before_the_other(void **state)
{
	struct place *place = *state;
	uint64_t records = 2 * RUNS - 1;
	struct stat info;

	place->options.boot = "today";
	killed_after(place, some_runs);
	make_second(place, records + 1, "today");
	place->options.boot = "tomorrow";
	assert_int_equal(start_error(place), -EBADMSG); /* nothing was cut */
	assert_int_equal(fstatat(place->dir, log_names[0], &info, 0), 0);
	assert_int_equal(truncate_log(place, info.st_size - 10), 0);
	place->options.boot = "today";
	assert_int_equal(start_error(place), -EBADMSG); /* a death loses nothing in the middle */
	place->options.boot = "tomorrow";
	start(place);
	assert_string_equal(status_of(place, 0), "ok");
	char id[27];
	fixed_id(id, 77); /* lost from the end, not from the middle */
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), ENOENT);
	killed_after(place, one_more_run);
	start(place);
	assert_string_equal(status_of(place, RUNS), "lost");
	/* The same with a first file of which nothing is left. */
	stop(place);
	int64_t logged = count_of(place, "SELECT sequence FROM logged");
	make_second(place, (uint64_t)logged + 5, "today");
	assert_int_equal(start_error(place), -EBADMSG);
	int fd = openat(place->dir, log_names[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	close(fd);
	start(place);
}

static void no_file(void **state)
{
	struct place *place = *state;

	stop(place);
	assert_int_equal(mkfifoat(place->dir, log_names[0], 0600), 0);
	assert_int_equal(start_error(place), -EBADMSG);
	unlinkat(place->dir, log_names[0], 0);
	assert_int_equal(symlinkat(STORE_NAME, place->dir, log_names[0]), 0);
	assert_int_equal(start_error(place), -ELOOP);
	unlinkat(place->dir, log_names[0], 0);
	start(place);
}

/* The database is older than the log: the calls between them are nowhere. */
static void records_are_missing(void **state)
{
	struct place *place = *state;

	stop(place);
	copy_file(place, STORE_NAME, "copy.db");
	start(place);
	assert_int_equal(begin_fixed(place, 100), 0);
	killed_after(place, one_more_run);
	copy_file(place, "copy.db", STORE_NAME);
	unlinkat(place->dir, STORE_NAME "-wal", 0);
	unlinkat(place->dir, STORE_NAME "-shm", 0);
	unlinkat(place->dir, CHAIN_HEAD_NAME, 0);
	assert_int_equal(start_error(place), -EBADMSG);
	unlinkat(place->dir, log_names[0], 0);
	unlinkat(place->dir, "copy.db", 0);
	start(place);
}

/* --- a role that lives ------------------------------------------------------------------------ */

static void start_without_filling(struct place *place)
{
	stop(place);
	place->options.fill_ns = NEVER;
	start(place);
}

/* Every read has all answered calls. */
static void read_at_once(void **state)
{
	struct place *place = *state;

	start_without_filling(place);
	assert_int_equal(begin_fixed(place, 1), 0);
	assert_int_equal(begin_fixed(place, 2), 0);
	assert_int_equal(end_fixed(place, 1), 0);
	assert_string_equal(status_of(place, 1), "ok");
	assert_string_equal(status_of(place, 2), "running");
	assert_int_equal(end_fixed(place, 2), 0);
	assert_int_equal(answer(place, ledger_list(place->ledger, "one", NULL, 10, done, place)),
			 0);
	const json_t *list = json_object_get(place->data, "executions");
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "status")),
			    "ok");
	assert_int_equal(end_fixed(place, 2), EALREADY);
	assert_int_equal(end_fixed(place, 3), ENOENT);
	assert_int_equal(begin_fixed(place, 1), 0); /* no correct front does this... */
	assert_int_equal(end_fixed(place, 1), 0);   /* ...and it changes nothing */
	assert_int_equal(answer(place, ledger_stats(place->ledger, done, place)), 0);
	assert_int_equal(json_integer_value(json_object_get(place->data, "executions")), 2);
	stop(place);
	assert_int_equal(count_of(place, "SELECT count(*) FROM audit WHERE kind LIKE 'exec%'"), 4);
	start(place);
}

/* More calls than the backlog holds, and more bytes. */
static void bounded(void **state)
{
	struct place *place = *state;
	size_t size = (size_t)400 << 10;
	char *result = malloc(size + 100), id[27];

	start_without_filling(place);
	for (unsigned i = 0; i < 600; i++) {
		assert_int_equal(begin_fixed(place, i), 0);
	}
	assert_in_range(count_of(place, "SELECT count(*) FROM executions"), 300, 600);
	strcpy(result, "{\"status\":\"ok\",\"verdict\":{\"cause\":\"exit\"},\"stdout\":\"");
	size_t head = strlen(result);
	memset(result + head, 'x', size);
	strcpy(result + head + size, "\"}");
	for (unsigned i = 0; i < 30; i++) {
		fixed_id(id, i);
		assert_int_equal(answer(place, ledger_ended(place->ledger, id, result,
							    strlen(result), done, place)),
				 0);
	}
	assert_in_range(count_of(place, ENDED_AS "'ok'"), 15, 30);
	fixed_id(id, 29);
	assert_int_equal(answer(place, ledger_get(place->ledger, "one", id, done, place)), 0);
	const json_t *found = json_object_get(json_object_get(place->data, "result"), "stdout");
	assert_int_equal(json_string_length(found), size);
	free(result);
}

/* The files take turns, and are removed when the store has them on the disk. */
static void files_take_turns(void **state)
{
	struct place *place = *state;
	struct stat info;
	unsigned seen[LOG_FILES] = { 0 };

	stop(place);
	place->options.flush_ns = 1000000;
	place->options.fill_ns = 1000000;
	start(place);
	for (unsigned i = 0; i < 9999 && (seen[0] < 3 || seen[1] < 3); i++) {
		assert_int_equal(begin_fixed(place, i), 0);
		assert_int_equal(end_fixed(place, i), 0);
		for (unsigned file = 0; file < LOG_FILES; file++) {
			seen[file] += fstatat(place->dir, log_names[file], &info, 0) == 0;
		}
	}
	assert_true(seen[0] >= 3 && seen[1] >= 3);
	idle(place);
	idle(place);
	start_again(place);
}

/* Calls that were sent, and not read when the role has to end: none is lost. */
static void sent_before_the_end(void **state)
{
	struct place *place = *state;
	char id[27];
	struct ledger_execution execution = { .id = id, .tenant = "one", .caller = "uid:1000" };

	for (unsigned i = 0; i < RUNS; i++) {
		fixed_id(id, i);
		assert_int_equal(ledger_begin(place->ledger, &execution, done, place), 0);
	}
	fixed_id(id, 0);
	assert_int_equal(ledger_ended(place->ledger, id, OK, strlen(OK), done, place), 0);
	start_again(place);
	assert_string_equal(status_of(place, 0), "ok");
	for (unsigned i = 1; i < RUNS; i++) {
		assert_string_equal(status_of(place, i), "lost");
	}
}

static void durable(void **state)
{
	struct place *place = *state;

	stop(place);
	place->options.durable = true;
	start(place);
	killed_after(place, some_runs);
	start(place);
	assert_some_runs(place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(torn_at_every_byte, set_up, tear_down),
		cmocka_unit_test_setup_teardown(changed_in_every_byte, set_up, tear_down),
		cmocka_unit_test(open_set),
		cmocka_unit_test_setup_teardown(stored_at_the_start, set_up, tear_down),
		cmocka_unit_test_setup_teardown(stored_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cut_anywhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cut_before_the_other, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(records_are_missing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(read_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_take_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sent_before_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(durable, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
