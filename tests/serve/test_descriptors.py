# SPDX-License-Identifier: Apache-2.0
"""A caller on a unix socket sends descriptors with its request. The last close of this one waits
until its peer reads, which is in the same message: the service must not be the one that closes it.
"""

import array
import socket
import struct
import time

import pytest

SO_PASSRIGHTS = 83
LINGER_SECONDS = 40


def can_refuse():
    """Linux 6.16 and later."""
    try:
        ends = socket.socketpair()
        ends[0].setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
    except OSError:
        return False
    return True


def slow_pair():
    """Both ends of a connection in which bytes wait."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    one = socket.create_connection(server.getsockname())
    other, _ = server.accept()
    server.close()
    one.setblocking(False)
    try:
        while True:
            one.send(bytes(65536))
    except BlockingIOError:
        pass
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_SECONDS))
    return one, other


def send_slow(line, data):
    """True: it was sent, and only the message has the descriptors now."""
    pair = slow_pair()
    rights = array.array("i", [end.fileno() for end in pair])
    try:
        line.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    except PermissionError:
        pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
        return False
    finally:
        for end in pair:
            end.close()
    return True


@pytest.mark.skipif(not can_refuse(), reason="the kernel cannot refuse descriptors")
def test_descriptors_of_a_caller_are_refused(server):
    before = time.monotonic()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(server.socket)
        assert not send_slow(line, b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert server.request("GET", "/v1/health").status == 200
        assert not send_slow(line, b"x")
    assert server.request("GET", "/v1/health").status == 200
    assert time.monotonic() - before < LINGER_SECONDS / 2
