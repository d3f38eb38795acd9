/* SPDX-License-Identifier: Apache-2.0 */
/* What runtimes say when a name is not resolved or an address has no route: see offline.h. */
#include "run/offline.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const complaints[] = {
	"Name or service not known",            /* getaddrinfo: EAI_NONAME */
	"Temporary failure in name resolution", /* EAI_AGAIN */
	"No address associated with hostname",  /* EAI_NODATA */
	"Network is unreachable",               /* ENETUNREACH; Go in lower case */
	"getaddrinfo ENOTFOUND",                /* node */
	"getaddrinfo EAI_AGAIN",
	"ENETUNREACH",
	"Could not resolve host",   /* curl, git */
	"unable to resolve host",   /* wget */
	"UnknownHostException",     /* Java */
	"failed to lookup address", /* Rust */
	"dial tcp: lookup ",        /* Go */
	"getaddrinfo for ",         /* PHP */
	"Bad hostname",             /* Perl */
};

static bool wanted_a_host(const char *words)
{
	for (size_t i = 0; i < ARRAY_SIZE(complaints); i++) {
		if (strcasestr(words, complaints[i])) {
			return true;
		}
	}
	return false;
}

void offline_remedy(const char *host, const char *words, struct brig_result *result)
{
	if (result->status != BRIG_FAILED || result->denied || (!host && !wanted_a_host(words))) {
		return;
	}
	snprintf(result->remedy, sizeof(result->remedy),
		 "The program asked for %.80s, and its cell has no network. Hand in what it needs "
		 "as files; or name the host, where the policy allows it: --net HOST:PORT "
		 "(network).",
		 host ? host : "a host");
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "Allow the host in network.allow of the policy.");
}
