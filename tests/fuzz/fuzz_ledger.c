/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger's messages from a hostile front. Any form that is accepted goes to a real database in
 * a directory of its own; for any input, the chain of the records stays whole.
 *
 * Input: calls of one byte of kind, one of value, two of size, and the form.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/chain_key.h"
#include "ledger/role/ledger_calls.h"
#include "ledger/sqlite/sqlite_store.h"
#include "ledger/store/result_facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds) {
		abort();
	}
}

static struct store *open_store(void)
{
	const struct store_limits limits = { .result_max = 4096, .result_total_max = 1 << 20 };
	char path[] = "/dev/shm/brig-fuzz-XXXXXX";
	struct store *store = NULL;
	static const char *const names[] = { STORE_NAME, STORE_NAME "-wal", STORE_NAME "-shm",
					     STORE_LOCK, CHAIN_KEY_NAME,    CHAIN_PUBLIC_NAME };

	must(mkdtemp(path) != NULL);
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(dir >= 0 && sqlite_store_class.open(dir, &limits, &store, NULL) == 0);
	/* Its descriptors are enough; nothing is left behind however this ends. */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unlinkat(dir, names[i], 0);
	}
	close(dir);
	must(rmdir(path) == 0);
	return store;
}

static void call(struct store *store, const struct message *message, const void *tail, size_t size)
{
	const struct ledger_form *form = &ledger_forms[message->kind];
	struct ledger_text texts[LEDGER_FIELDS_MAX] = { 0 };
	struct brig_error error = { 0 };
	struct buf answer = { 0 };
	const char *name = NULL;
	uint64_t before = store->now.head.sequence;

	if (ledger_form_unpack(form, tail, size, texts) < 0 ||
	    ledger_form_check(form, texts, &name) < 0) {
		return;
	}
	must(store_mark(store, &error) == 0);
	struct store_more more = { 0 };
	int r = ledger_call(store, message, texts, &answer, &more, &error);
	while (r == 0 && more.n && store_more_read(store, &more, &answer, &error) == 0) {
	}
	if (r < 0) {
		store_back(store);
		must(error.errnum > 0 && error.message[0]);
		if (!store_in_transaction(store)) {
			must(store_begin(store, &error) == 0);
		}
	} else {
		must(store_release(store, &error) == 0);
		must(store->now.head.sequence <= before + 1);
	}
	buf_done(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct store *store; /* made once: writes are rolled back */
	struct chain_checkpoint checkpoint;

	if (!store) {
		store = open_store();
	}
	(void)chain_line_parse((const char *)data, size, &checkpoint);
	must(store_begin(store, NULL) == 0);
	for (size_t at = 0; at + 4 <= size;) {
		struct message message = { .kind = 1 + data[at] % (LEDGER_KINDS - 1),
					   .value = data[at + 1] & 3,
					   .number = data[at + 1] };
		size_t length = data[at + 2] | (size_t)data[at + 3] << 8;

		at += 4;
		length = length < size - at ? length : size - at;
		call(store, &message, data + at, length);
		at += length;
	}
	store_rollback(store);
	return 0;
}
