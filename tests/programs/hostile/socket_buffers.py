# SPDX-License-Identifier: Apache-2.0
# Attacks the host's memory: bytes that wait in sockets, which the kernel may charge to no process.
# usage: socket_buffers.py [KIND [PROCESSES [MIB]]]; prints what it could queue before a refusal.
import os
import signal
import socket
import struct
import sys
import time

KINDS = ["netlink", "udp", "tcp", "unix-stream", "unix-dgram"]
LARGE = 64 << 20
SO_MEMINFO = 55
BLOCK = bytes(32 << 10)


def fill(end, other=None):
    """Bytes until it would block; each way of a pair."""
    total = 0
    for one in (end, other) if other else (end,):
        one.setblocking(False)
        try:
            while True:
                total += one.send(BLOCK)
        except OSError:
            pass
    return total


def enlarge(*sockets):
    for one in sockets:
        for name in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            one.setsockopt(socket.SOL_SOCKET, name, LARGE)
    return sockets


def waiting(one):
    """Memory that the kernel holds for processes that do not read."""
    return struct.unpack("=9I", one.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 36))[0]


def pour(one, other, message):
    """Sends until no more is kept: datagrams that do not fit are lost silently."""
    before = -1
    other.setblocking(False)
    while before < waiting(one):
        before = waiting(one)
        for _ in range(32):
            try:
                other.send(message)
            except OSError:
                break
    return before


def netlink():
    """Responses about the loopback that no process reads."""
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    enlarge(one)
    ask = struct.pack("=IHHIIBBHiII", 32, 18, 1, 1, 0, 0, 0, 0, 1, 0, 0)  # RTM_GETLINK
    return [one], pour(one, one, ask)


def udp():
    one, other = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    enlarge(one, other)
    one.bind(("127.0.0.1", 0))
    with other:
        other.connect(one.getsockname())
        return [one], pour(one, other, BLOCK)


def tcp():
    with socket.create_server(("127.0.0.1", 0)) as server:
        enlarge(server)
        one = socket.socket()
        enlarge(one)
        one.connect(server.getsockname())
        other = server.accept()[0]
    total = 0
    for _ in range(20):  # bytes in transit arrive, and make room
        more = fill(one, other)
        total += more
        if not more:
            break
        time.sleep(0.002)
    return [one, other], total


def unix(kind):
    pair = enlarge(*socket.socketpair(socket.AF_UNIX, kind))
    return list(pair), fill(*pair)


WAYS = {"netlink": netlink, "udp": udp, "tcp": tcp,
        "unix-stream": lambda: unix(socket.SOCK_STREAM),
        "unix-dgram": lambda: unix(socket.SOCK_DGRAM)}


def take(kind, goal):
    kept, total = [], 0
    try:
        while total < goal:
            sockets, more = WAYS[kind]()
            kept += sockets
            total += more
            if not more:
                break
    except OSError as error:
        os.write(1, f"refused={error.strerror}\n".encode())
    return kept, total


def main():
    kinds = sys.argv[1:2] or KINDS
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    goal = (int(sys.argv[3]) if len(sys.argv) > 3 else 1024) << 20
    for kind in kinds:
        told, tell = os.pipe()
        children = []
        for _ in range(processes):
            children.append(os.fork())
            if children[-1] == 0:
                kept, total = take(kind, goal // processes)
                os.write(tell, struct.pack("q", total))
                time.sleep(3600 if kept else 0)  # held, until all have theirs
                os._exit(0)
        total = sum(struct.unpack("q", os.read(told, 8))[0] for _ in range(processes))
        time.sleep(0.2)  # long enough for a periodic watch
        print(f"{kind}={total >> 20}", flush=True)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


main()
