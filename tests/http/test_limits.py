# SPDX-License-Identifier: Apache-2.0
"""Slow, many and large requests: all bounded, and others are served meanwhile."""

import resource
import socket
import time

import pytest
from client import Raw, request

MS = 1_000_000


def quick(server, limit=0.5):
    """Another client is served within the time: that of a loaded host, not of one that
    has to wait."""
    start = time.monotonic()
    with server.connect() as raw:
        raw.send(request("/other"))
        assert raw.answer().status == 200
    assert time.monotonic() - start < limit


def until(true, seconds=10):
    """Waits for a condition."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


def drip(raw, data, pause=0.02, seconds=10):
    """One byte after the other, until the server closes; returns how long that took."""
    start = time.monotonic()
    raw.socket.settimeout(pause)
    for byte in data:
        try:
            raw.send(bytes([byte]))
            part = raw.socket.recv(65536)
            raw.kept += part
            if not part or b"\r\n\r\n" in raw.kept:
                break
        except TimeoutError:
            pass
        except OSError:
            break
        assert time.monotonic() - start < seconds
    raw.socket.settimeout(5)
    return time.monotonic() - start


# --- slow ones ---------------------------------------------------------------------------------

def test_slow_head(serve):
    server = serve(head_ns=400 * MS)
    with server.connect() as raw:
        took = drip(raw, request(headers=["X-A: " + "a" * 1000]))
        assert 0.3 < took < 2
        assert raw.rest().startswith(b"HTTP/1.1 408 ")
    quick(server)
    assert server.counts()["timed_out"] == 1


def test_slow_body(serve):
    """Within the time for the whole body, but with fewer bytes a second than the minimum."""
    server = serve(body_ns=500 * MS)
    with server.connect() as raw:
        raw.send(request("/echo", "POST", headers=["Content-Length: 10000"]))
        assert drip(raw, b"a" * 10000) < 2
        assert raw.rest().startswith(b"HTTP/1.1 408 ")
    with server.connect() as raw:
        raw.send(request("/echo", "POST", headers=["Transfer-Encoding: chunked"]))
        assert drip(raw, b"1\r\na\r\n" * 1000) < 2
        assert raw.rest().startswith(b"HTTP/1.1 408 ")
    quick(server)
    assert server.counts()["timed_out"] == 2


def test_whole_body_has_a_deadline(serve):
    """Fast enough by the second, but it does not end."""
    server = serve(body_ns=700 * MS)
    with server.connect() as raw:
        raw.send(request("/echo", "POST", headers=["Content-Length: 10000000"]))
        start = time.monotonic()
        raw.socket.settimeout(0.01)
        while b"\r\n\r\n" not in raw.kept:
            try:
                raw.send(b"a" * 100)
                raw.kept += raw.socket.recv(1000)
            except TimeoutError:
                pass
            assert time.monotonic() - start < 3
        assert raw.kept.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("path", ["/big?30000000", "/stream?30000000"])
def test_slow_reader(serve, path):
    server = serve(write_ns=500 * MS)
    with server.connect(receive_bytes=4096) as raw:
        raw.send(request(path))
        start = time.monotonic()
        while server.counts()["connections"] > 1:
            raw.socket.recv(10)
            time.sleep(0.05)
            assert time.monotonic() - start < 5
        assert time.monotonic() - start > 0.4
    quick(server)
    assert server.counts()["timed_out"] == 1
    assert server.counts()["working"] == 0


def test_slow_reader_costs_little(serve):
    """A stream of 1 GB to a client that does not read holds no more than its window."""
    server = serve()
    before = server.memory_kib()
    with server.connect(receive_bytes=4096) as raw:
        raw.send(request("/stream?1000000000"))
        raw.until(b"\r\n\r\n")
        time.sleep(0.5)
        assert server.peak_kib() - before < 4096
        quick(server)


def test_steady_reader_is_not_dropped(serve):
    server = serve(write_ns=300 * MS)
    with server.connect(receive_bytes=4096) as raw:
        raw.send(request("/stream?2000000"))
        raw.until(b"\r\n\r\n")
        for _ in range(30):
            raw.exactly(20000)
            time.sleep(0.03)
        raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        while not raw.kept.endswith(b"0\r\n\r\n"):
            raw.kept = raw.kept[-10:] + raw.socket.recv(65536)
    assert server.counts()["timed_out"] == 0


def test_idle(serve):
    server = serve(idle_ns=300 * MS)
    with server.connect() as fresh, server.connect() as used:
        used.send(request())
        used.answer()
        start = time.monotonic()
        assert fresh.rest() == b"" and used.rest() == b""
        assert 0.2 < time.monotonic() - start < 2
    assert server.counts()["timed_out"] == 0


def test_lingering_ends(serve):
    """A client that never stops sending after a refusal is not read for ever."""
    server = serve()
    with server.connect() as raw:
        start = time.monotonic()
        raw.send(b"GET / HTTP/9.9\r\n\r\n")
        with pytest.raises(OSError):
            while time.monotonic() - start < 10:
                raw.send(b"a" * 100)
                time.sleep(0.01)
        assert time.monotonic() - start < 6


# --- many --------------------------------------------------------------------------------------

def test_ten_thousand_idle(serve):
    """Some have sent nothing, some a request; none costs much, and others are not affected."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 10_000
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(wanted, hard - 200)
    server = serve()
    try:
        quick(server)
        before = server.memory_kib()
        idle = [Raw(server.port) for _ in range(count)]
        for raw in idle[::10]:
            raw.send(request("/used"))
            raw.answer()
        slowest = 0
        for _ in range(100):
            start = time.monotonic()
            quick(server)
            slowest = max(slowest, time.monotonic() - start)
        used = (server.memory_kib() - before) * 1024 / count
        print(f"{count} idle connections, {used:.0f} bytes each, slowest other {slowest:.4f} s")
        assert server.counts()["connections"] == count + 1
        assert used < 1024
        for raw in idle:
            raw.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if count < wanted:
        pytest.skip(f"RLIMIT_NOFILE allows {count} connections only")


def test_longest_idle_makes_room(serve):
    server = serve(connections=5)
    old = [server.connect() for _ in range(5)]
    old[0].send(request())
    old[0].answer()
    time.sleep(0.2)
    for _ in range(3):
        quick(server)
    assert old[1].rest() == b""
    old[0].send(request("/still"))
    assert old[0].answer().status == 200


def test_nobody_idle_no_room(serve):
    """The connections being served stay; the one too many gets an error, and is closed."""
    server = serve(connections=3)
    busy = [server.connect() for _ in range(3)]
    for raw in busy:
        raw.send(request("/later?2000"))
    time.sleep(0.4)
    with server.connect() as raw:
        assert raw.rest().startswith(b"HTTP/1.1 503 ")
    assert all(raw.answer().status == 200 for raw in busy)


def test_slow_heads_cannot_fill_all_places(serve):
    server = serve(connections=20)
    slow = [server.connect() for _ in range(40)]
    for raw in slow:
        raw.send_what_goes(b"GET /")
    time.sleep(0.2)
    quick(server)


def test_connections_per_peer(serve, tmp_path):
    """One too many of the same client gets an error; its idle ones are closed before that."""
    server = serve(tmp_path / "s", connections_per_peer=3)
    busy = [server.connect() for _ in range(3)]
    for raw in busy:
        raw.send(request("/later?2000"))
    time.sleep(0.4)
    with server.connect() as raw:
        text = raw.rest()
        assert text.startswith(b"HTTP/1.1 503 ") and b"Retry-After: 1" in text
    assert all(raw.answer().status == 200 for raw in busy)
    time.sleep(0.2)
    quick(server)


def test_one_peer_leaves_places_for_others(serve, tmp_path):
    """By default one client cannot have more than an eighth of all connections."""
    server = serve(tmp_path / "s", connections=16)
    busy = [server.connect() for _ in range(14)]
    for raw in busy:
        raw.send(request("/later?2000"))
    time.sleep(0.4)
    with server.connect() as raw:
        assert raw.rest().startswith(b"HTTP/1.1 503 ")
    assert all(raw.answer().status == 200 for raw in busy)


def test_no_descriptors_left(serve):
    """Accepting pauses and continues; an idle connection is closed to make room."""
    server = serve()
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (12, 12))
    busy = []
    for _ in range(12):
        raw = server.connect()
        raw.send(request("/later?700"))
        busy.append(raw)
    start = time.process_time()
    assert all(raw.answer().status == 200 for raw in busy)
    assert time.process_time() - start < 1
    quick(server, 2)


# --- large -------------------------------------------------------------------------------------

def test_huge_body_by_length(serve):
    server = serve()
    before = server.peak_kib()
    reply = server.exchange(request("/size", "POST", headers=["Content-Length: 10737418240"]))
    assert reply.startswith(b"HTTP/1.1 413 ")
    assert server.peak_kib() - before < 2048


def test_endless_chunks(serve):
    """Bounded by the limit, not by the amount sent."""
    server = serve(body_bytes=1 << 20)
    chunk = b"4000\r\n" + b"a" * 0x4000 + b"\r\n"
    head = request("/size", "POST", headers=["Transfer-Encoding: chunked"])
    with server.connect() as raw:
        raw.send(head + chunk * 80)
        assert raw.rest().startswith(b"HTTP/1.1 413 ")
    with server.connect() as raw:
        raw.send(head)
        start = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - start < 10:
                raw.send(chunk)
    quick(server)
    assert server.peak_kib() < 8192


def test_promised_bodies_cost_nothing(serve):
    server = serve()
    raws = [server.connect() for _ in range(200)]
    before = server.memory_kib()
    for raw in raws:
        raw.send(request("/size", "POST", headers=["Content-Length: 60000000"]) + b"a")
    time.sleep(0.3)
    quick(server)
    assert server.memory_kib() - before < 200 * 10


def test_all_bodies_together(serve):
    server = serve(bodies_bytes=8 << 20)
    raws = [server.connect() for _ in range(20)]
    for raw in raws:
        raw.send(request("/size", "POST", headers=["Content-Length: 4000000"]))
    for raw in raws:
        raw.send_what_goes(b"a" * 1500000)
    for raw in raws:
        raw.socket.setblocking(False)

    def refused():
        for raw in raws:
            try:
                raw.kept = raw.kept or raw.socket.recv(100)
            except BlockingIOError:
                pass
        return sum(raw.kept.startswith(b"HTTP/1.1 503 ") for raw in raws)

    until(lambda: refused() >= 10)
    time.sleep(0.3)
    quick(server)
    assert server.peak_kib() < 16 << 10
    assert refused() < 20
    for raw in raws:
        raw.close()
    with server.connect() as raw:
        raw.send(request("/size", "POST", body=b"a" * 4000000))
        assert raw.answer().body == b"4000000"


def test_large_body(serve):
    server = serve()
    with server.connect(timeout=30) as raw:
        raw.send(request("/size", "POST", body=b"a" * 60_000_000))
        assert raw.answer().body == b"60000000"
        raw.send(request("/size", "POST", headers=["Transfer-Encoding: chunked"]))
        for _ in range(100):
            raw.send(b"10000\r\n" + b"a" * 0x10000 + b"\r\n")
        raw.send(b"0\r\n\r\n")
        assert raw.answer().body == b"6553600"
    assert server.peak_kib() < 140_000
