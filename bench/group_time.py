# SPDX-License-Identifier: Apache-2.0
"""Processor time of a process and of everything below it, by a control group of its own.

Cells are children of other processes, and end after their run: only a group counts all of it. This
needs control groups of version 1 and root; elsewhere the time is not known.
"""

import os


def hierarchy():
    """Where the groups of cpuacct are; None: not here."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            words = line.split()
            if words[2] == "cgroup" and "cpuacct" in words[3].split(","):
                return words[1]
    return None


class GroupTime:
    """A group that a worker enters before it starts."""

    def __init__(self, name):
        place = hierarchy()
        self.path = place and os.path.join(place, "brig-bench-%d-%s" % (os.getpid(), name))
        try:
            if self.path:
                os.mkdir(self.path)
        except OSError:
            self.path = None

    def enter(self):
        """Called in the child, before exec."""
        if self.path:
            with open(os.path.join(self.path, "tasks"), "w", encoding="ascii") as tasks:
                tasks.write("0")

    def used_ms(self):
        if not self.path:
            return None
        with open(os.path.join(self.path, "cpuacct.usage"), encoding="ascii") as usage:
            return int(usage.read()) / 1e6

    def remove(self):
        """Those of the worker's cells are gone by then, or are removed by the next brig."""
        for folder, _, _ in os.walk(self.path, topdown=False) if self.path else ():
            try:
                os.rmdir(folder)
            except OSError:
                pass
