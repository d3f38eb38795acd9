# SPDX-License-Identifier: Apache-2.0
# Attacks a directory of the host that is writable: a device node by renameat2(RENAME_WHITEOUT).
import ctypes
import os
import sys

NOREPLACE, EXCHANGE, WHITEOUT, UNKNOWN = 1, 2, 4, 8
AT_FDCWD = -100
libc = ctypes.CDLL(None, use_errno=True)


def rename(old, new, flags):
    done = libc.renameat2(AT_FDCWD, old.encode(), AT_FDCWD, new.encode(), flags) == 0
    return "OK" if done else os.strerror(ctypes.get_errno())


for place in sys.argv[1:] or ["/sandbox", "/tmp", "/dev/shm"]:
    os.chdir(place)
    for name in ("a", "b"):
        with open(name, "w", encoding="ascii"):
            pass
    print(f"whiteout {place}=" + rename("a", "moved", WHITEOUT))
    print(f"both {place}=" + rename("b", "moved too", WHITEOUT | NOREPLACE))
    print(f"unknown {place}=" + rename("a", "moved", UNKNOWN))
    print(f"exchange {place}=" + rename("a", "b", EXCHANGE))
    print(f"plain {place}=" + rename("a", "c", NOREPLACE))
    kinds = [os.lstat(name).st_mode & 0o170000 for name in os.listdir()]
    print(f"nodes {place}={kinds.count(0o020000)}", flush=True)
