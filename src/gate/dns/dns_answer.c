/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DNS for the cell. No query of the cell goes out: a name that a rule allows gets a made-up
 * address, by which the gate recognizes it later; all other names do not exist.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "gate/gate.h"

/* 512 is the size that every resolver accepts; there is never more than one address. */
#define ANSWER_MAX 512

static void report_unknown_name(struct gate *gate, const char *name)
{
	struct gate_connection record = { .kind = GATE_CONNECTION, .verdict = GATE_REFUSED_NAME };

	uint64_t now = clock_now_ns();
	unsigned i = 0;

	while (i < gate->unknown_names_count && strcmp(gate->unknown_names[i], name) != 0) {
		i++;
	}
	if (i == GATE_UNKNOWN_NAMES_MAX) {
		report_refused(gate);
		return;
	}
	if (i < gate->unknown_names_count &&
	    now - gate->unknown_names_ns[i] < GATE_UNKNOWN_NAME_NS) {
		return;
	}
	gate->unknown_names_count += i == gate->unknown_names_count;
	gate->unknown_names_ns[i] = now;
	memcpy(gate->unknown_names[i], name, strlen(name) + 1);
	memcpy(record.host, name, strlen(name) + 1);
	report_connection(gate, &record);
}

size_t gate_answer_query(struct gate *gate, const uint8_t *query, size_t size, uint8_t *out,
			 size_t room)
{
	struct dns_question question;
	struct net_address address;
	bool known = false;
	int r = dns_question_parse(query, size, &question);

	if (r == -EINVAL) {
		return 0;
	}
	if (r < 0) {
		question.end = 12;
		return dns_answer_make(query, &question, DNS_FORMAT, NULL, out, room);
	}
	if (question.name[0]) {
		gate_rule_for_name(gate, question.name, 0, &known);
	}
	if (!known) {
		if (question.name[0]) {
			report_unknown_name(gate, question.name);
		}
		return dns_answer_make(query, &question, DNS_NO_NAME, NULL, out, room);
	}
	if (question.type != DNS_A) {
		return dns_answer_make(query, &question, DNS_FINE, NULL, out, room);
	}
	r = name_table_assign(&gate->names, question.name, &address);
	return dns_answer_make(query, &question, r < 0 ? DNS_FAILED : DNS_FINE,
			       r < 0 ? NULL : &address, out, room);
}

void gate_on_datagram(void *user, uint32_t events)
{
	struct gate_listener *listener = user;
	uint8_t query[ANSWER_MAX], out[ANSWER_MAX];

	(void)events;
	for (int i = 0; i < 16; i++) {
		struct sockaddr_storage from;
		socklen_t length = sizeof(from);
		ssize_t n = recvfrom(listener->fd, query, sizeof(query), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &length);
		if (n < 0) {
			return;
		}
		if (!gate_charge(listener->gate, (size_t)n)) {
			return;
		}
		size_t size = gate_answer_query(listener->gate, query, (size_t)n, out, sizeof(out));
		if (size && gate_charge(listener->gate, size)) {
			(void)sendto(listener->fd, out, size, MSG_DONTWAIT | MSG_NOSIGNAL,
				     (struct sockaddr *)&from, length);
		}
	}
}
