# SPDX-License-Identifier: Apache-2.0
"""I5: numbers that the kernel assigns, which may reveal how many were assigned to others."""

import os
import socket
import tempfile
import time

child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
with tempfile.TemporaryFile(dir="/tmp") as file:
    made = os.fstat(file.fileno()).st_ino
print(f"pid={os.getpid()}")
print(f"child={child}")
print(f"sandbox={os.stat('.').st_ino if os.path.isdir('/sandbox') else 0}")
print(f"file={made}")
print(f"session={os.getsid(0)}")
print(f"uid={os.getuid()}")
print(f"boot={time.clock_gettime(time.CLOCK_BOOTTIME) > 3600}")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0))
print(f"interface={socket.if_nametoindex('lo')}")
