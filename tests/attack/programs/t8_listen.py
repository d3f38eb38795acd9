# SPDX-License-Identifier: Apache-2.0
"""T8: listens on every address, TCP and UDP. usage: t8_listen.py PORT SECONDS"""

import os
import select
import socket
import sys
import time

port, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
tcp = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("0.0.0.0", port))
name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
name.bind(f"\0brig-t8-{port}")
name.listen()
print("listening=yes", flush=True)
# For the waiting test outside; a cell has this directory only if it was mounted.
for place in ("/mnt/meet", os.environ.get("MEET", "/mnt/meet")):
    if os.path.isdir(place):
        open(f"{place}/up", "w").close()
visits = 0
while (left := end - time.monotonic()) > 0:
    visits += len(select.select([tcp, udp, name], [], [], left)[0])
    if visits:
        time.sleep(0.2)  # so that the client can finish
        break
print(f"visits={visits}")
