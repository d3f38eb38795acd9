/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the service manager how things stand, as sd_notify(3) does. Without one: nothing. */
#ifndef BRIG_SERVE_NOTIFY_H
#define BRIG_SERVE_NOTIFY_H

#include <stdint.h>

/* Lines of NAME=VALUE. */
void notify_send(const char *text);
/* How often WATCHDOG=1 is due at the least; 0: nobody waits for it. */
uint64_t notify_watchdog_ns(void);
#endif
