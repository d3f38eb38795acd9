/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cell that answers questions: prepared and started like any run under the policy, except that
 * the prober takes the place of the program. Its file has a name that nobody can ask for, so that
 * it changes no answer.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "check/internal.h"
#include "check/prober_image.h"
#include "lib/prepare/phase.h"

#define ERRNO_MAX 4095 /* of the kernel */

struct probe_run {
	struct prepared prepared;
	struct phase phase;
	struct buf questions;
	struct brig_mount *mounts; /* owned */
	size_t mounts_count;
	char name[40]; /* of the prober in the cell, beneath the root */
};

static void probe_run_done(struct probe_run *run)
{
	phase_done(&run->phase);
	prepared_done(&run->prepared);
	buf_done(&run->questions);
	free(run->mounts);
}

static void cleanup_result(struct brig_result **result)
{
	brig_result_free(*result);
}

/* The mounts of the policy that the questions name; for writing only where one is about that. */
static int add_mounts(const struct check *check, struct probe *const *list, size_t count,
		      struct probe_run *run)
{
	const struct policy *policy = check->policy;

	run->mounts = calloc(policy->mounts_count + 1, sizeof(*run->mounts));
	if (!run->mounts) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < policy->mounts_count; i++) {
		bool named = false, written = false;

		for (size_t k = 0; k < count; k++) {
			bool this = probe_mount(check, list[k]->path) == (int)i;
			named |= this;
			written |= this && list[k]->wish == PROBER_WRITE;
		}
		if (named) {
			run->mounts[run->mounts_count++] = (struct brig_mount){
				.path = policy->mounts[i].name,
				.name = policy->mounts[i].name,
				.writable = written && policy->mounts[i].writable,
			};
		}
	}
	return 0;
}

static void add_questions(struct probe *const *list, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		buf_addc(out, (char)list[i]->wish);
		buf_add(out, list[i]->path, strnlen(list[i]->path, PROBER_PATH_MAX - 2));
		buf_addc(out, '\0');
	}
}

/* As a run with code of the language would be, but with the prober. */
static int prepare_probe(struct check *check, struct probe_run *run, struct brig_error *err)
{
	const struct brig_request request = {
		.size = sizeof(request),
		.policy = check->policy->name,
		.language = check_language(check),
		.code = "0",
		.mounts = run->mounts,
		.mounts_count = run->mounts_count,
		.consent = true,
	};
	struct prepared *p = &run->prepared;
	char id[27];
	int r = prepare(check->context, &request, PURPOSE_RUN, p, err);

	if (r < 0) {
		return r;
	}
	if (id_make(id) < 0) {
		return error_set(err, BRIG_E_SYSTEM, EIO, "no random bytes");
	}
	snprintf(run->name, sizeof(run->name), "/brig-%s", id);
	strlist_done(&p->argv);
	if (strlist_add(&p->argv, run->name) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the prober");
	}
	prepared_connect(p);
	p->spec.prober = run->name + 1;
	p->spec.prober_image = prober_image;
	p->spec.prober_size = prober_image_size;
	return 0;
}

static int run_probe(struct check *check, struct probe_run *run, struct brig_result **ret,
		     struct brig_error *err)
{
	const struct phase_options options = {
		.stdin_data = run->questions.data,
		.stdin_size = run->questions.size,
		.keep_output = true,
		/* The same memory as descriptor 3 as in a guarded run. */
		.value = run->prepared.guard.on ? VALUE_GUARDED : VALUE_NONE,
	};
	int r = phase_start(&run->phase, check->context, &run->prepared, &options, err);

	while (r == 0) {
		r = phase_step(&run->phase, err);
		if (r == 0) {
			struct pollfd ready = { .fd = run->phase.run->epoll, .events = POLLIN };
			poll(&ready, 1, -1);
		}
		r = r == PHASE_RESTARTED ? 0 : r;
	}
	if (r > 0) {
		*ret = phase_take_result(&run->phase);
	}
	return r < 0 ? r : 0;
}

static bool is_valid(const struct prober_answer *answer, size_t number)
{
	return answer->number == number && answer->errnum <= ERRNO_MAX &&
	       answer->missing <= ERRNO_MAX && answer->means < PROBER_MEANS_COUNT &&
	       answer->place < PROBER_PLACES_COUNT &&
	       memchr(answer->where, '\0', sizeof(answer->where));
}

/* Whole answers only; the number of them. -EPROTO: they are not the prober's. */
static int take_answers(const struct brig_result *result, struct probe *const *list, size_t count)
{
	size_t size = sizeof(struct prober_answer);
	size_t n = result->stdout_size / size;

	if (n > count) {
		return -EPROTO;
	}
	for (size_t i = 0; i < n; i++) {
		memcpy(&list[i]->answer, result->stdout_data + i * size, size);
		if (!is_valid(&list[i]->answer, i)) {
			return -EPROTO;
		}
		list[i]->answered = true;
	}
	return (int)n;
}

static int no_answer(const struct brig_result *result, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_HOST, EIO,
			  "the cell that was asked ended without an answer: %s (%s)",
			  brig_status_name(result->status), result->cause);
	error_remedy(err, "%s",
		     result->operator_remedy[0] ? result->operator_remedy : "see brig doctor");
	return r;
}

static int ask_in(struct check *check, struct probe *const *list, size_t count,
		  struct probe_run *run, struct brig_error *err)
{
	_cleanup_(cleanup_result)
	struct brig_result *result = NULL;

	add_questions(list, count, &run->questions);
	if (add_mounts(check, list, count, run) < 0 || run->questions.failed) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for questions");
	}
	int r = prepare_probe(check, run, err);
	r = r < 0 ? r : run_probe(check, run, &result, err);
	if (r < 0 || !result) {
		check_explain_cell(check, err);
		return r < 0 ? r : -EIO;
	}
	int answered = take_answers(result, list, count);
	if (answered < 0) {
		return error_set(err, BRIG_E_SYSTEM, EPROTO, "invalid answers from the cell");
	}
	/* The filter may end a program that makes a call. */
	if ((size_t)answered < count &&
	    (result->status == BRIG_DENIED || result->signal == SIGSYS)) {
		list[answered]->answered = list[answered]->ended = true;
		answered++;
	}
	return answered ? answered : no_answer(result, err);
}

int probe_cell(struct check *check, struct probe *const *list, size_t count, struct brig_error *err)
{
	struct probe_run run = { .prepared = { .ids = -1, .workdir_fd = -1 } };

	run.prepared.spec.devices = run.prepared.spec.gate = -1;
	if (prober_image_size == 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOTSUP, "this build of brig has no prober");
	}
	int r = ask_in(check, list, count, &run, err);
	probe_run_done(&run);
	return r;
}
