/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are answered from the log, and stored later in their order: in memory, and in the two
 * files of the log. One file is written to; the other is empty, or waits until the store has all of
 * it on the disk, and is removed then.
 *
 * A call is taken only if it is certain that it can be stored: nothing but the store's own failure,
 * such as a full disk, may keep it out, and then it stays here and is tried again.
 */
#ifndef BRIG_LEDGER_BACKLOG_H
#define BRIG_LEDGER_BACKLOG_H

#include "base/list.h"
#include "ledger/log/log_file.h"
#include "ledger/log/open_set.h"
#include "ledger/store/store.h"
#include "role/message.h"

#define BACKLOG_RECORDS    256u
#define BACKLOG_BYTES      ((size_t)4 << 20)
#define BACKLOG_FILE_BYTES ((uint64_t)32 << 20)

struct backlog_entry {
	struct list_node node;
	struct log_record record;
	struct buf form; /* owned; the texts are in it */
	struct ledger_text texts[LEDGER_FIELDS_MAX];
	struct ended_result result; /* owned: of an end */
	bool refused; /* by the store: it is left out. No correct front causes this. */
};

struct backlog {
	int dir; /* owned */
	bool durable;
	char boot[LOG_BOOT_SIZE];
	struct log_file files[LOG_FILES];
	unsigned active;  /* the file that is written to */
	bool retiring;    /* the other one waits until the store has it on the disk, up to... */
	uint64_t retired; /* ...this record */
	bool broken;      /* a write has failed: nothing is taken until the files are gone */
	uint64_t next;    /* number of the next record */
	struct list entries;
	unsigned count, unwritten; /* entries; those at the end that are not in the file */
	size_t bytes;
	struct buf out; /* the unwritten ones */
	struct open_set open;
};

/* Without a directory there is nothing to write to. */
void backlog_init(struct backlog *backlog);
int backlog_open(struct backlog *backlog, int dir, const char *boot, bool durable);
void backlog_done(struct backlog *backlog);

/*
 * 1: the call is taken, and can be answered after backlog_write(). 0: it must go to the store,
 * after everything that is here. -EPROTO: a correct front does not send it; -ENOMEM.
 */
int backlog_take(struct backlog *backlog, const struct message *message,
		 const struct ledger_text *texts, const struct store_limits *limits,
		 struct brig_error *error);
/* One write of all that was taken since the last one. */
int backlog_write(struct backlog *backlog);
/* Takes back what is not written: it was not answered. */
void backlog_undo(struct backlog *backlog);
/* It takes no more until something is stored. */
bool backlog_full(const struct backlog *backlog);
/* Is there something about this execution? */
bool backlog_has(const struct backlog *backlog, const char *id);

/* An entry as it was read from a file. -EBADMSG: not a call that is logged. */
int backlog_read(struct backlog *backlog, const struct log_record *record, const char *form);
/* In a transaction: stores one. -errno with a code of BRIG_E_INPUT: the store refuses it. */
int backlog_store(struct backlog_entry *entry, struct store *store, struct brig_error *error);
/* The first `count` entries are in the store for good. */
void backlog_stored(struct backlog *backlog, unsigned count);

/*
 * The active file's turn is over: false if there is none with records, or the other one still
 * waits.
 */
bool backlog_retire(struct backlog *backlog);
/* The store has everything up to here on the disk. */
void backlog_flushed(struct backlog *backlog, uint64_t sequence);
/* Removes both files: the store has everything. */
int backlog_clear(struct backlog *backlog);
#endif
