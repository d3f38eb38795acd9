/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-ledger: SQLite and the audit chain. It has its directory and a line to the front.
 * role/seal.c lists the privileges that it gives up, before it opens the database.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger/role/flusher.h"
#include "ledger/role/ledger_role.h"
#include "ledger/sqlite/sqlite_store.h"
#include "serve/roles/role_process.h"

#define NS_PER_MS 1000000

static void on_note(void *user, bool bad, const char *event, const char *text)
{
	(void)user;
	if (bad) {
		role_log_often(ROLE_ERROR, event, text, "text=%s", text);
		return;
	}
	/*
	 * Only a checkpoint that is kept elsewhere can show that the ledger was replaced by an
	 * older copy.
	 */
	bool kept = strcmp(event, "checkpoint") == 0;
	role_log(kept ? ROLE_ALWAYS : ROLE_INFO, event, "text=%s", text);
}

static void parts_done(struct ledger_role **ledger)
{
	ledger_role_free(*ledger);
}

#define FLUSHER_NAME "brig-flusher"

/* Ends with the ledger: then its line is closed, and it is killed. */
static _Noreturn void become_flusher(struct role_process *process, int socket)
{
	struct brig_error error = { 0 };

	prctl(PR_SET_NAME, FLUSHER_NAME, 0, 0, 0);
	close(FD_CONTROL);
	close(FD_LEDGER_FRONT);
	loop_free(process->loop);
	if (role_seal(process, FD_LEDGER_DIRECTORY, 0, &error) == 0) {
		flusher_serve(&sqlite_store_class, FD_LEDGER_DIRECTORY, socket);
	}
	_exit(0);
}

/*
 * Before the seal, which forbids making processes. Without a flusher the ledger does the work
 * itself.
 */
static int start_flusher(struct role_process *process)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		return 0;
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		become_flusher(process, pair[1]);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return 0;
	}
	return pair[0];
}

#define BOOT_SIZE 40

/* Before the seal, which forbids opening it. */
static bool read_boot(char boot[BOOT_SIZE])
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, boot, BOOT_SIZE - 1);

	if (size <= 0) {
		return false;
	}
	boot[size] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	return true;
}

int role_ledger(struct role_process *process, struct brig_error *err)
{
	_cleanup_(parts_done)
	struct ledger_role *ledger = NULL;
	const struct serve_config *config = &process->config;
	char boot[BOOT_SIZE];
	struct ledger_options options = {
		.result_age_ms = config->retention_ns / NS_PER_MS,
		.history_age_ms = config->history_ns / NS_PER_MS,
		.audit_age_ms = config->audit_ns / NS_PER_MS,
		.result_max = config->result_bytes,
		.result_total_max = config->results_bytes,
		.durable = config->ledger_durable,
		.boot = read_boot(boot) ? boot : NULL,
		.flusher = start_flusher(process),
		.note = on_note,
		.gone = role_peer_gone,
		.user = process,
	};
	int r = role_seal(process, FD_LEDGER_DIRECTORY, 0, err);

	r = r < 0 ? r
		  : ledger_role_new(process->loop, FD_LEDGER_FRONT, FD_LEDGER_DIRECTORY, &options,
				    &ledger, err);
	return r < 0 ? r : role_run(process, NULL, NULL, err);
}
