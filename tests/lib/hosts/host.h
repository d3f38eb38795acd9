/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the host programs of these tests. A host program is linked against libbrig and
 * runs one of its cases, named on the command line: it ends with 0, or reports the error.
 */
#ifndef BRIG_TEST_HOST_H
#define BRIG_TEST_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <brig/brig.h>

#define MS 1000000ull

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			host_fail(__FILE__, __LINE__, #condition);                                 \
		}                                                                                  \
	} while (0)
#define CHECK_EQ(is, should)                                                                       \
	host_check_equal(__FILE__, __LINE__, #is, (long long)(is), (long long)(should))
#define CHECK_OUT(result, text)                                                                    \
	host_check_output(__FILE__, __LINE__, result, text, sizeof(text) - 1)
#define CHECK_OK(r, error)        host_check_ok(__FILE__, __LINE__, r, error)
#define CHECK_STATUS(result, was) host_check_status(__FILE__, __LINE__, result, was)

struct host_case {
	const char *name;
	void (*run)(void);
};
/* An entry of the table at the end of a host program. */
#define CASE(name)                                                                                 \
	{                                                                                          \
#name, case_##name                                                                 \
	}

_Noreturn void host_fail(const char *file, int line, const char *what);
void host_check_equal(const char *file, int line, const char *what, long long is, long long should);
void host_check_output(const char *file, int line, const struct brig_result *result,
		       const char *text, size_t size);
void host_check_ok(const char *file, int line, int r, const struct brig_error *error);
void host_check_status(const char *file, int line, const struct brig_result *result,
		       enum brig_status status);

int host_main(int argc, char **argv, const struct host_case *cases, size_t count);

/* With a cache directory of the test, named by BRIG_TEST_CACHE. */
struct brig_context *host_context(void);
struct brig_request host_code(const char *language, const char *code);
/* Starts it; or runs it to its end. A failure of brig itself fails the test. */
struct brig_run *host_start(struct brig_context *context, const struct brig_request *request);
struct brig_result *host_run(struct brig_context *context, const struct brig_request *request);
/* To the end of a started run, which is freed. */
struct brig_result *host_finish(struct brig_run *run);
/* One turn: waits until there is something to do, at most that long, and does it. */
int host_turn(struct brig_run *run, int timeout_ms);
/* Feeds all of it, in as many turns as necessary. */
void host_feed(struct brig_run *run, const char *data, size_t size);
void host_sleep_ms(unsigned ms);

unsigned host_count_fds(void);
/* All children of this process, including dead ones that are not reaped. */
unsigned host_count_children(void);
#endif
