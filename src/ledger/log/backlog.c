/* SPDX-License-Identifier: Apache-2.0 */
/* Calls between the log and the store: see backlog.h. */
#include "ledger/log/backlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* --- the kinds of calls that are logged ------------------------------------------------------- */

/* New, and with nothing that must be looked up. */
static bool takes_begin(const struct backlog *backlog, const struct message *message,
			const struct ledger_text *texts, const struct store_limits *limits)
{
	(void)limits;
	return message->value == 0 && !texts[BEGIN_KEY].data && !texts[BEGIN_REQUEST].data &&
	       backlog->open.count < OPEN_SET_MAX &&
	       !open_set_has(&backlog->open, texts[BEGIN_ID].data);
}

/* It runs, and its result is stored as it is. */
static bool takes_ended(const struct backlog *backlog, const struct message *message,
			const struct ledger_text *texts, const struct store_limits *limits)
{
	size_t size = texts[ENDED_RESULT].size;

	(void)message;
	return size <= STORE_LONG_BYTES && size <= limits->result_max &&
	       open_set_has(&backlog->open, texts[ENDED_ID].data);
}

static bool takes_used(const struct backlog *backlog, const struct message *message,
		       const struct ledger_text *texts, const struct store_limits *limits)
{
	(void)backlog;
	(void)message;
	(void)texts;
	(void)limits;
	return true;
}

static int store_begun(struct backlog_entry *entry, struct store *store, struct brig_error *error)
{
	_cleanup_(buf_done)
	struct buf unused = { 0 };

	return store_execution_begin(store, entry->texts, false, NULL, &unused, error);
}

static int store_end(struct backlog_entry *entry, struct store *store, struct brig_error *error)
{
	return store_execution_ended(store, entry->texts[ENDED_ID].data, &entry->result, error);
}

static int store_used(struct backlog_entry *entry, struct store *store, struct brig_error *error)
{
	return store_usage_put(store, entry->texts[0].data, entry->record.value,
			       entry->record.number, error);
}

static const struct log_kind {
	bool (*takes)(const struct backlog *backlog, const struct message *message,
		      const struct ledger_text *texts, const struct store_limits *limits);
	int (*store)(struct backlog_entry *entry, struct store *store, struct brig_error *error);
} log_kinds[LEDGER_KINDS] = {
	[LEDGER_BEGIN] = { takes_begin, store_begun },
	[LEDGER_ENDED] = { takes_ended, store_end },
	[LEDGER_USED] = { takes_used, store_used },
};

/* The set of those that run, after this call was taken, or taken back. */
static void note_open(struct backlog *backlog, const struct backlog_entry *entry, bool taken)
{
	bool begins = entry->record.kind == LEDGER_BEGIN;

	if (entry->record.kind != LEDGER_BEGIN && entry->record.kind != LEDGER_ENDED) {
		return;
	}
	_Static_assert((int)BEGIN_ID == (int)ENDED_ID, "the same text of both");
	if (begins == taken) {
		(void)open_set_add(&backlog->open, entry->texts[BEGIN_ID].data);
	} else {
		(void)open_set_remove(&backlog->open, entry->texts[BEGIN_ID].data);
	}
}

/* --- entries ---------------------------------------------------------------------------------- */

static void entry_free(struct backlog_entry *entry)
{
	if (entry) {
		ended_result_done(&entry->result);
		buf_done(&entry->form);
		free(entry);
	}
}

static void entry_freep(struct backlog_entry **entry)
{
	entry_free(*entry);
}

/* Its texts, from its own form. */
static int entry_read(struct backlog_entry *entry, struct brig_error *error)
{
	const struct ledger_form *form = &ledger_forms[entry->record.kind];
	const struct buf *bytes = &entry->form;
	int r = bytes->failed  ? -ENOMEM
		: !bytes->size ? -EPROTO /* no call that is logged is without texts */
			       : ledger_form_unpack(form, bytes->data, bytes->size, entry->texts);

	if (r < 0) {
		return error_set(error, BRIG_E_SYSTEM, -r, "the record cannot be kept");
	}
	if (entry->record.kind != LEDGER_ENDED) {
		return 0;
	}
	return ended_result_read(&entry->result, entry->texts[ENDED_ID].data,
				 entry->texts[ENDED_RESULT].data, entry->texts[ENDED_RESULT].size,
				 error);
}

static void append(struct backlog *backlog, struct backlog_entry *entry)
{
	list_append(&backlog->entries, &entry->node);
	backlog->count++;
	backlog->bytes += entry->form.size;
}

static void drop(struct backlog *backlog, struct backlog_entry *entry)
{
	list_remove(&backlog->entries, &entry->node);
	backlog->count--;
	backlog->bytes -= entry->form.size;
	entry_free(entry);
}

void backlog_init(struct backlog *backlog)
{
	*backlog = (struct backlog){ .dir = -1, .next = 1 };
	for (unsigned i = 0; i < LOG_FILES; i++) {
		backlog->files[i].fd = -1;
	}
}

int backlog_open(struct backlog *backlog, int dir, const char *boot, bool durable)
{
	backlog->durable = durable;
	(void)strncat(backlog->boot, boot, sizeof(backlog->boot) - 1);
	backlog->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	return backlog->dir < 0 ? -errno : 0;
}

void backlog_done(struct backlog *backlog)
{
	backlog_stored(backlog, backlog->count);
	for (unsigned i = 0; i < LOG_FILES; i++) {
		log_file_done(&backlog->files[i]);
	}
	buf_done(&backlog->out);
	open_set_done(&backlog->open);
	close_fd(&backlog->dir);
}

/* --- taking ----------------------------------------------------------------------------------- */

/* There is a file to write to, or one can be made. */
static bool has_file(struct backlog *backlog)
{
	struct log_file *file = &backlog->files[backlog->active];

	if (file->fd >= 0) {
		return file->size < BACKLOG_FILE_BYTES;
	}
	if (log_file_make(file, backlog->dir, log_names[backlog->active], backlog->next,
			  backlog->boot, backlog->durable) < 0) {
		backlog->broken = true;
		return false;
	}
	return true;
}

bool backlog_full(const struct backlog *backlog)
{
	return backlog->count >= BACKLOG_RECORDS || backlog->bytes >= BACKLOG_BYTES;
}

int backlog_take(struct backlog *backlog, const struct message *message,
		 const struct ledger_text *texts, const struct store_limits *limits,
		 struct brig_error *error)
{
	const struct log_kind *kind = &log_kinds[message->kind];

	if (!kind->takes || backlog->broken || backlog_full(backlog) ||
	    !kind->takes(backlog, message, texts, limits) || !has_file(backlog)) {
		return 0;
	}
	_cleanup_(entry_freep)
	struct backlog_entry *entry = calloc(1, sizeof(*entry));
	if (!entry) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for the record");
	}
	entry->record = (struct log_record){
		.kind = message->kind,
		.time_ms = timestamp_now_ms(),
		.value = message->value,
		.number = message->number,
	};
	ledger_form_pack(&ledger_forms[message->kind], texts, &entry->form);
	entry->record.size = (uint32_t)entry->form.size;
	int r = entry_read(entry, error);
	if (r < 0) {
		return r;
	}
	log_file_add(&backlog->files[backlog->active], &entry->record, entry->form.data,
		     &backlog->out);
	backlog->next = entry->record.sequence + 1;
	backlog->unwritten++;
	note_open(backlog, entry, true);
	append(backlog, entry);
	TAKE_PTR(entry);
	return 1;
}

int backlog_write(struct backlog *backlog)
{
	if (!backlog->unwritten || backlog->broken) {
		return backlog->unwritten ? -EIO : 0;
	}
	int r = log_file_write(&backlog->files[backlog->active], &backlog->out, backlog->durable);
	if (r < 0) {
		backlog->broken = true;
		return r;
	}
	backlog->unwritten = 0;
	if (backlog->out.capacity > BACKLOG_BYTES / 4) {
		buf_done(&backlog->out);
	}
	backlog->out.size = 0;
	return 0;
}

void backlog_undo(struct backlog *backlog)
{
	struct backlog_entry *entry;

	for (; backlog->unwritten; backlog->unwritten--) {
		entry = LIST_LAST(&backlog->entries, struct backlog_entry, node);
		backlog->next = entry->record.sequence;
		note_open(backlog, entry, false);
		drop(backlog, entry);
	}
	buf_done(&backlog->out);
}

bool backlog_has(const struct backlog *backlog, const char *id)
{
	LIST_EACH(struct backlog_entry, entry, &backlog->entries, node) {
		if (entry->record.kind != LEDGER_USED &&
		    strcmp(entry->texts[BEGIN_ID].data, id) == 0) {
			return true;
		}
	}
	return false;
}

/* --- storing ---------------------------------------------------------------------------------- */

int backlog_read(struct backlog *backlog, const struct log_record *record, const char *form)
{
	const char *name = NULL;
	struct brig_error unused = { 0 };
	_cleanup_(entry_freep)
	struct backlog_entry *entry = NULL;

	if (!log_kinds[record->kind].store) {
		return -EBADMSG;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry) {
		return -ENOMEM;
	}
	entry->record = *record;
	buf_add(&entry->form, form, record->size);
	int r = entry_read(entry, &unused);
	if (r < 0 || ledger_form_check(&ledger_forms[record->kind], entry->texts, &name) < 0) {
		return r == -ENOMEM ? r : -EBADMSG;
	}
	append(backlog, entry);
	backlog->next = record->sequence + 1;
	TAKE_PTR(entry);
	return 0;
}

int backlog_store(struct backlog_entry *entry, struct store *store, struct brig_error *error)
{
	if (entry->refused) {
		return 0;
	}
	store->at_ms = entry->record.time_ms;
	int r = log_kinds[entry->record.kind].store(entry, store, error);
	store->at_ms = 0;
	return r;
}

void backlog_stored(struct backlog *backlog, unsigned count)
{
	for (; count; count--) {
		drop(backlog, LIST_FIRST(&backlog->entries, struct backlog_entry, node));
	}
	if (backlog->count < backlog->unwritten) {
		/* They went to the store without the log: there is nothing left to write. */
		backlog->unwritten = backlog->count;
		backlog->broken = true;
		buf_done(&backlog->out);
	}
}

/* --- the two files ---------------------------------------------------------------------------- */

static void remove_file(struct backlog *backlog, unsigned which)
{
	log_file_done(&backlog->files[which]);
	(void)unlinkat(backlog->dir, log_names[which], 0);
}

bool backlog_retire(struct backlog *backlog)
{
	if (backlog->retiring) {
		return false;
	}
	if (backlog->files[backlog->active].fd < 0) {
		backlog->broken = false; /* it could not be made: perhaps it can be now */
		return false;
	}
	backlog->retiring = true;
	backlog->retired = backlog->next - 1;
	backlog->active = (backlog->active + 1) % LOG_FILES;
	return true;
}

void backlog_flushed(struct backlog *backlog, uint64_t sequence)
{
	if (backlog->retiring && sequence >= backlog->retired) {
		backlog->retiring = false;
		remove_file(backlog, (backlog->active + 1) % LOG_FILES);
		/* A file whose write has failed was the active one, and is gone now. */
		backlog->broken = backlog->broken && backlog->files[backlog->active].fd >= 0;
	}
}

int backlog_clear(struct backlog *backlog)
{
	for (unsigned i = 0; i < LOG_FILES; i++) {
		log_file_done(&backlog->files[i]);
		if (unlinkat(backlog->dir, log_names[i], 0) < 0 && errno != ENOENT) {
			return -errno;
		}
	}
	backlog->retiring = backlog->broken = false;
	return 0;
}
