/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the plan that builds the cell's file system. */
#ifndef BRIG_NATIVE_PLAN_PLAN_ROOTFS_H
#define BRIG_NATIVE_PLAN_PLAN_ROOTFS_H

#include "native/plan/plan.h"

struct step *plan_add(struct plan *plan, enum step_kind kind);
/* Makes a text in the plan's arena. */
const char *plan_text(struct plan *plan, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void plan_rootfs(struct plan *plan);
#endif
