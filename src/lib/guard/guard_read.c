/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the report of the guard in a cell: see guard.h. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/guard/guard.h"
#include "lib/guard/guard_end.h"
#include "run/run.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* The rules by which data/guard can refuse code. */
static const char *const rules[] = {
	"import", "attribute", "name", "call", "syntax", "size", "risk"
};

/* One line, since some texts contain names from the code. `lines`: a list, one line each. */
static void copy(char *to, size_t size, const json_t *object, const char *key, bool lines)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(to, size, "%s", text ? text : "");
	/* A character that does not fit is removed whole. */
	size_t length = strlen(to);
	while (length > 0 && text && strlen(text) > length &&
	       ((unsigned char)to[length - 1] & 0x80)) {
		bool first = ((unsigned char)to[length - 1] & 0xc0) == 0xc0;
		to[--length] = '\0';
		if (first) {
			break;
		}
	}
	for (char *at = to; *at; at++) {
		bool control = (unsigned char)*at < ' ' || *at == 0x7f;
		if (control && !(lines && *at == '\n')) {
			*at = ' ';
		}
	}
}

static uint32_t number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 && value < INT32_MAX ? (uint32_t)value : 0;
}

static void take_risk(const json_t *risk, struct brig_result *result)
{
	if (!json_is_object(risk)) {
		return;
	}
	result->risk_known = true;
	result->risk = number(risk, "score") > 100 ? 100 : number(risk, "score");
	copy(result->risk_reasons, sizeof(result->risk_reasons), risk, "reasons", true);
}

static const char *known_rule(const json_t *why)
{
	const char *text = json_string_value(json_object_get(why, "rule"));

	for (size_t i = 0; text && i < ARRAY_SIZE(rules); i++) {
		if (strcmp(text, rules[i]) == 0) {
			return rules[i];
		}
	}
	return NULL;
}

void guard_note(struct brig_result *result)
{
	const struct brig_refusal *refusal = &result->refusal;

	events_note(result, &(struct event){ .kind = BRIG_EVENT_GUARD_REFUSED,
					     .subject = refusal->rule,
					     .subject_size = strlen(refusal->rule),
					     .reason = refusal->reason,
					     .at_ns = result->usage.wall_ns });
}

/* The code was refused, and has not run. */
static void reject(const char *rule, const json_t *why, struct brig_result *result)
{
	struct brig_refusal *refusal = &result->refusal;

	result->refused = true;
	refusal->line = number(why, "line");
	refusal->column = number(why, "column");
	snprintf(refusal->rule, sizeof(refusal->rule), "%s", rule);
	copy(refusal->reason, sizeof(refusal->reason), why, "reason", false);
	copy(result->remedy, sizeof(result->remedy), why, "remedy", false);
	copy(result->operator_remedy, sizeof(result->operator_remedy), why, "operator_remedy",
	     false);
	guard_note(result);
	result->status = BRIG_REJECTED;
	result->exit_code = -1;
	result->signal = 0;
	snprintf(result->cause, sizeof(result->cause), "%s",
		 strcmp(rule, "risk") == 0 ? "risk" : "guard");
}

/* The program ended, but the guard never allowed it to begin: the guard is broken. */
static void report_broken_guard(struct brig_result *result)
{
	if (result->status != BRIG_OK && result->status != BRIG_FAILED) {
		return;
	}
	result->status = BRIG_ERROR;
	result->exit_code = -1;
	snprintf(result->cause, sizeof(result->cause), "guard");
	snprintf(result->remedy, sizeof(result->remedy),
		 "The guard could not examine the code; the code was not run.");
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "The cause is in stderr; report this.");
}

static json_t *parse(const char *text, size_t size)
{
	return size ? json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

void guard_take_refused(const struct guard *guard, const char *text, size_t size,
			struct brig_result *result)
{
	json_t *record = parse(text, size);
	const json_t *why = json_object_get(record, "refusal");
	const char *rule = known_rule(why);

	take_risk(json_object_get(record, "risk"), result);
	if (rule) {
		reject(rule, why, result);
	} else if (!guard->check || why) {
		report_broken_guard(result);
	}
	json_decref(record);
}

void guard_take_stopped(const struct guard *guard, const char *text, size_t size,
			struct brig_result *result)
{
	json_t *record = parse(text, size);
	const char *end = json_string_value(json_object_get(record, "end"));

	take_risk(json_object_get(record, "risk"), result);
	if (end) {
		guard_end(guard, end, result);
	}
	json_decref(record);
}

/* The program ran: the risk is from before, and the program could write all the rest. */
static void read_end(const struct guard *guard, int fd, const char *before, size_t size,
		     struct brig_result *result)
{
	char text[GUARD_END_TEXT] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, RUN_GUARD_BYTES + RUN_VALUE_BYTES);
	json_t *record = parse(before, size);

	take_risk(json_object_get(record, "risk"), result);
	json_decref(record);
	if (n > 0) {
		guard_end(guard, text, result);
	}
}

void guard_read(const struct guard *guard, int fd, struct brig_result *result)
{
	char text[RUN_GUARD_BYTES];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
	bool refused = seals >= 0 && (seals & F_SEAL_SEAL) && (seals & F_SEAL_WRITE);
	bool runs = seals >= 0 && (seals & F_SEAL_SEAL) && (seals & F_SEAL_FUTURE_WRITE);

	if (n <= 0 || (!refused && !runs)) {
		report_broken_guard(result);
		return;
	}
	size_t size = strnlen(text, (size_t)n);
	if (!refused) {
		read_end(guard, fd, text, size, result);
		return;
	}
	guard_take_refused(guard, text, size, result);
	if (guard->check && result->status == BRIG_OK) {
		snprintf(result->cause, sizeof(result->cause), "checked");
	}
}
