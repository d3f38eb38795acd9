/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for people and for programs. */
#include "check/check.h"

void check_print(const struct check_kind *kind, const char *text, const struct check_answer *answer,
		 struct buf *out)
{
	static const char *const leads[] = {
		[CHECK_ALLOWED] = "note",
		[CHECK_REFUSED] = "to allow it",
		[CHECK_ASK] = "needed",
		[CHECK_DEPENDS] = "to find out",
	};

	buf_addf(out, "%-8s %s %s\n         ", check_verdict_names[answer->verdict], kind->name,
		 text);
	origin_print(&answer->origin, out);
	buf_addf(out, ": %s\n", answer->reason);
	if (answer->condition[0]) {
		buf_addf(out, "         if the run requests it: %s\n", answer->condition);
	}
	if (answer->repair[0]) {
		buf_addf(out, "         %s: %s\n", leads[answer->verdict], answer->repair);
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
