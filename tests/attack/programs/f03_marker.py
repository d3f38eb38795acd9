# SPDX-License-Identifier: Apache-2.0
"""F3: leaves a marker in every directory below the argument; reports which were writable and which
had one."""
import os
import sys

top = sys.argv[1] if len(sys.argv) > 1 else "/"
writable, found = [], []
for place, below, files in os.walk(top):
    if place == "/proc":
        below.clear()
        continue
    if "brig-marker" in files:
        found.append(place)
    try:
        with open(os.path.join(place, "brig-marker"), "w") as marker:
            marker.write("x")
        writable.append(place)
    except OSError:
        pass
print("writable=" + " ".join(sorted(writable)))
print("found=" + " ".join(sorted(found)))
