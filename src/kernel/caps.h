/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up capabilities permanently. */
#ifndef BRIG_KERNEL_CAPS_H
#define BRIG_KERNEL_CAPS_H

/*
 * Bounding, ambient, inheritable, permitted, effective: all empty; securebits locked. 0 or
 * -errno.
 */
int caps_drop_all(void);
/* Drops the process's own capabilities; needs none to do so. 0 or -errno. */
int caps_give_up(void);
/* Drops all but those whose bits are set, permanently. 0 or -errno. */
int caps_keep(unsigned long long bits);
#endif
