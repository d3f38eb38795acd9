# SPDX-License-Identifier: Apache-2.0
"""Clients that leave while their request is processed."""

import socket
import struct
import time

import pytest
from client import request


def wait_for(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def reset(raw):
    raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()


@pytest.mark.parametrize("leave", [lambda raw: raw.close(), reset], ids=["close", "reset"])
@pytest.mark.parametrize("path", ["/never", "/events", "/later?3000", "/stream?100000000"])
@pytest.mark.parametrize("local", [False, True], ids=["tcp", "unix"])
def test_gone(serve, tmp_path, path, leave, local):
    server = serve(tmp_path / "s") if local else serve()
    raw = server.connect()
    raw.send(request(path))
    wait_for(lambda: server.counts()["working"] == 1)
    leave(raw)
    wait_for(lambda: server.counts()["gone"] == 1)
    counts = server.counts()
    assert counts["working"] == 0 and counts["connections"] == 1


def test_gone_with_pipelined_requests(serve):
    """A request that was sent ahead is not started for a client that has left."""
    server = serve()
    raw = server.connect()
    raw.send(request("/never") * 5)
    wait_for(lambda: server.counts()["working"] == 1)
    raw.close()
    wait_for(lambda: server.counts()["gone"] == 1)
    assert server.counts()["working"] == 0


def test_gone_at_every_byte(serve):
    server = serve()
    data = request("/later?1", "POST", body=b"hello")
    for size in range(len(data) + 1):
        raw = server.connect()
        raw.send(data[:size])
        reset(raw) if size % 2 else raw.close()
    wait_for(lambda: server.counts()["connections"] == 1)
    assert server.counts()["working"] == 0
