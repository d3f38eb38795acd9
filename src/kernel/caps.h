/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up every capability, for good. */
#ifndef BRIG_KERNEL_CAPS_H
#define BRIG_KERNEL_CAPS_H

/*
 * Bounding, ambient, inheritable, permitted, effective: all empty; securebits locked. 0 or
 * -errno.
 */
int caps_drop_all(void);
/* Those that it has itself; needs none to do so. 0 or -errno. */
int caps_give_up(void);
/* All but those whose bits are set; the rest is gone for good. 0 or -errno. */
int caps_keep(unsigned long long bits);
#endif
