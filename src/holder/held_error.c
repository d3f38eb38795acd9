/* SPDX-License-Identifier: Apache-2.0 */
/* Why a cell was not built: its step, the reason, the remedy. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "holder/held.h"

static const struct {
	const char *step, *message, *remedy;
} steps[HOLDER_STEPS] = {
	[HOLDER_STEP_PROCESS] = { "spawn", "cannot start the holder", "raise ulimit -u" },
	[HOLDER_STEP_IDENTITY] = { "become", "the holder cannot take its ids", "see brig doctor" },
	[HOLDER_STEP_KEYRING] = { "keyring", "cannot make a session keyring", "see brig doctor" },
	[HOLDER_STEP_ROOT] = { "root", "cannot make the holder's file system", "see brig doctor" },
	[HOLDER_STEP_SKELETON] = { "skeleton", "cannot make the root of the cell",
				   "see brig doctor" },
	[HOLDER_STEP_WORK] = { "work", "cannot make the writable file system", "see brig doctor" },
	[HOLDER_STEP_MOUNT] = { "mount", "cannot mount a directory",
				"name a directory that the caller may enter" },
	[HOLDER_STEP_OVERLAY] = { "overlay", "cannot make a private view of shared files",
				  "see brig doctor" },
	[HOLDER_STEP_TIME] = { "time", "cannot make a time namespace", "see brig doctor" },
	[HOLDER_STEP_CGROUP] = { "cgroup", "cannot enter the control group", "see brig doctor" },
	[HOLDER_STEP_TOOL] = { "tool", "cannot start the program that builds the cell",
			       "see brig doctor" },
	[HOLDER_STEP_PROC] = { "proc", "cannot mount /proc in the cell", "see brig doctor" },
	[HOLDER_STEP_NETWORK] = { "network", "cannot set up the network of the cell",
				  "see brig doctor" },
};

/* Where the line that ends there begins: after the end of another, or at the beginning. */
static size_t line_start(const char *text, size_t end)
{
	while (end > 0 && text[end - 1] != '\n') {
		end--;
	}
	return end;
}

static bool is_empty(const char *text, size_t size)
{
	return strspn(text, " \t\r\n") >= size;
}

/*
 * The last line of the tool's messages, which names the cause; nothing that moves a terminal. One
 * that begins with a carriage return shows a progress, and one of spaces shows nothing.
 */
static void last_line(const struct held_cell *held, char *ret, size_t size)
{
	const char *text = held->messages;
	size_t end = held->messages_size, start = line_start(text, end);

	while (start > 0 && (text[start] == '\r' || is_empty(text + start, end - start))) {
		end = start - 1;
		start = line_start(text, end);
	}
	if (text[start] == '\r') {
		end = start;
	}
	while (end > start && is_empty(text + end - 1, 1)) {
		end--;
	}
	size_t length = end - start < size - 1 ? end - start : size - 1;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[start + i];
		ret[i] = (char)(c == '\t' ? ' ' : c < 0x20 || c > 0x7e ? '?' : c);
	}
	ret[length] = '\0';
}

static int tool_error(const struct held_cell *held, struct brig_error *err)
{
	char line[256];
	int status = (int)held->tool_status;

	last_line(held, line, sizeof(line));
	int r = error_set(err, BRIG_E_HOST, EIO, "%s could not start the %s: %s", held->tool,
			  held->kind->product,
			  line[0]                      ? line
			  : WIFSIGNALED(status)        ? "it was killed"
			  : WEXITSTATUS(status) == 127 ? "it cannot be executed"
			  : status == 0                ? "it ended without starting the agent"
						       : "it gave no reason");
	error_remedy(err, "try it: %s --version; a newer %s, or %s, may do", held->path,
		     held->package, held->kind->other);
	error_step(err, held->kind->step);
	return r;
}

int held_build_error(const struct held_cell *held, struct brig_error *err)
{
	if (held->refused) {
		*err = *held->refused;
		return -err->errnum;
	}
	if (held->late) {
		int r = error_set(err, BRIG_E_HOST, ETIMEDOUT, "%s did not start the %s in time",
				  held->path, held->kind->product);
		error_remedy(err, "%s", held->kind->late);
		error_step(err, held->kind->step);
		return r;
	}
	if (held->build_errnum) {
		int r = error_errno(err, BRIG_E_SYSTEM, held->build_errnum, "%s",
				    steps[held->build_step].message);
		error_remedy(err, "%s", steps[held->build_step].remedy);
		error_step(err, steps[held->build_step].step);
		return r;
	}
	if (held->tool_status || held->early) {
		return tool_error(held, err);
	}
	return agent_link_error(&held->link, err);
}
