# SPDX-License-Identifier: Apache-2.0
"""TLS: everything that holds in clear holds over it, and the handshake is bounded as well."""

import os
import resource
import select
import socket
import ssl
import struct
import subprocess
import time

import pytest
from client import Raw, request
from conftest import Server, make_certificate

# Once more, over TLS: the fixtures below replace those in conftest.py.
from test_exchange import *  # noqa: F403
from test_gone import *  # noqa: F403

MS = 1_000_000

# Over TLS a connection that ends without close_notify was cut: see test_truncated_request.
del test_tcp_half_closed_gets_what_is_answered_at_once  # noqa: F821


@pytest.fixture
def serve(program, certificate):
    """serve(limit=number...): over TCP with TLS; serve("/path"): over a unix socket."""
    servers = []

    def start(where=0, **limits):
        servers.append(Server(program, where, limits, certificate if where == 0 else None))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture(scope="module")
def server(program, certificate):
    one = Server(program, 0, {"body_bytes": 1 << 20}, certificate)
    yield one
    one.end()


@pytest.fixture(scope="module")
def servers_of(program, server, tmp_path_factory):
    """By the kind of their key."""
    rsa = Server(program, 0, {}, make_certificate(tmp_path_factory.mktemp("rsa"), "rsa:2048"))
    yield {"ec": server, "rsa": rsa}
    rsa.end()


def plain(server, **options):
    """A connection that sends nothing of TLS by itself."""
    return Raw(server.port, tls=None, **options)


def served(server, limit=3.0):
    start = time.monotonic()
    with server.connect() as raw:
        raw.send(request("/other"))
        assert raw.answer().status == 200
    assert time.monotonic() - start < limit


def hello():
    """The first bytes of a client."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


# --- accepted protocols ------------------------------------------------------------------------

@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_versions(server, certificate, version):
    context = ssl.create_default_context(cafile=certificate)
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    context.set_alpn_protocols(["h2", "http/1.1"])
    with server.connect(tls=context) as raw:
        assert raw.socket.version() == version.replace("_", ".")
        assert raw.socket.selected_alpn_protocol() == "http/1.1"
        for _ in range(3):
            raw.send(request())
            assert raw.answer().status == 200


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
@pytest.mark.parametrize("version", ["TLSv1", "TLSv1_1"])
def test_old_versions(server, version):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    with pytest.raises(ssl.SSLError, match="(?i)protocol version"):
        server.connect(tls=context)
    served(server)


@pytest.mark.parametrize("ciphers", ["AES128-SHA256", "AES128-GCM-SHA256", "ECDHE+SHA",
                                     "ECDHE+SHA256:!AESGCM:!CHACHA20", "DHE", "eNULL:@SECLEVEL=0"])
@pytest.mark.parametrize("kind", ["ec", "rsa"])
def test_weak_ciphers(servers_of, kind, ciphers):
    server = servers_of[kind]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers)
    with pytest.raises(ssl.SSLError, match="(?i)handshake failure"):
        server.connect(tls=context)
    context.set_ciphers("ECDHE+AESGCM")
    server.connect(tls=context).close()


def test_http_in_clear(server):
    """Refused, with a message that a person with curl understands."""
    with plain(server) as raw:
        raw.send(request("/echo", "POST", body=b"x" * 100000))
        answer = raw.answer()
        assert answer.status == 400
        assert answer.headers["connection"] == "close"
        assert raw.rest() == b""
    served(server)


def test_unix_sockets_stay_in_clear(program, certificate, tmp_path):
    server = Server(program, str(tmp_path / "s"), {}, certificate)
    try:
        with Raw(server.where) as raw:
            raw.send(request())
            assert raw.answer().status == 200
    finally:
        server.end()


def test_no_renegotiation(server, certificate):
    """Requested by the client in the middle of a connection."""
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", certificate,
         "-tls1_2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    client.stdin.write(b"R\n")
    client.stdin.flush()
    out, _ = client.communicate(timeout=10)
    assert b"RENEGOTIATING" in out
    assert b"no renegotiation" in out or b"unexpected" in out or b"error" in out, out
    served(server)


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
def test_no_resumption(server, certificate, version):
    """Nothing is kept of a connection that has ended."""
    context = ssl.create_default_context(cafile=certificate)
    context.maximum_version = ssl.TLSVersion[version]
    session = None
    for _ in range(2):
        raw = Raw(server.port)
        raw.socket = context.wrap_socket(raw.socket, server_hostname="localhost", session=session)
        with raw:
            raw.send(request())
            assert raw.answer().status == 200
            assert not raw.socket.session_reused
            session = raw.socket.session
            assert not session or not session.has_ticket


# --- hostile beginnings ------------------------------------------------------------------------

HELLO = hello()
GARBAGE = {
    "zeros": b"\0" * 1000,
    "noise": os.urandom(5000),
    "an alert": b"\x15\x03\x03\x00\x02\x02\x28",
    "data first": b"\x17\x03\x03\x00\x10" + b"x" * 16,
    "an oversized record": b"\x16\x03\x01\xff\xff" + b"x" * 70000,
    "an empty record": b"\x16\x03\x01\x00\x00" * 100,
    "SSLv2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + b"x" * 40,
    "a hello with a wrong length": HELLO[:6] + b"\xff\xff\xff" + HELLO[9:],
    "a hello with broken extensions": HELLO[:-20] + os.urandom(20),
    "two hellos": HELLO * 2,
    "a hello and noise": HELLO + os.urandom(1000),
}


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage(serve, data):
    server = serve(head_ns=700 * MS)
    for _ in range(20):
        with plain(server) as raw:
            raw.send_what_goes(data)
            raw.end_sending()
            raw.rest()
    with plain(server) as raw:  # and one that stays
        raw.send_what_goes(data)
        raw.rest()
    served(server)
    assert server.counts()["connections"] == 1
    assert server.counts()["requests"] >= 1


def test_garbage_in_the_middle(server):
    with server.connect() as raw:
        raw.send(request())
        assert raw.answer().status == 200
        os.write(raw.socket.fileno(), b"\x17\x03\x03\x00\x40" + b"x" * 64)
        with pytest.raises((ssl.SSLError, OSError)):
            while raw.socket.recv(100):
                pass
    served(server)


def test_silence(serve):
    """Nothing at all, half a hello, a hello without the rest: all time out."""
    server = serve(head_ns=500 * MS)
    start = time.monotonic()
    connections = [plain(server) for _ in range(3)]
    connections[1].send(HELLO[:50])
    connections[2].send(HELLO)
    for raw in connections:
        raw.rest()
        raw.close()
    assert 0.4 < time.monotonic() - start < 4
    served(server)
    assert server.counts()["timed_out"] == 3


def test_drip(serve):
    """One byte after the other does not move the deadline."""
    server = serve(head_ns=500 * MS)
    start = time.monotonic()
    with plain(server) as raw:
        try:
            for byte in HELLO:
                raw.send(bytes([byte]))
                time.sleep(0.02)
                if select.select([raw.socket], [], [], 0)[0] and not raw.socket.recv(100):
                    break
        except OSError:
            pass
        assert time.monotonic() - start < 4
    served(server)


def test_many_beginnings_give_way(serve):
    """A connection without progress makes room for one with progress."""
    server = serve(connections=50, head_ns=20_000 * MS)
    waiting = [plain(server) for _ in range(50)]
    for raw in waiting[::2]:
        raw.send(HELLO[:100])
    time.sleep(0.3)
    for _ in range(60):
        served(server)
    for raw in waiting:
        raw.close()


def test_connections_of_one_peer(serve):
    server = serve(connections_per_peer=3)
    kept = [server.connect() for _ in range(3)]
    with pytest.raises((ssl.SSLError, OSError)):
        server.connect()
    kept.pop().close()
    served_soon(server)
    for raw in kept:
        raw.close()


def served_soon(server, seconds=10):
    """The server may accept the next connection before it reads the end of the last one."""
    end = time.monotonic() + seconds
    while True:
        try:
            return served(server)
        except (ssl.SSLError, OSError):
            assert time.monotonic() < end
            time.sleep(0.02)


def test_reset_at_each_point(server):
    """The client leaves at every stage of the beginning."""
    for size in (0, 1, 5, 60, len(HELLO)):
        for _ in range(10):
            raw = plain(server)
            raw.send(HELLO[:size])
            if size == len(HELLO):
                raw.socket.recv(100)
            raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raw.close()
    served(server)


def test_who_takes_nothing(serve):
    """A client that sends hellos and reads no response has its deadline too."""
    server = serve(head_ns=500 * MS)
    with plain(server, receive_bytes=2048) as raw:
        raw.send(HELLO)
        time.sleep(1)
        served(server)
        assert server.counts()["connections"] == 1


# --- idle ones ---------------------------------------------------------------------------------

def test_idle_connections(serve):
    """500 of them cost little, and no other client waits for them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    server = serve()
    for _ in range(20):
        served(server)
    before = server.memory_kib()
    idle = []
    for _ in range(500):
        raw = server.connect()
        raw.send(request())
        assert raw.answer().status == 200
        idle.append(raw)
    each = (server.memory_kib() - before) * 1024 / len(idle)
    print(f"{each:.0f} bytes for each idle connection")
    served(server)
    assert server.counts()["connections"] == 501
    assert each < 24 * 1024
    for raw in idle[::50]:
        raw.send(request())
        assert raw.answer().status == 200
    for raw in idle:
        raw.close()
    time.sleep(0.2)
    served(server)
    assert server.counts()["connections"] == 1
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_ends_with_a_word(serve):
    """An idle connection is closed in order: the client can tell it from a cut connection."""
    server = serve(idle_ns=300 * MS)
    with server.connect() as raw:
        raw.send(request())
        assert raw.answer().status == 200
        assert raw.rest() == b""


def test_key_updates_do_not_hold_others_up(server, certificate):
    """Records without content, as many as possible: others are served meanwhile."""
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", certificate,
         "-tls1_3"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            client.stdin.write(b"K\n")  # please update yours too
            client.stdin.flush()
        served(server)
    finally:
        client.kill()
        client.wait()
    served(server)


# --- large and cut -----------------------------------------------------------------------------

def test_large_both_ways(serve):
    """More than any buffer on the way, up and down."""
    server = serve(body_bytes=64 << 20)
    with server.connect(timeout=60) as raw:
        body = os.urandom(1 << 20) * 24
        raw.send(request("/size", "POST", body=body))
        answer = raw.answer()
        assert answer.status == 200 and str(len(body)).encode() in answer.body
        raw.send(request(f"/big?{24 << 20}"))
        assert len(raw.answer().body) == 24 << 20
        raw.send(request())
        assert raw.answer().status == 200


def test_back_pressure(serve):
    """A stream to a client that does not read stays small in memory."""
    server = serve()
    served(server)
    before = server.peak_kib()
    with server.connect(receive_bytes=4096) as raw:
        raw.send(request(f"/stream?{200 << 20}"))
        time.sleep(1)
        served(server)
        assert server.peak_kib() - before < 16 * 1024
        status, _ = raw.head()
        assert status == 200


def test_who_does_not_read_is_cut(serve):
    server = serve(write_ns=500 * MS)
    with server.connect(receive_bytes=4096) as raw:
        raw.send(request(f"/big?{64 << 20}"))
        time.sleep(1.5)
        assert server.counts()["connections"] == 1
        with pytest.raises(ssl.SSLError):  # and it does not look like the end
            while raw.socket.recv(65536):
                pass


def test_truncated_request(server):
    """A connection that is cut in the middle of a body sends no request."""
    before = server.counts()["requests"]
    with server.connect() as raw:
        raw.send(request("/echo", "POST", headers=["Content-Length: 1000"]) + b"x" * 500)
        raw.end_sending()
        with pytest.raises((ssl.SSLError, OSError)):
            if not raw.socket.recv(100):
                raise OSError
    assert server.counts()["requests"] == before + 1  # that of the counts themselves


def test_client_that_says_goodbye(server):
    """Its close_notify is answered with ours."""
    with server.connect() as raw:
        raw.send(request())
        assert raw.answer().status == 200
        raw.socket.unwrap()


def test_end_without_length_is_said(server):
    """In HTTP/1.0 the end of the connection ends a response: close_notify confirms it."""
    with server.connect() as raw:
        raw.send(request("/stream?100000", version="1.0"))
        answer = raw.answer()
        assert answer.status == 200 and len(answer.body) == 100000


def test_first_request_waits_for_nothing(server):
    """Nor for an acknowledgement, in a client that does (Nagle)."""
    took = []
    for _ in range(20):
        with server.connect() as raw:
            start = time.monotonic()
            raw.send(request())
            assert raw.answer().status == 200
            took.append(time.monotonic() - start)
    assert min(took) < 0.03  # each would take 0.04


def test_events_come_at_once(server):
    with server.connect() as raw:
        raw.send(request("/events"))
        start = time.monotonic()
        assert raw.head()[0] == 200
        assert raw.until(b"\n\n").endswith(b"data: 1")
        assert time.monotonic() - start < 4


def test_pieces_of_records(server):
    """Ciphertext that arrives in pieces is reassembled."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = server.tls.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with plain(server) as raw:
        def turn(work, piece):
            while True:
                try:
                    return work()
                except ssl.SSLWantReadError:
                    data = outgoing.read()
                    for i in range(0, len(data), piece):
                        raw.send(data[i:i + piece])
                        time.sleep(0.001)
                    incoming.write(raw.socket.recv(65536))

        turn(tls.do_handshake, 7)
        tls.write(request())
        assert turn(lambda: tls.read(65536), 11).startswith(b"HTTP/1.1 200 ")


def test_several_requests_in_one_record(server):
    with server.connect() as raw:
        raw.send(request("/later?50") + request("/echo", "POST", body=b"b" * 3000) + request())
        for _ in range(3):
            assert raw.answer().status == 200
