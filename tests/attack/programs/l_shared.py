# SPDX-License-Identifier: Apache-2.0
"""L1 L2: state of a file that all cells see. usage: l_shared.py hold|look FILE SECONDS [MEET]

hold takes every lock it can and watches the file; look tries the locks and opens the file. They
meet by files in a directory: /mnt/meet in cells.
"""

import ctypes
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import time

role, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
meet = sys.argv[4] if len(sys.argv) > 4 else "/mnt/meet"
libc = ctypes.CDLL(None, use_errno=True)
OFD_GETLK, OFD_SETLK = 36, 37


def tried(name, call):
    try:
        call()
        print(f"{name}=OK")
    except OSError as error:
        print(f"{name}={errno.errorcode[error.errno]}")


def lock(kind):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, 0, 0, 0)


def wait_for(name):
    end = time.monotonic() + seconds
    while not os.path.exists(f"{meet}/{name}"):
        if time.monotonic() > end:
            print(f"{name}=never")
            sys.exit(98)
        time.sleep(0.005)


def fanotify():
    if libc.fanotify_init(0, 0) < 0:
        raise OSError(ctypes.get_errno(), "fanotify")


signal.signal(signal.SIGIO, signal.SIG_IGN)  # signals of leases and dnotify
fd = os.open(path, os.O_RDONLY)
if role == "hold":
    watch = libc.inotify_init1(os.O_NONBLOCK)
    libc.inotify_add_watch(watch, path.encode(), 0xFFF)
    libc.inotify_add_watch(watch, os.path.dirname(path).encode(), 0xFFF)
    tried("flock", lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))
    tried("ofd", lambda: fcntl.fcntl(fd, OFD_SETLK, lock(fcntl.F_RDLCK)))
    tried("lease", lambda: fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE,
                                       fcntl.F_RDLCK))
    tried("dnotify", lambda: fcntl.fcntl(os.open(os.path.dirname(path), os.O_RDONLY),
                                         fcntl.F_NOTIFY, 1))
    tried("fanotify", fanotify)
    try:
        os.read(watch, 65536)
    except BlockingIOError:
        pass
    open(f"{meet}/held", "w").close()
    wait_for("looked")
    seen = bool(select.select([watch], [], [], 0.2)[0])
    print(f"events={'seen' if seen else 'none'}")
else:
    wait_for("held")
    tried("flock", lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))
    answer = struct.unpack("hhqqi4x", fcntl.fcntl(fd, OFD_GETLK, lock(fcntl.F_WRLCK)))
    print(f"ofd={'free' if answer[0] == fcntl.F_UNLCK else 'held'}")
    with open(path, "rb") as file:
        file.read(100)
    open(f"{meet}/looked", "w").close()
