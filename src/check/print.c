/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for people and for programs. */
#include "base/cleanup.h"
#include "check/check.h"

/* On one line: a path may contain anything, and must not look like another answer. */
static void add_line(struct buf *out, const char *text)
{
	for (; *text; text++) {
		buf_addc(out, *text == '\n' || *text == '\t' ? ' ' : *text);
	}
}

void check_print(const struct check_kind *kind, const char *text, const struct check_answer *answer,
		 struct buf *out)
{
	static const char *const leads[] = {
		[CHECK_ALLOWED] = "note",
		[CHECK_REFUSED] = "to allow it",
		[CHECK_ASK] = "needed",
		[CHECK_DEPENDS] = "to find out",
	};

	const struct {
		const char *lead, *text;
	} more[] = {
		{ "if the run requests it", answer->condition },
		{ leads[answer->verdict], answer->repair },
	};

	buf_addf(out, "%-8s %s ", check_verdict_names[answer->verdict], kind->name);
	add_line(out, text);
	buf_addf(out, "\n         ");
	origin_print(&answer->origin, out);
	buf_addf(out, ": ");
	add_line(out, answer->reason);
	buf_addc(out, '\n');
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		if (more[i].text[0]) {
			buf_addf(out, "         %s: ", more[i].lead);
			add_line(out, more[i].text);
			buf_addc(out, '\n');
		}
	}
}

void check_print_json(const struct check *check, const struct check_kind *kind, const char *text,
		      const struct check_answer *answer, struct json_out *out)
{
	struct buf place = { 0 };

	origin_print(&answer->origin, &place);
	json_open(out, NULL, '{');
	json_text(out, "policy", check->policy->name);
	json_text(out, "kind", kind->name);
	json_text(out, "question", text);
	json_text(out, "verdict", check_verdict_names[answer->verdict]);
	json_text(out, "place", place.data);
	origin_print_json(&answer->origin, "origin", out);
	json_text(out, "reason", answer->reason);
	json_text(out, "condition", answer->condition[0] ? answer->condition : NULL);
	json_text(out, "repair", answer->repair[0] ? answer->repair : NULL);
	json_close(out, '}');
	out->buf->failed |= place.failed;
	buf_done(&place);
}
