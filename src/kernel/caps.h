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
#endif
