# SPDX-License-Identifier: Apache-2.0
"""P2: which files below the arguments open for writing; nothing is written."""
import os
import sys

found, seen = [], 0
for top in sys.argv[1:]:
    for place, below, files in os.walk(top):
        if place == "/proc":  # one process is enough
            below[:] = [name for name in below if not name.isdigit()]
        for name in files:
            path = os.path.join(place, name)
            if os.path.islink(path):
                continue
            seen += 1
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                found.append(path)
            except OSError:
                pass
own = f"/proc/{os.getpid()}/"
for task in ("", f"task/{os.getpid()}/"):
    for name in sorted(os.listdir(own + task)):
        path = own + task + name
        if not os.path.isfile(path) or os.path.islink(path):
            continue
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
            found.append("/proc/self/" + task.replace(str(os.getpid()), "TID") + name)
        except OSError:
            pass
print("seen=" + str(seen))
print("writable=" + " ".join(sorted(found)))
