/* SPDX-License-Identifier: Apache-2.0 */
/* DNS queries, as any program in a cell can send them: the answers, and their receivers. */
#include <stdlib.h>
#include <string.h>

#include "gate/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* No report is sent; but its name would be text. */
void report_connection(struct gate *gate, const struct gate_connection *record)
{
	char name[NET_NAME_MAX + 1];

	(void)gate;
	if (!net_name_normal(record->host, strlen(record->host), name)) {
		abort();
	}
}

void report_refused(struct gate *gate)
{
	(void)gate;
}

void report_spent(struct gate *gate)
{
	(void)gate;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gate gate;
	uint8_t out[512];
	size_t room = size && data[0] & 1 ? sizeof(out) : 64;
	struct dns_question question;

	if (gate.rules_count == 0) {
		net_rule_parse("*.a.test:80", &gate.rules[0], NULL);
		net_rule_parse("b.test:80", &gate.rules[1], NULL);
		gate.rules_count = 2;
	}
	size_t answer = gate_answer_query(&gate, data, size, out, room);
	if (answer > room) {
		abort();
	}
	/* Only a name in a rule gets an address. */
	if (answer >= 8 && out[7] && dns_question_parse(data, size, &question) == 0 &&
	    strcmp(question.name, "b.test") != 0 && !net_name_is_below(question.name, "a.test")) {
		abort();
	}
	return 0;
}
