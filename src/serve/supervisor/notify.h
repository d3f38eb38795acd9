/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state to the service manager, as sd_notify(3) does. Does nothing without one. */
#ifndef BRIG_SERVE_NOTIFY_H
#define BRIG_SERVE_NOTIFY_H

#include <stdint.h>

/* Lines of NAME=VALUE. */
void notify_send(const char *text);
/* The longest interval between two WATCHDOG=1; 0: not expected. */
uint64_t notify_watchdog_ns(void);
#endif
