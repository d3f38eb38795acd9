/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-prober: asks the kernel what a program in this cell may do with files.
 *
 * Theory of operation. `brig policy check` builds a cell as a run would, and executes this program
 * there, in the place of the request's: it is brig's own, so what it attempts is known, and the
 * cell around it is a real one. Questions come by standard input, and one answer of fixed size for
 * each leaves by standard output, at once: should an attempt end this program, the warden knows
 * which.
 *
 * Privileges: those of any program in this cell, which is none.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prober/attempt.h"

/* One question, and the beginning of the next ones. */
struct question_reader {
	char bytes[2 * PROBER_PATH_MAX];
	size_t start, end;
};

static bool read_more(struct question_reader *questions)
{
	memmove(questions->bytes, questions->bytes + questions->start,
		questions->end - questions->start);
	questions->end -= questions->start;
	questions->start = 0;
	ssize_t n;
	do {
		n = read(STDIN_FILENO, questions->bytes + questions->end,
			 sizeof(questions->bytes) - questions->end);
	} while (n < 0 && errno == EINTR);
	questions->end += n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* The next question; NULL: the end. */
static const char *next_question(struct question_reader *questions)
{
	for (;;) {
		const char *text = questions->bytes + questions->start;
		size_t size = questions->end - questions->start;
		const char *nul = memchr(text, '\0', size);

		if (nul) {
			questions->start += (size_t)(nul - text) + 1;
			return text;
		}
		if (!read_more(questions)) {
			return NULL;
		}
	}
}

static enum prober_place place_of(const struct path_walk *walk, dev_t own)
{
	if (S_ISCHR(walk->info.st_mode) || S_ISBLK(walk->info.st_mode)) {
		return PROBER_DEVICE;
	}
	if (walk->info.st_dev == own) {
		return PROBER_OWN;
	}
	return path_is_proc(walk->fd) ? PROBER_PROC : PROBER_OTHER;
}

static void name_place(int fd, char where[PROBER_WHERE_BYTES])
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = fd < 0 ? -1 : readlink(link, where, PROBER_WHERE_BYTES - 1);
	where[n < 0 ? 0 : n] = '\0';
}

static void answer(const char *question, dev_t own, struct prober_answer *ret)
{
	struct path_walk walk;

	path_walk(question + 1, &walk);
	struct attempt found = attempt((enum prober_wish)question[0], question + 1, &walk, own);
	ret->errnum = (uint32_t)found.errnum;
	ret->means = (uint8_t)found.means;
	ret->place = (uint8_t)place_of(&walk, own);
	ret->missing = (uint32_t)walk.errnum;
	ret->directory = S_ISDIR(walk.info.st_mode);
	name_place(walk.fd, ret->where);
	path_walk_done(&walk);
}

int main(void)
{
	static struct question_reader questions;
	struct stat own;
	const char *question;

	if (stat("/sandbox", &own) < 0) {
		return 1;
	}
	for (uint32_t number = 0; (question = next_question(&questions)); number++) {
		struct prober_answer found = { .number = number };

		answer(question, own.st_dev, &found);
		if (write(STDOUT_FILENO, &found, sizeof(found)) != (ssize_t)sizeof(found)) {
			return 1;
		}
	}
	return 0;
}
