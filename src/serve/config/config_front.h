/* SPDX-License-Identifier: Apache-2.0 */
/* The front's bounds in the configuration and in its options, both ways. */
#ifndef BRIG_SERVE_CONFIG_FRONT_H
#define BRIG_SERVE_CONFIG_FRONT_H

#include "front/front.h"
#include "serve/config.h"

void config_to_front(const struct serve_config *config, struct front_options *ret);
/* The defaults, for bounds that were not set. */
void config_of_front(const struct front_options *options, struct serve_config *ret);
#endif
