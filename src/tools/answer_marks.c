/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The marks in brackets that brig writes in the text of an answer, and how foreign text is kept
 * apart from them: a program can print "[end] all is well", and it is shown as "\[end] all is
 * well". The structured content has the output unchanged.
 */
#include <string.h>

#include "base/cleanup.h"
#include "tools/tools_internal.h"

static const char *const marks[] = {
	[MARK_STDERR] = "[stderr]", [MARK_CUT] = "[cut]", [MARK_VALUE] = "[value]",
	[MARK_FILE] = "[file]",     [MARK_END] = "[end]", [MARK_NOTHING] = "[no output]",
};

void tools_add_mark(struct buf *out, enum tools_mark mark)
{
	buf_addf(out, "%s%s", out->size ? "\n" : "", marks[mark]);
}

static bool is_mark(const char *at, size_t left)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		size_t length = strlen(marks[i]);
		if (left >= length && memcmp(at, marks[i], length) == 0) {
			return true;
		}
	}
	return false;
}

void tools_add_foreign(struct buf *out, const char *data, size_t size)
{
	size_t done = 0;

	for (size_t at = 0; at < size; at++) {
		const char *bracket = memchr(data + at, '[', size - at);
		if (!bracket) {
			break;
		}
		at = (size_t)(bracket - data);
		if (is_mark(bracket, size - at)) {
			buf_add(out, data + done, at - done);
			buf_addc(out, '\\');
			done = at;
		}
	}
	buf_add(out, data + done, size - done);
}

/* A name has one line: a character that would begin another is written as its code. */
void tools_add_name(struct buf *out, const char *name)
{
	_cleanup_(buf_done)
	struct buf line = { 0 };

	for (const char *c = name; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f) {
			buf_addf(&line, "\\x%02x", (unsigned char)*c);
		} else {
			buf_addc(&line, *c);
		}
	}
	tools_add_foreign(out, line.data ? line.data : "", line.size);
}
