# SPDX-License-Identifier: Apache-2.0
"""T5: sockets that receive or make packets, or connect to the machine around the host."""

import errno
import socket

KINDS = {
    "raw": (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    "raw6": (socket.AF_INET6, socket.SOCK_RAW, 58),
    "ping": (socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP),
    "packet": (17, socket.SOCK_RAW, 0x0300),
    "packet_dgram": (17, socket.SOCK_DGRAM, 0x0300),
    "vsock": (40, socket.SOCK_STREAM, 0),
    "sctp": (socket.AF_INET, socket.SOCK_STREAM, 132),
    "mptcp": (socket.AF_INET, socket.SOCK_STREAM, 262),
    "tcp": (socket.AF_INET, socket.SOCK_STREAM, 0),
}
for name, words in KINDS.items():
    try:
        socket.socket(*words).close()
        print(f"{name}=OK")
    except OSError as error:
        print(f"{name}={errno.errorcode[error.errno]}")
