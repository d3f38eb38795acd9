# SPDX-License-Identifier: Apache-2.0
"""I3 L5: lists every place where programs leave files; with an argument leaves something there."""

import os
import sys

PLACES = ["/tmp", "/var/tmp", "/run/lock", "/run/user", "/dev/shm", "/dev/mqueue", "/sandbox/out",
          "/var/lib", "/var/cache", os.environ.get("HOME", "/"), "/root", "/home"]
for place in PLACES:
    try:
        print(f"{place}=" + ",".join(sorted(os.listdir(place))))
    except OSError as error:
        print(f"{place}=" + type(error).__name__)
    if len(sys.argv) > 1:
        try:
            with open(f"{place}/{sys.argv[1]}", "w") as file:
                file.write("left behind")
            print(f"left:{place}=OK")
        except OSError as error:
            print(f"left:{place}={error.errno}")
# Files of our own id, anywhere: an earlier tenant may have had the same.
mine = []
for top, dirs, files in os.walk("/"):
    dirs[:] = [] if top in ("/proc", "/sys", "/usr", "/lib") else dirs
    for name in files:
        try:
            if os.lstat(f"{top}/{name}").st_uid == os.getuid():
                mine.append(f"{top}/{name}")
        except OSError:
            pass
print("mine=" + ",".join(mine[:20]))
