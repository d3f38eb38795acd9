/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a service manager: for any input, lengths and texts stay within their bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/cgroup/dbus.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

/* Our own messages are valid, of the size in their head. */
static void check_own(const char *text)
{
	struct dbus_message message;
	struct buf body = { 0 }, out = { 0 };
	struct dbus_call call = { "a.b", "/a", "a.b", "C", "s", &body };

	dbus_put_string(&body, text);
	dbus_message_build(&out, &call, 7);
	require(!out.failed && dbus_message_size((const uint8_t *)out.data) == out.size);
	require(dbus_message_parse((const uint8_t *)out.data, out.size, &message));
	require(message.type == 1);
	buf_done(&body);
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dbus_message message;
	struct dbus_address address;

	if (size >= DBUS_HEADER_SIZE) {
		size_t whole = dbus_message_size(data);
		require(whole <= DBUS_MESSAGE_MAX);
		require(whole == 0 || whole >= DBUS_HEADER_SIZE);
		if (whole > 0 && whole <= size && dbus_message_parse(data, whole, &message)) {
			require(strnlen(message.text, sizeof(message.text)) < sizeof(message.text));
			require(strnlen(message.error_name, sizeof(message.error_name)) <
				sizeof(message.error_name));
		}
	}
	char *text = strndup((const char *)data, size < 4096 ? size : 4096);
	require(text != NULL);
	check_own(text);
	if (dbus_address_parse(text, &address) == 0) {
		require(address.size <= sizeof(address.socket));
	}
	free(text);
	return 0;
}
