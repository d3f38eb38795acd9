# SPDX-License-Identifier: Apache-2.0
"""G5: misleading result files; a daemon continues to change them."""

import os
import socket

os.chdir("/sandbox/out" if os.path.isdir("/sandbox/out") else ".")
os.symlink("/etc/passwd", "link")
os.symlink("/proc/self/environ", "environ")
os.symlink("/proc/1/root/etc/shadow", "shadow")
os.symlink(".", "loop")
os.symlink("/", "root")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
with open("true", "w") as file:
    file.write("content")
with open("hole", "wb") as file:
    file.truncate(32 << 20)
with open("unreadable", "w") as file:
    file.write("private")
os.chmod("unreadable", 0)
os.mkdir("closed")
with open("closed/inner", "w") as file:
    file.write("inner")
os.chmod("closed", 0)
# "swapped" is alternately a file and a link to the host's, ten thousand times a second, until the
# kill.
if os.fork() == 0:
    os.setsid()
    while True:
        with open("swapped.tmp", "w") as file:
            file.write("content")
        os.rename("swapped.tmp", "swapped")
        with open("growing", "ab") as file:
            file.write(bytes(4096))
        os.symlink("/etc/passwd", "swapped.tmp")
        os.rename("swapped.tmp", "swapped")
