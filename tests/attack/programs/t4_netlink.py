# SPDX-License-Identifier: Apache-2.0
"""T4: the kernel's information about networks and devices."""

import errno
import socket

for name, protocol in [("route", 0), ("uevent", 15), ("audit", 9), ("netfilter", 12), ("diag", 4), ("xfrm", 6),
                       ("connector", 11), ("generic", 16)]:
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
        print(f"{name}=OK")
    except OSError as error:
        print(f"{name}={errno.errorcode[error.errno]}")


def dump(kind):
    """The number of responses to a netlink dump request."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        body = bytes(16)
        head = (16 + len(body)).to_bytes(4, "little") + kind.to_bytes(2, "little")
        head += (0x301).to_bytes(2, "little") + (1).to_bytes(4, "little") + bytes(4)
        s.send(head + body)
        count = 0
        while True:
            data = s.recv(65536)
            while data:
                length = int.from_bytes(data[:4], "little")
                if int.from_bytes(data[4:6], "little") in (2, 3):
                    return count
                count += 1
                data = data[(length + 3) & ~3:]


try:
    print("interfaces=" + " ".join(name for _, name in socket.if_nameindex()))
except OSError as error:
    print(f"interfaces={errno.errorcode[error.errno]}")
    raise SystemExit from None
print(f"links={dump(18)}")
print(f"neighbours={dump(30)}")
