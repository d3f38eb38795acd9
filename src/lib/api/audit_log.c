/* SPDX-License-Identifier: Apache-2.0 */
/* Records of runs in a file: see audit_log.h. */
#include "lib/api/audit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes/chain.h"
#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json/json_out.h"
#include "lib/api/api_run.h"
#include "lib/context.h"

#define TAIL_MAX (64u << 10) /* longer than any of our lines */
#define BEGIN    "{\"sequence\":"
#define HASH     "\"hash\":\""

#define LOCK_TIMEOUT_NS 10000000000ull
#define LOCK_PAUSE_NS   2000000

int audit_log_open(const char *path, struct brig_error *err)
{
	struct stat info;
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);

	if (fd >= 0 && (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))) {
		close_fd(&fd);
		errno = EINVAL;
	}
	return fd >= 0 ? fd
		       : error_errno(err, BRIG_E_INPUT, errno, "cannot open the audit file %s",
				     path);
}

/* One of our lines, or the start of one. Anything else means that the file is not ours. */
static bool is_ours(const char *line, size_t size)
{
	return strncmp(line, BEGIN, size < strlen(BEGIN) ? size : strlen(BEGIN)) == 0;
}

static int read_line(const char *line, struct chain_head *ret)
{
	const char *hash = strstr(line, HASH);

	if (strncmp(line, BEGIN, strlen(BEGIN)) != 0 || !hash ||
	    strlen(hash) < strlen(HASH) + CHAIN_HEX_SIZE ||
	    !chain_unhex(hash + strlen(HASH), CHAIN_HEX_SIZE - 1, ret->hash, CHAIN_HASH_SIZE)) {
		return -EBADMSG;
	}
	ret->sequence = strtoull(line + strlen(BEGIN), NULL, 10);
	return 0;
}

/*
 * Reads the entry that the next one links to. An incomplete line was never acknowledged: it is
 * removed, but only if it is one of ours, behind other lines of ours.
 */
static int read_head(int fd, struct chain_head *ret)
{
	_cleanup_free_ char *data = malloc(TAIL_MAX + 1);
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)TAIL_MAX ? size - (off_t)TAIL_MAX : 0;
	ssize_t n = data && size >= 0 ? pread(fd, data, (size_t)(size - from), from) : -1;

	*ret = (struct chain_head){ 0 };
	if (n < 0 || n != size - from) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return -EIO;
	}
	data[n] = '\0';
	const char *end = memrchr(data, '\n', (size_t)n);
	size_t whole = end ? (size_t)(end - data) + 1 : 0;
	bool torn = whole < (size_t)n;
	if ((whole == 0 && from > 0) || (torn && !is_ours(data + whole, (size_t)n - whole))) {
		return -EBADMSG;
	}
	int r = 0;
	if (whole > 0) {
		data[whole - 1] = '\0';
		const char *before = memrchr(data, '\n', whole - 1);
		r = read_line(before ? before + 1 : data, ret);
	}
	if (r == 0 && torn && ftruncate(fd, from + (off_t)whole) < 0) {
		r = -errno;
	}
	return r;
}

/* After the entry `after`: a file without that entry was changed by another program. */
static int add_locked(int fd, const char *kind, const char *facts, uint64_t *after)
{
	struct stat info;
	struct timespec now;
	struct chain_head head;
	char tenant[32], hash[CHAIN_HEX_SIZE];
	unsigned char sum[CHAIN_HASH_SIZE];
	_cleanup_(buf_done)
	struct buf line = { 0 };
	int r = read_head(fd, &head);

	if (r < 0) {
		return r;
	}
	if (head.sequence < *after || fstat(fd, &info) < 0 || info.st_nlink == 0) {
		return -ESTALE;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(tenant, sizeof(tenant), "uid:%u", (unsigned)getuid());
	struct chain_entry entry = {
		.sequence = head.sequence + 1,
		.time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000,
		.kind = kind,
		.kind_size = strlen(kind),
		.tenant = tenant,
		.tenant_size = strlen(tenant),
		.facts = facts,
		.facts_size = strlen(facts),
	};
	chain_hash(&head, &entry, sum);
	chain_hex(sum, sizeof(sum), hash);
	buf_addf(&line,
		 BEGIN "%llu,\"time_ms\":%llu,\"kind\":\"%s\",\"tenant\":\"%s\"," HASH
		       "%s\",\"facts\":%s}\n",
		 (unsigned long long)entry.sequence, (unsigned long long)entry.time_ms, kind,
		 tenant, hash, facts);
	if (line.failed || line.size > TAIL_MAX) {
		return -ENOMEM;
	}
	*after = entry.sequence;
	ssize_t n = write(fd, line.data, line.size);
	return n == (ssize_t)line.size && fdatasync(fd) == 0 ? 0 : n < 0 ? -errno : -ENOSPC;
}

/* Any program that can read the file can lock it, so the wait is bounded. */
static int lock(int fd)
{
	uint64_t end = clock_now_ns() + LOCK_TIMEOUT_NS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };
		if (errno != EWOULDBLOCK && errno != EINTR) {
			return -errno;
		}
		if (clock_now_ns() >= end) {
			return -ETIMEDOUT;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

static int add(struct brig_run *run, const char *kind, const struct buf *facts,
	       struct brig_error *err)
{
	int fd = run->context->audit;
	int r = facts->failed ? -ENOMEM : lock(fd);

	if (r == 0) {
		r = add_locked(fd, kind, facts->data, &run->recorded_at);
		(void)flock(fd, LOCK_UN);
	}
	if (r < 0) {
		error_errno(err, BRIG_E_SYSTEM, -r, "the run cannot be recorded in the audit file");
		error_remedy(err, "run brig audit verify --file FILE, or use another file");
	}
	return r;
}

int audit_log_accepted(struct brig_run *run, const struct brig_request *request,
		       struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };
	struct sha256 sum;
	char code[65] = "";

	if (run->context->audit < 0) {
		return 0;
	}
	if (request->code) {
		sha256_init(&sum);
		sha256_add(&sum, request->code,
			   request->code_size ? request->code_size : strlen(request->code));
		sha256_hex(&sum, code);
	}
	/* Sorted keys, no blanks: as in every entry of a chain. */
	json_open(&json, NULL, '{');
	json_text(&json, "code_sha256", code[0] ? code : NULL);
	json_text(&json, "command", request->command ? request->command[0] : NULL);
	json_text(&json, "execution", run->id);
	json_text(&json, "file", request->file);
	json_text(&json, "language", request->language);
	json_text(&json, "policy", request->policy);
	json_close(&json, '}');
	int r = add(run, "execution.accepted", &facts, err);
	run->recorded = r == 0;
	return r;
}

int audit_log_ended(struct brig_run *run, const struct brig_result *result, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };

	if (!run->recorded) {
		return 0;
	}
	run->recorded = false;
	json_open(&json, NULL, '{');
	json_text(&json, "execution", run->id);
	if (result) {
		json_int(&json, "exit_code", result->exit_code);
		json_text(&json, "language", result->language);
		json_text(&json, "policy", result->policy);
		json_text(&json, "provider", result->provider);
		json_int(&json, "signal", result->signal);
	}
	json_text(&json, "status", result ? brig_status_name(result->status) : "error");
	if (result) {
		json_open(&json, "usage", '{');
		json_u64(&json, "cpu_ms", result->usage.cpu_ns / 1000000);
		json_u64(&json, "memory_peak_bytes", result->usage.memory_peak_bytes);
		json_u64(&json, "net_bytes", result->usage.net_bytes);
		json_u64(&json, "wall_ms", result->usage.wall_ns / 1000000);
		json_close(&json, '}');
	}
	json_close(&json, '}');
	return add(run, "execution.ended", &facts, err);
}
