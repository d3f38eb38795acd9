/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that a program without a network tried to resolve. The cell's kernel refuses each query by
 * ICMP, and a raw socket keeps the first of these refusals (step_names). The names are read from
 * them here, at the end of a run. The program controls these bytes, so they never end a run.
 */
#include <linux/icmp.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "native/native_internal.h"
#include "net/dns_question.h"
#include "net/rule.h"

#define REFUSAL_BYTES 1024 /* the kernel's own are 576 */
#define REFUSALS_MAX  64   /* more than the socket holds */
#define MEMINFO_COUNT 9    /* of SO_MEMINFO; the last is the number of drops: linux/sock_diag.h */

static const char no_network[] = "this run has no network: name the host with --net, or in "
				 "network.allow of the policy";

/* The payload after an IP header at the start of `data`; NULL: none. */
static const uint8_t *ip_payload(const uint8_t *data, size_t size, uint8_t protocol,
				 size_t *ret_size)
{
	size_t head = size < sizeof(struct iphdr) ? 0 : (data[0] & 0x0fu) * 4u;

	if (head < sizeof(struct iphdr) || head > size ||
	    data[offsetof(struct iphdr, protocol)] != protocol) {
		return NULL;
	}
	*ret_size = size - head;
	return data + head;
}

/* IP, ICMP, and the refused packet: IP, UDP to the DNS port, and the question. */
static bool read_refusal(const uint8_t *data, size_t size, struct dns_question *ret)
{
	const uint8_t *at = ip_payload(data, size, IPPROTO_ICMP, &size);

	if (!at || size < sizeof(struct icmphdr)) {
		return false;
	}
	size -= sizeof(struct icmphdr);
	at = ip_payload(at + sizeof(struct icmphdr), size, IPPROTO_UDP, &size);
	if (!at || size < sizeof(struct udphdr) ||
	    dns_get16(at + offsetof(struct udphdr, dest)) != NET_DNS_PORT) {
		return false;
	}
	return dns_question_parse(at + sizeof(struct udphdr), size - sizeof(struct udphdr), ret) ==
	       0;
}

static void names_note_one(struct run *run, const struct dns_question *question, uint64_t at_ns)
{
	const char *name = question->name[0] ? question->name : "(not a host's name)";

	events_note(run->result, &(struct event){ .kind = BRIG_EVENT_CONNECTION_REFUSED,
						  .subject = name,
						  .subject_size = strlen(name),
						  .reason = no_network,
						  .at_ns = at_ns });
}

/* Counts queries for which the socket had no room. */
static void names_note_rest(struct run *run)
{
	struct native_cell *native = native_of(run);
	uint32_t info[MEMINFO_COUNT] = { 0 };
	socklen_t size = sizeof(info);

	if (getsockopt(native->names.fd, SOL_SOCKET, SO_MEMINFO, info, &size) < 0) {
		return;
	}
	uint32_t more = info[MEMINFO_COUNT - 1] - native->names.dropped;
	native->names.dropped += more;
	if (more) {
		events_note_unnamed(run->result, BRIG_EVENT_CONNECTION_REFUSED, more);
	}
}

void native_names_note(struct run *run)
{
	struct native_cell *native = native_of(run);
	uint8_t data[REFUSAL_BYTES];
	struct dns_question question;
	int i = 0;

	for (; native->names.fd >= 0 && i < REFUSALS_MAX; i++) {
		ssize_t n = recv(native->names.fd, data, sizeof(data), MSG_DONTWAIT);
		if (n < 0) {
			break;
		}
		if (read_refusal(data, (size_t)n, &question)) {
			names_note_one(run, &question, run->facts.wall_ns);
		}
	}
	if (i > 0) {
		names_note_rest(run);
	}
}

const char *native_names_first(const struct brig_result *result)
{
	for (size_t i = 0; i < result->events_count && !result->networked; i++) {
		if (result->events[i].kind == BRIG_EVENT_CONNECTION_REFUSED) {
			return result->events[i].subject;
		}
	}
	return NULL;
}
