/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a policy, and prints the answers: see policy_questions.h. */
#include "cli/policy/policy_questions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli_report.h"

void questions_done(struct questions *questions)
{
	free(questions->items);
	*questions = (struct questions){ 0 };
}

int questions_add(struct questions *questions, const struct check_kind *kind, const char *text,
		  struct brig_error *err)
{
	if (questions->count == QUESTIONS_MAX) {
		return error_set(err, BRIG_E_INPUT, E2BIG, "policy check: more than %d questions",
				 QUESTIONS_MAX);
	}
	struct question *items = realloc(questions->items, (questions->count + 1) * sizeof(*items));
	if (!items) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for options");
	}
	questions->items = items;
	items[questions->count++] = (struct question){ kind, text };
	return 0;
}

/* Files are looked up in a cell of the language that a question names. */
static const char *language_of(const struct questions *questions)
{
	for (size_t i = 0; i < questions->count; i++) {
		if (strcmp(questions->items[i].kind->name, "language") == 0) {
			return questions->items[i].text;
		}
	}
	return NULL;
}

static int wrong_question(const struct question *question, struct brig_error *error, bool json)
{
	error_wrap(error, "policy check: %s %s: ", question->kind->option, question->text);
	/* The host may lack something that a cell needs: then the command line is not at fault. */
	return error->code == BRIG_E_INPUT ? report_usage(error, json) : report_error(error, json);
}

static int answer_all(struct check *check, const struct questions *questions, bool json)
{
	struct brig_error error = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct json_out list = { .buf = &out };
	bool all = true;

	check->language = language_of(questions);
	for (size_t i = 0; i < questions->count; i++) {
		const struct question *question = &questions->items[i];

		if (check_expect(check, question->kind, question->text, &error) < 0) {
			return wrong_question(question, &error, json);
		}
	}
	if (json) {
		json_open(&list, NULL, '[');
	}
	for (size_t i = 0; i < questions->count; i++) {
		const struct question *question = &questions->items[i];
		struct check_answer answer;

		if (check_ask(check, question->kind, question->text, &answer, &error) < 0) {
			return wrong_question(question, &error, json);
		}
		all &= answer.verdict == CHECK_ALLOWED;
		if (json) {
			check_print_json(check, question->kind, question->text, &answer, &list);
		} else {
			check_print(question->kind, question->text, &answer, &out);
		}
	}
	if (json) {
		json_close(&list, ']');
	}
	int status = json ? report_json(out.failed ? NULL : out.data) : report_text(&out);
	return status != 0 ? status : !all;
}

int questions_answer(const struct questions *questions, const char *config_dir, const char *policy,
		     const struct policy_given *given, bool json)
{
	struct check check;
	struct brig_error error = { 0 };
	int status;

	if (check_open(&check, config_dir, policy, given, &error) < 0) {
		status = report_error(&error, json);
		/* A file that is not a valid policy has the same status as without questions. */
		status = given ? 1 : status;
	} else {
		status = answer_all(&check, questions, json);
	}
	check_done(&check);
	return status;
}
