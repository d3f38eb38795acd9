/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the user for consent: see consent.h. */
#include "cli/run/consent.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/terminal_escape.h"

static const char *what(const struct brig_request *request)
{
	return request->file ? request->file : request->command ? request->command[0] : "this code";
}

static bool answer_is_yes(int tty)
{
	char answer[64];
	ssize_t n = read(tty, answer, sizeof(answer) - 1);

	if (n <= 0) {
		return false;
	}
	answer[n] = '\0';
	answer[strcspn(answer, "\n")] = '\0';
	return strcasecmp(answer, "y") == 0 || strcasecmp(answer, "yes") == 0;
}

/* The program may be outside of a cell: then a person should know. */
static bool may_lack_walls(const struct policy *policy, const struct brig_request *request)
{
	const struct provider *named = request->provider ? provider_find(request->provider) : NULL;

	return named ? !provider_can(named, ABILITY_WALLS) : policy_without_walls(policy);
}

bool consent_ask(const struct brig_context *context, const struct brig_request *request)
{
	_cleanup_(buf_done)
	struct buf question = { 0 };
	_cleanup_(buf_done)
	struct buf shown = { 0 };
	struct terminal_escape terminal = { 0 };
	struct policy *policy = NULL;

	/* Without a terminal on both there is no user who could have read the question. */
	if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1 ||
	    policy_load(&context->policies, request->policy ? request->policy : "default", &policy,
			NULL) < 0) {
		return false;
	}
	bool asks = policy->auto_run == AUTO_RUN_ASK;
	buf_addf(&question, "Run %s under policy %s%s? [y/N] ", what(request), policy->name,
		 may_lack_walls(policy, request) ? ", outside of a cell" : "");
	policy_free(policy);
	terminal_escape_add(&terminal, question.data, question.size, &shown);
	_cleanup_close_ int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (!asks || tty < 0 || shown.failed || write(tty, shown.data, shown.size) < 0) {
		return false;
	}
	return answer_is_yes(tty);
}
