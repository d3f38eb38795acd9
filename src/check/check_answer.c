/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of an answer: its text, the line that decides, and the change that would allow it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check/internal.h"

void check_set_answer(struct check_answer *answer, enum check_verdict verdict, const char *format,
		      ...)
{
	va_list args;

	answer->verdict = verdict;
	va_start(args, format);
	vsnprintf(answer->reason, sizeof(answer->reason), format, args);
	va_end(args);
}

static bool is_word(const json_t *value, const char *word)
{
	const char *text = json_string_value(value);

	return text && strcmp(text, word) == 0;
}

/* The value in the policy itself, or in the one that it extends. */
static json_t *own_value(const struct check *check, const char *section, const char *key)
{
	for (int level = TRACE_OWN; level <= TRACE_PARENT; level++) {
		json_t *value = json_object_get(check->trace.texts[level].doc.root, section);
		json_t *found = key && json_is_object(value) ? json_object_get(value, key) : value;
		if (found) {
			return found;
		}
	}
	return NULL;
}

void check_origin_word(const struct check *check, const char *section, const char *key,
		       const char *word, struct origin *ret)
{
	struct origin above;
	json_t *ceiling = policy_trace_ceiling(&check->trace, section, key, &above);

	policy_trace_key(&check->trace, section, key, ret);
	if (is_word(ceiling, word) && !is_word(own_value(check, section, key), word)) {
		*ret = above;
	}
}

static bool is_quantity(const json_t *value, enum unit unit, uint64_t wanted)
{
	char number[40];
	const char *text = json_string_value(value);
	uint64_t found;

	if (json_is_number(value)) {
		snprintf(number, sizeof(number), "%.15g", json_number_value(value));
		text = number;
	}
	return text && unit_parse(unit, text, &found) == 0 && found == wanted;
}

void check_origin_limit(const struct check *check, const char *section,
			const struct limit_info *info, uint64_t value, struct origin *ret)
{
	struct origin above;
	json_t *ceiling = policy_trace_ceiling(&check->trace, "ceiling", info->key, &above);
	bool said = policy_trace_key(&check->trace, section, info->key, ret);

	/* A policy without a ceiling uses its limit as the ceiling. */
	if (!said) {
		section = "limits";
		policy_trace_key(&check->trace, section, info->key, ret);
	}
	if (is_quantity(ceiling, info->unit, value) &&
	    !is_quantity(own_value(check, section, info->key), info->unit, value)) {
		*ret = above;
	}
}

void check_repair(const struct check *check, struct check_answer *answer, enum repair_kind kind,
		  const char *section, const char *key, const char *what)
{
	const struct trace_text *own = &check->trace.texts[TRACE_OWN];
	const char *dot = key ? "." : "", *rest = key ? key : "";
	struct origin place;
	char *repair = answer->repair;
	size_t size = sizeof(answer->repair);

	if (own->built_in) {
		snprintf(
			repair, size,
			kind == REPAIR_ADD
				? "in a policy of your own that extends %s, set %s%s%s to its list "
				  "here plus %s"
				: "in a policy of your own that extends %s, set %s%s%s to %s",
			own->name, section, dot, rest, what);
		return;
	}
	bool said = policy_trace_key(&check->trace, section, key, &place) &&
		    place.kind == ORIGIN_FILE && strcmp(place.name, own->place) == 0;
	if (said && kind == REPAIR_ADD) {
		snprintf(repair, size, "add %s to %s%s%s (%s:%d)", what, section, dot, rest,
			 own->place, place.line);
	} else if (said) {
		snprintf(repair, size, "set %s%s%s to %s (%s:%d)", section, dot, rest, what,
			 own->place, place.line);
	} else {
		snprintf(repair, size,
			 kind == REPAIR_ADD ? "write %s%s%s into %s, with all of the list that it "
					      "has now and %s"
					    : "write %s%s%s into %s: %s",
			 section, dot, rest, own->place, what);
	}
}
