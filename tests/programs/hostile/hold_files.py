# SPDX-License-Identifier: Apache-2.0
# Attacks the warden, which reads the directory of a session's files: a process holds the lock of a
# file in long writes, and gets next to no processor for them; another one holds that of the
# directory, and waits for the file's. They outlive the run.
# usage: hold_files.py [SECONDS [BURNERS]]
import contextlib
import os
import sys
import time

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
burners = int(sys.argv[2]) if len(sys.argv) > 2 else 40
end = time.monotonic() + seconds
core = {max(os.sched_getaffinity(0))}
data = bytes(32 << 20)
with open("x", "wb") as file:
    file.write(data)


def burn():
    os.sched_setaffinity(0, core)
    while time.monotonic() < end:
        pass


def write():
    file = os.open("x", os.O_RDWR)
    os.sched_setaffinity(0, core)
    with contextlib.suppress(OSError):  # which the policy refuses
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.nice(19)
    while time.monotonic() < end:
        os.pwrite(file, data, 0)


def link():
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            os.link("x", "y")
        with contextlib.suppress(OSError):
            os.unlink("y")


for work in [burn] * burners + [write, link]:
    if os.fork() == 0:
        work()
        os._exit(0)
time.sleep(0.5)  # for all to begin
