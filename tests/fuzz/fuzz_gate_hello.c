/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of TLS: more bytes never change a name that was found. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "gate/tls/client_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[NET_NAME_MAX + 1] = "", again[NET_NAME_MAX + 1] = "";
	size_t used = 0, used_again = 0;
	int whole = client_hello_parse(data, size, name, &used);

	for (size_t cut = 0; cut < size && size < 400; cut++) {
		int r = client_hello_parse(data, cut, again, &used_again);
		if (r != -EAGAIN && r != whole) {
			abort();
		}
		if (r == 0 && (strcmp(name, again) != 0 || used != used_again || used > cut)) {
			abort();
		}
	}
	if (whole == 0 && name[0] && !net_name_normal(name, strlen(name), again)) {
		abort();
	}
	return 0;
}
