/* SPDX-License-Identifier: Apache-2.0 */
/* Methods: see method.h. */
#include "http/message/method.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

const char method_allow[] = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

static const struct {
	const char *name;
	bool taken;
} methods[] = {
	{ "GET", true },     { "HEAD", true },     { "POST", true },
	{ "PUT", true },     { "PATCH", true },    { "DELETE", true },
	{ "OPTIONS", true }, { "CONNECT", false }, { "TRACE", false },
};

int method_read(const char *text, size_t size, const char **ret, const char **why)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (strlen(methods[i].name) != size || memcmp(methods[i].name, text, size) != 0) {
			continue;
		}
		if (!methods[i].taken) {
			*why = "the method is not allowed";
			return 405;
		}
		*ret = methods[i].name;
		return 0;
	}
	*why = "the method is not known";
	return 501;
}
