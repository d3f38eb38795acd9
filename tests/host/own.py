# SPDX-License-Identifier: Apache-2.0
"""The part of the host's tables that belongs to these tests: a busy neighbour must
never fail one."""

import ctypes
import os
import pathlib
import re
import time

CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE, MS_SHARED = 0x4000, 1 << 18, 1 << 20
FIRST_PID_NS = 0xEFFFFFFC  # PROC_PID_INIT_INO
PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None, use_errno=True)
_apart = []


def _call(name, *words):
    if getattr(_libc, name)(*words) < 0:
        raise OSError(ctypes.get_errno(), name)


def own_mounts(place):
    """The mount table, as far as these tests can have changed it.

    Root gets a mount namespace of its own at the first call: mounts of others stay out of it. Its
    mounts are shared, as on a host with systemd, so that a cell whose mounts propagate would be
    detected. An ordinary user can mount nothing here; only the directory of the test counts.
    """
    if os.geteuid() == 0 and not _apart:
        _call("unshare", CLONE_NEWNS)
        _call("mount", None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
        _call("mount", None, b"/", None, ctypes.c_ulong(MS_REC | MS_SHARED), None)
        _apart.append(os.readlink("/proc/self/ns/mnt"))
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return lines if os.geteuid() == 0 else [line for line in lines if str(place) in line]


def adopt_orphans(yes=True):
    """Processes that outlive their parents become children of ours: they differ from those of
    others."""
    _call("prctl", PR_SET_CHILD_SUBREAPER, int(yes), 0, 0, 0)


def own_processes():
    """Living descendants of this process."""
    below = {}
    for entry in os.scandir("/proc"):
        try:
            stat = pathlib.Path(entry.path, "stat").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        state, parent, *_ = stat.rpartition(b")")[2].split() or (b"Z", 0)
        if state not in (b"Z", b"X"):
            below.setdefault(int(parent), []).append(int(entry.name))
    found, queue = [], [os.getpid()]
    while queue:
        children = below.get(queue.pop(), [])
        found += children
        queue += children
    return found


def stale_group(path):
    """Whether it is a control group of a brig that has ended: the name holds the owner's pid, and
    its pid namespace unless that is the first. Those of other namespaces cannot be judged here."""
    match = re.match(r"brig-(\d+)-[^:]*(?::(\d+))?$", os.path.basename(path))
    if not match or (int(match[2]) if match[2] else FIRST_PID_NS) != os.stat("/proc/self/ns/pid").st_ino:
        return False
    return not os.path.exists(f"/proc/{match[1]}")


def lasting(seconds, look, between=lambda: time.sleep(0.02)):
    """Members that stay in a set for this long; others belong to other tests, or end."""
    deadline = time.monotonic() + seconds
    left = set(look())
    while left and time.monotonic() < deadline:
        between()
        left &= set(look())
    return left
