/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 3339: see timestamp.h. */
#include "ledger/store/timestamp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *timestamp_format(uint64_t time_ms, char text[TIMESTAMP_SIZE])
{
	time_t seconds = (time_t)(time_ms / 1000);
	struct tm parts;

	/* No time zone is used: that would read files. */
	if (!gmtime_r(&seconds, &parts) || parts.tm_year > 9999 - 1900) {
		(void)snprintf(text, TIMESTAMP_SIZE, "9999-12-31T23:59:59.999Z");
		return text;
	}
	(void)snprintf(text, TIMESTAMP_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ",
		       parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
		       parts.tm_min, parts.tm_sec, (unsigned)(time_ms % 1000));
	return text;
}

int timestamp_parse(const char *text, uint64_t *ret_ms)
{
	struct tm parts = { 0 };
	uint64_t ms = 0, scale = 100;
	const char *rest = strptime(text, "%Y-%m-%d", &parts);

	if (rest && *rest == 'T') {
		rest = strptime(rest + 1, "%H:%M:%S", &parts);
		if (rest && *rest == '.') {
			for (rest++; *rest >= '0' && *rest <= '9'; rest++, scale /= 10) {
				ms += scale * (uint64_t)(*rest - '0');
			}
		}
		if (!rest || strcmp(rest, "Z") != 0) {
			return -EINVAL;
		}
		rest++;
	}
	if (!rest || *rest || parts.tm_year < 70 || parts.tm_year > 9999 - 1900) {
		return -EINVAL;
	}
	*ret_ms = (uint64_t)timegm(&parts) * 1000 + ms;
	return 0;
}

uint64_t timestamp_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
