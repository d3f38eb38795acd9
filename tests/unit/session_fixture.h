/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of sessions: opens them, runs code in them, checks results and states. */
#ifndef BRIG_TESTS_SESSION_FIXTURE_H
#define BRIG_TESTS_SESSION_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>

#include <brig/brig.h>

#define MS 1000000ull

static inline struct brig_context *new_context(bool warm)
{
	struct brig_warm_options pools = { .size = sizeof(pools), .cells_max = 2 };
	struct brig_context_options options = { .size = sizeof(options),
						.no_cache = true,
						.warm = warm ? &pools : NULL };
	struct brig_context *context = NULL;
	struct brig_error error = { 0 };

	if (brig_context_new(&options, &context, &error) < 0) {
		fail_msg("%s", error.message);
	}
	return context;
}

static inline struct brig_session *open_like(struct brig_context *context,
					     const struct brig_request *request)
{
	struct brig_session *session = NULL;
	struct brig_error error = { 0 };

	if (brig_session_open(context, request, &session, &error) < 0) {
		fail_msg("%s", error.message);
	}
	return session;
}

static inline struct brig_session *open_session(struct brig_context *context, const char *language)
{
	struct brig_request request = { .size = sizeof(request), .language = language };

	return open_like(context, &request);
}

static inline struct brig_result *run_request(struct brig_session *session,
					      const struct brig_request *request)
{
	struct brig_run *run = NULL;
	struct brig_error error = { 0 };

	if (brig_session_start(session, request, &run, &error) < 0 ||
	    brig_run_wait(run, &error) < 0) {
		fail_msg("%s", error.message);
	}
	struct brig_result *result = brig_run_take_result(run);
	brig_run_free(run);
	assert_non_null(result);
	assert_string_equal(result->start, "session");
	return result;
}

static inline struct brig_result *run_code(struct brig_session *session, const char *code,
					   uint64_t ms)
{
	struct brig_request request = { .size = sizeof(request),
					.code = code,
					.want_value = true,
					.limits = { .wall_ns = (ms ? ms : 10000) * MS } };

	return run_request(session, &request);
}

/* Status, standard output, and value or NULL. */
static inline void expect(struct brig_session *session, const char *code, enum brig_status status,
			  const char *out, const char *value)
{
	struct brig_result *result = run_code(session, code, 0);

	if (result->status != status || (out && strcmp(result->stdout_data, out) != 0)) {
		fail_msg("%s: %s, \"%s\", \"%s\"", code, brig_status_name(result->status),
			 result->stdout_data, result->stderr_data);
	}
	if (value) {
		assert_non_null(result->value_json);
		assert_string_equal(result->value_json, value);
	}
	brig_result_free(result);
}

static inline void expect_alive(struct brig_session *session)
{
	assert_int_equal(brig_session_state(session), BRIG_SESSION_IDLE);
	assert_string_equal(brig_session_reason(session), "");
}

/* The session has ended, or ends soon, for a reason that contains this text. */
static inline void expect_gone(struct brig_session *session, const char *reason)
{
	struct brig_request request = { .size = sizeof(request), .code = "1" };
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	for (int i = 0; i < 100 && !brig_session_step(session); i++) {
		struct pollfd ready = { .fd = brig_session_fd(session), .events = POLLIN };
		poll(&ready, 1, 100);
	}
	assert_int_equal(brig_session_state(session), BRIG_SESSION_GONE);
	if (!strstr(brig_session_reason(session), reason)) {
		fail_msg("\"%s\" does not say \"%s\"", brig_session_reason(session), reason);
	}
	assert_int_equal(brig_session_start(session, &request, &run, &error), -ESTALE);
	assert_non_null(strstr(error.message, reason));
}
#endif
