# SPDX-License-Identifier: Apache-2.0
# The guard's own limits: operations, and depth of calls.


def guard_counter(most):
    """Returns a function that counts, and one that reports whether there were too many."""
    left = most

    def tick():
        nonlocal left
        left -= 1
        if left < 0:
            raise GuardOperations("more than %d operations" % most)
        return True

    return tick, lambda: left < 0
