/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a guarded program: see guard_end.h. */
#include "lib/guard/guard_end.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define LINE_MAX_DIGITS 7

struct end {
	const char *rule;
	enum guard_mode least; /* the loosest mode that has the rule */
	size_t limit;          /* in struct guard; 0: the rule is no limit */
	bool ends;             /* the guard itself ended the program */
	const char *reason, *remedy, *operator_remedy;
};

#define NAMED "The guard refused it while the program ran; stderr names it. "

static const struct end ends[] = {
	{ "import", GUARD_IMPORTS, 0, false, "a module that is not allowed was imported",
	  NAMED "Do without that module.",
	  "guard.allowed_modules of the policy lists what may be imported." },
	{ "attribute", GUARD_STRICT, 0, false, "an attribute that is not allowed was used",
	  NAMED "Use what is public.", "Only guard \"imports\" or \"off\" have all attributes." },
	{ "call", GUARD_STRICT, 0, false, "a call that is not allowed was made",
	  NAMED "Do without that call.", "Only guard \"imports\" or \"off\" have all calls." },
	{ "name", GUARD_STRICT, 0, false, "a name that is not allowed was used", NAMED, "" },
	{ "syntax", GUARD_STRICT, 0, false, "syntax that is not allowed was used", NAMED, "" },
	{ "size", GUARD_IMPORTS, 0, false, "the code is too large to be checked", NAMED, "" },
	{ "operations", GUARD_IMPORTS, offsetof(struct guard, operations), true,
	  "too many loop turns, calls and elements",
	  "The program took too many steps. Look for endless loops; use a better algorithm, or "
	  "less data.",
	  "Raise guard.operations of the policy." },
	{ "recursion", GUARD_IMPORTS, offsetof(struct guard, recursion), false,
	  "calls nested too deeply",
	  "The program called itself too deeply. Check the end of the recursion, or use a loop.",
	  "Raise guard.recursion of the policy." },
};

static uint64_t guard_limit_value(const struct guard *guard, const struct end *end)
{
	return *(const uint64_t *)(const void *)((const char *)guard + end->limit);
}

/* The row whose rule `text` begins with, if this guard has it; `*ret` is the text after it. */
static const struct end *find(const struct guard *guard, const char *text, const char **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		size_t length = strlen(ends[i].rule);

		if (strncmp(text, ends[i].rule, length) != 0 || text[length] != ' ') {
			continue;
		}
		*ret = text + length + 1;
		bool has = guard->mode >= ends[i].least &&
			   (!ends[i].limit || guard_limit_value(guard, &ends[i]));
		return has ? &ends[i] : NULL;
	}
	return NULL;
}

static uint32_t line_of(const char *digits)
{
	uint32_t line = 0;

	for (int i = 0; i < LINE_MAX_DIGITS && digits[i] >= '0' && digits[i] <= '9'; i++) {
		line = line * 10 + (uint32_t)(digits[i] - '0');
	}
	return line;
}

void guard_end(const struct guard *guard, const char *text, struct brig_result *result)
{
	const char *digits;
	const struct end *end = result->status == BRIG_FAILED ? find(guard, text, &digits) : NULL;

	if (!end) {
		return;
	}
	result->refused = true;
	result->refusal.line = line_of(digits);
	snprintf(result->refusal.rule, sizeof(result->refusal.rule), "%s", end->rule);
	snprintf(result->refusal.reason, sizeof(result->refusal.reason), "%s", end->reason);
	snprintf(result->remedy, sizeof(result->remedy), "%s", end->remedy);
	snprintf(result->operator_remedy, sizeof(result->operator_remedy), "%s",
		 end->operator_remedy);
	guard_note(result);
	snprintf(result->cause, sizeof(result->cause), "%s", end->limit ? end->rule : "guard");
	if (end->limit) {
		snprintf(result->limit_name, sizeof(result->limit_name), "%s", end->rule);
		result->limit = result->peak = guard_limit_value(guard, end);
	}
	if (end->ends) {
		result->status = BRIG_DENIED;
		result->exit_code = -1;
	}
}
