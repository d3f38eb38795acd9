/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's stream and the report over one serial port. */
#ifndef BRIG_VM_INIT_SERIAL_H
#define BRIG_VM_INIT_SERIAL_H

#include <sys/types.h>

#define SERIAL_PORT "ttyS0"

/*
 * Starts a process that passes both on over the port (vm_line/line.h), and ends when their last
 * copies are closed and the host has everything. 0 or -errno.
 */
int serial_start(int port, int *ret_stream, int *ret_report, pid_t *ret_pid);
#endif
