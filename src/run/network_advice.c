/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error texts of runtimes for a name that is not resolved or an address without a route: see
 * network_advice.h.
 */
#include "run/network_advice.h"

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

static bool shows_network_failure(const char *output)
{
	for (size_t i = 0; i < ARRAY_SIZE(complaints); i++) {
		if (strcasestr(output, complaints[i])) {
			return true;
		}
	}
	return false;
}

void network_advice(const char *host, const char *output, struct brig_result *result)
{
	if (result->status != BRIG_FAILED || result->denied ||
	    (!host && !shows_network_failure(output))) {
		return;
	}
	snprintf(result->remedy, sizeof(result->remedy),
		 "The program tried to reach %.80s, but its cell has no network. Pass the data as "
		 "files; or name the host, where the policy allows it: --net HOST:PORT (network).",
		 host ? host : "a host");
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "Allow the host in network.allow of the policy.");
}
