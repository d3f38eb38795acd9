/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig doctor` and cells made in advance: makes one of each language whose runtime file supports
 * it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/doctor/cli_doctor.h"
#include "lib/owned.h"
#include "lib/prepare/inventory.h"
#include "lib/warm/warm.h"

#define NS_PER_MS 1000000u

/* Others wait before their exec, which is a cold start up to that point. */
static bool has_way_ahead(struct runtime *runtime)
{
	return (runtime->template || runtime->driver[0]) && runtime_find(runtime, NULL) == 0;
}

/* Why pages cannot be pinned, and the repair. Cells made ahead work anyway, a little slower. */
static const struct {
	int errnum;
	const char *why;
} causes[] = {
	{ ENOMEM, "too little memory may be locked: raise the limit (ulimit -l)" },
	{ EPERM, "io_uring is refused: see kernel.io_uring_disabled, and the container's filter" },
	{ EACCES, "io_uring is refused: see the host's security module" },
	{ ENOSYS, "io_uring is missing in this kernel, or hidden by the container's filter" },
	{ E2BIG, "a run writes to too many: preload fewer modules" },
	{ ENODATA, "a rehearsal ended without a report: does a preloaded module end it?" },
	{ ETIME, "a rehearsal did not end: does a preloaded module make it wait?" },
};

static const char *cause_of(int errnum)
{
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++) {
		if (causes[i].errnum == errnum) {
			return causes[i].why;
		}
	}
	return strerror(errnum);
}

/* Of a pool with a template: does the host let it pin pages (template/hot_pages.h)? */
static void describe_pages(struct brig_context *context, const struct brig_request *like,
			   char *text, size_t size)
{
	struct brig_error error = { 0 };
	const struct warm_pool *pool = warm_pool_for(context->warm, like, &error);
	int pinned = pool ? warm_pool_pinned(pool) : -EOPNOTSUPP;

	text[0] = '\0';
	if (pinned > 0) {
		snprintf(text, size, "; %d pages of its template are pinned", pinned);
	} else if (pinned < 0 && pinned != -EOPNOTSUPP) {
		snprintf(text, size, "; pages cannot be pinned: %s", cause_of(-pinned));
	}
}

/* The pool gives up after some failures, and otherwise after a timeout: this always ends. */
static void try_one(struct brig_context *context, const struct diagnosis *diagnosis,
		    const struct runtime *runtime, struct doctor_warm *ret)
{
	struct brig_request like = { .size = sizeof(like),
				     .language = runtime->name,
				     .code = "1",
				     .policy = diagnosis->policy->name };
	struct brig_error error = { 0 };
	uint64_t begun = clock_now_ns();

	snprintf(ret->language, sizeof(ret->language), "%s", runtime->name);
	int r = brig_context_warm(context, &like, 1, &error);
	if (r == 0) {
		char pages[160];
		describe_pages(context, &like, pages, sizeof(pages));
		ret->found.state = PROBE_OK;
		snprintf(ret->found.detail, sizeof(ret->found.detail),
			 "a cell was made ahead with %.200s%s", runtime->program, pages);
		ret->ms = (clock_now_ns() - begun) / NS_PER_MS;
		return;
	}
	ret->found.state = PROBE_DEGRADED;
	ret->found.errnum = -r;
	snprintf(ret->found.detail, sizeof(ret->found.detail), "with %s: %.200s", runtime->program,
		 r == -EAGAIN ? "started ahead, it never became ready for code" : error.message);
}

void doctor_try_warm(struct diagnosis *diagnosis)
{
	_cleanup_(brig_context_freep)
	struct brig_context *context = NULL;
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = 1 };
	struct brig_context_options options = { .size = sizeof(options), .warm = &warm };
	struct brig_error error = { 0 };
	struct runtime **all = NULL;
	size_t count = 0;

	if (!diagnosis->ok || !provider_can(diagnosis->policy->provider, ABILITY_HOLD)) {
		return;
	}
	if (brig_context_new(&options, &context, &error) < 0 ||
	    runtime_load_all(&context->runtimes, &all, &count, &error) < 0) {
		struct doctor_warm *none = &diagnosis->warm[diagnosis->warm_count++];
		*none = (struct doctor_warm){ .language = "all",
					      .found = { .state = PROBE_DEGRADED } };
		snprintf(none->found.detail, sizeof(none->found.detail), "%.300s", error.message);
		return;
	}
	for (size_t i = 0; i < count && diagnosis->warm_count < DOCTOR_WARM_MAX; i++) {
		if (has_way_ahead(all[i])) {
			try_one(context, diagnosis, all[i],
				&diagnosis->warm[diagnosis->warm_count++]);
		}
	}
	listing_free_runtimes(all, count);
}
