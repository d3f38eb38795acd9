/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker of the warm service: does one `brig run` after the other, each as the process of a cold
 * one would, with the client's words, environment, directory, streams and umask. Only the
 * library's context stays, with its pools.
 */
#ifndef BRIG_CLI_WARM_WARM_WORKER_H
#define BRIG_CLI_WARM_WARM_WORKER_H

#include <sys/types.h>

/* In a new process. `channel` brings requests; it ends with it, or with the process `service`. */
_Noreturn void warm_worker_main(int channel, pid_t service);
#endif
