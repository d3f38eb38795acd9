# SPDX-License-Identifier: Apache-2.0
"""Hostile hosts: no more bytes than allowed, no connection kept for ever, bounded memory."""

import re
import subprocess
import time

import pytest

import hostile
from conftest import BRIG

TLS = {"host": "api.test", "protocol": "tls"}

GET = """
import urllib.request as u
try:
    print(u.urlopen("https://api.test:{}/", timeout=20).read().decode())
except Exception as error:
    print(type(error).__name__, error)
"""


def write(opened, *ports, more=(), **network):
    opened.write([opened.credential("api.test")],
                 [{**TLS, "ports": ",".join(map(str, ports))}, *more], **network)


# --- bytes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("port", [hostile.HEAD, hostile.BODY])
def test_what_never_ends_is_ended_by_the_limit(opened, port):
    write(opened, port)
    code = """
import socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", {0})),
                                             server_hostname="api.test")
s.sendall(b"GET / HTTP/1.1\\r\\nHost: api.test:{0}\\r\\n\\r\\n")
while s.recv(65536):
    pass
""".format(port)
    result = opened.run(code, options=["--net-bytes", "3M", "--timeout", "60s"])
    assert result["status"] == "network_limit" and result["usage"]["net_bytes"] == 3 << 20, result
    entry = result["network"][0]
    assert entry["verdict"] == "limit" and entry["bytes_down"] < 3 << 20, entry


def test_handshakes_count_as_bytes(opened):
    """A host without any request can still receive hellos, and send certificates, without end."""
    opened.write([opened.credential("wrongname.test")], ["wrongname.test"], rate=1000)
    code = """
import socket, ssl
context = ssl.create_default_context(cafile="/etc/ssl/brig-cell.pem")
for i in range(200):
    s = context.wrap_socket(socket.create_connection(("wrongname.test", 443)),
                            server_hostname="wrongname.test")
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: wrongname.test\\r\\n\\r\\n")
    assert b"502" in s.recv(100)
    s.close()
"""
    # Without them only names are sent: less than 500 bytes each time.
    result = opened.run(code, options=["--net-bytes", "200K", "--timeout", "110s"], timeout=150)
    assert result["status"] == "network_limit", result
    assert result["network"][0]["verdict"] == "refused_peer", result["network"]


def test_the_wire_counts_where_tls_is_opened(opened):
    """At least the overhead of records of 16 KiB, and the handshake; not much more."""
    code = "import urllib.request as u; print(len(u.urlopen('https://api.test/bytes/3000000').read()))"
    result = opened.run(code)
    assert result["stdout"] == "3000000\n", result
    entry = result["network"][0]
    added = result["usage"]["net_bytes"] - entry["bytes_up"] - entry["bytes_down"]
    assert 3000000 // 16384 * 22 + 1500 < added < 40000, (added, result["usage"])


# --- answers --------------------------------------------------------------------------------------


def test_an_answer_too_many_reaches_nobody(opened, world):
    """One request each connection, to one host: there is no next one to be answered."""
    write(opened, hostile.TWICE)
    code = """
import http.client
c = http.client.HTTPSConnection("api.test", {0}, timeout=20)
for i in range(3):
    c.request("GET", f"/{{i}}")
    r = c.getresponse()
    print(r.read(), r.headers.get("Set-Cookie"))
    c.close()
""".format(hostile.TWICE)
    result = opened.run(code)
    assert result["stdout"] == "b'mine' None\n" * 3, result
    seen = [visit[2] for visit in world.visits()[0] if visit[1] == hostile.TWICE]
    assert len(seen) == 3 and all(text.count("GET /") == 1 for text in seen), seen


def test_a_thousand_interim_answers(opened):
    write(opened, hostile.INTERIM)
    result = opened.run("""
import socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", {0})),
                                             server_hostname="api.test")
s.sendall(b"GET / HTTP/1.1\\r\\nHost: api.test:{0}\\r\\n\\r\\n")
data = b""
while piece := s.recv(65536):
    data += piece
print(data.count(b" 103 "), data.endswith(b"after all"))
""".format(hostile.INTERIM))
    assert result["stdout"] == "1000 True\n", result


def test_a_thousand_certificates(opened, world):
    write(opened, hostile.CHAIN)
    result = opened.run(GET.format(hostile.CHAIN))
    assert "502" in result["stdout"], result
    assert result["network"][0]["verdict"] == "refused_peer", result
    assert [visit for visit in world.visits()[0] if visit[1] == hostile.CHAIN] == []


# --- connections and memory -----------------------------------------------------------------------


RETURN = """
import socket, ssl, struct, time
context = ssl.create_default_context(cafile="/etc/ssl/brig-cell.pem")
def begin():
    s = socket.create_connection(("api.test", {port}))
    try:
        if {tls}:
            s = context.wrap_socket(s, server_hostname="api.test")
        s.sendall(b"GET / HTTP/1.1\\r\\nHost: api.test:{port}\\r\\n\\r\\n")
        s.settimeout(1)
        return s if s.recv(1) else None
    except TimeoutError:
        return s
    except OSError:
        return None
kept = [begin(), begin()]
refused = begin()
for s in kept:
    if {reset}:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
end = time.monotonic() + 90
while time.monotonic() < end and not (again := begin()):
    time.sleep(1)
print(all(kept), refused, bool(again))
"""


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("tls", [False, True])
def test_a_silent_host_keeps_no_connection(opened, tls, reset):
    """A program that has closed its end gets its place back, although the host never answers."""
    port = hostile.SILENT if tls else hostile.MUTE
    rule = TLS if tls else {"host": "api.test", "protocol": "any"}
    opened.write([opened.credential("api.test")], [{**rule, "ports": str(port)}, TLS],
                 connections=2)
    code = RETURN.format(port=port, tls=tls, reset=reset)
    result = opened.run(code, options=["--timeout", "110s"], timeout=150)
    assert result["stdout"] == "True None True\n", result


UNREAD = """
import socket, sys, time
kept = []
for i in range(32):
    kept.append(s := socket.create_connection(("public.test", {port})))
    got = 0
    while got < 1 << 20:
        got += len(s.recv(65536))
print("full", flush=True)
sys.stdin.read()
"""


def test_what_nobody_reads_is_bounded(world):
    """The kernel holds bytes that were received and not read: a few connections may have many, no
    more."""
    line = [*world.entering(), BRIG, "run", "--net", f"public.test:{hostile.FLOOD}", "--timeout",
            "100s", "-c", UNREAD.format(port=hostile.FLOOD)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "full\n"
        time.sleep(1)
        shown = subprocess.run([*world.entering(), "ss", "-tmnH", "dst", "93.184.216.34"],
                               capture_output=True, text=True, check=True).stdout
        run.stdin.close()
    rooms = sorted(int(room) for room in re.findall(r"skmem:\(r\d+,rb(\d+)", shown))
    assert len(rooms) == 32, shown
    assert max(rooms[:28]) <= 512 << 10, rooms
