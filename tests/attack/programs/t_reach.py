# SPDX-License-Identifier: Apache-2.0
"""T1 T2 T3 T6 T7: tries to reach targets. usage: t_reach.py KIND:TARGET...

tcp:ADDRESS:PORT and udp:ADDRESS:PORT (one datagram), route:ADDRESS (connects a UDP socket: a lookup
in the routing table, no packet), abstract:NAME, path:NAME, name:HOST (resolves it).
"""

import errno
import socket
import sys


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def tcp(target):
    address, port = target.rsplit(":", 1)
    with socket.socket(family(address), socket.SOCK_STREAM) as s:
        s.settimeout(2)
        s.connect((address, int(port)))
        s.sendall(b"hello")


def udp(target):
    address, port = target.rsplit(":", 1)
    with socket.socket(family(address), socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b"hello", (address, int(port)))


def route(target):
    with socket.socket(family(target), socket.SOCK_DGRAM) as s:
        s.connect((target, 9))


def abstract(target):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect("\0" + target)


def path(target):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect(target)


def name(target):
    socket.getaddrinfo(target, 80)


KINDS = {f.__name__: f for f in (tcp, udp, route, abstract, path, name)}

for word in sys.argv[1:]:
    kind, target = word.split(":", 1)
    try:
        KINDS[kind](target)
        answer = "OK"
    except socket.gaierror:
        answer = "no such name"
    except OSError as error:
        answer = errno.errorcode.get(error.errno, str(error))
    print(f"{word}={answer}", flush=True)
