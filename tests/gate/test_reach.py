# SPDX-License-Identifier: Apache-2.0
"""Allowed hosts are reachable, with programs that are not aware of the gate; all others are not."""

import json

import pytest

URL = "import urllib.request as u; print(u.urlopen({!r}, timeout=10).read().decode())"
SOCKET = """
import socket
try:
    s = socket.create_connection(({!r}, {}), timeout=5)
    s.sendall(b"ping")
    print(s.recv(100).decode() or "closed")
except OSError as error:
    print(type(error).__name__, error)
"""


def only(result):
    assert len(result["network"]) == 1, result["network"]
    return result["network"][0]


def test_python_by_name(run, world):
    result = run(URL.format("http://public.test/x"), "public.test")
    assert result["status"] == "ok", result["stderr"]
    seen = json.loads(result["stdout"])
    assert seen["at"].endswith("93.184.216.34") and seen["headers"]["Host"] == "public.test"
    entry = only(result)
    assert entry["host"] == "public.test" and entry["port"] == 80
    assert entry["address"] == "93.184.216.34" and entry["verdict"] == "allowed"
    assert entry["bytes_up"] > 20 and entry["bytes_down"] > 20 and entry["ms"] > 0
    # The rest are two queries for the name, here and outside, and their replies.
    names = result["usage"]["net_bytes"] - entry["bytes_up"] - entry["bytes_down"]
    assert 8 * 29 <= names <= 16 * 64, result
    assert world.visits()[0]


def test_without_a_rule_there_is_nothing(run, world):
    result = run(SOCKET.format("93.184.216.34", 80))
    assert "unreachable" in result["stdout"] and "network" not in result
    assert result["means"]["net"] == "netns" and result["usage"]["net_bytes"] == 0
    result = run(SOCKET.format("public.test", 80))
    assert "gaierror" in result["stdout"]
    assert world.visits() == ([], [])


def test_raw_socket_and_other_port(run, world):
    assert run(SOCKET.format("public.test", 7000), "public.test:7000")["stdout"] == "ping\n"
    # A port that is in no rule: the cell's own kernel refuses.
    result = run(SOCKET.format("public.test", 9999), "public.test:7000")
    assert "ConnectionRefused" in result["stdout"]
    # A port of another host's rule: the gate refuses.
    result = run(SOCKET.format("other.test", 7000), "public.test:7000", "other.test:8080")
    assert "Reset" in result["stdout"] or "closed" in result["stdout"]
    assert only(result)["verdict"] == "refused_port"
    assert [visit[:2] for visit in world.visits()[0]] == [["::ffff:93.184.216.34", 7000]]


def test_server_that_speaks_first(run):
    code = """
import socket
s = socket.create_connection(("public.test", 2525), timeout=5)
print(s.recv(100)); s.sendall(b"quit"); print(s.recv(100)); print(s.recv(100))
"""
    result = run(code, "public.test:2525")
    assert result["stdout"] == "b'220 hello\\r\\n'\nb'got quit'\nb''\n"


def test_half_closed(run):
    code = """
import socket
s = socket.create_connection(("public.test", 7000), timeout=5)
s.sendall(b"a" * 300000); s.shutdown(socket.SHUT_WR)
size = 0
while data := s.recv(65536):
    size += len(data)
print(size)
"""
    result = run(code, "public.test:7000")
    assert result["stdout"] == "300000\n", result
    assert only(result)["bytes_up"] == only(result)["bytes_down"] == 300000


def test_tls(run, world):
    code = URL.format("https://public.test/secret")
    ca = ["--in", f"ca.pem={world.directory}/ca.pem", "--env", "SSL_CERT_FILE=/sandbox/ca.pem"]
    result = run(code, "public.test", options=ca)
    assert json.loads(result["stdout"])["path"] == "/secret", result
    assert only(result)["port"] == 443


@pytest.mark.parametrize("host,rule,works", [
    ("a.wild.test", "*.wild.test", True),
    ("wild.test", "*.wild.test", False),
    ("public.test", "*", True),
    ("public.test", "*:8080", False),
    ("PUBLIC.Test", "public.test", True),
    ("public.test.", "public.test", True),
])
def test_patterns(run, host, rule, works):
    result = run(URL.format(f"http://{host}/"), rule)
    assert (result["status"] == "ok") is works, result


def test_address_by_range(run, world):
    result = run(SOCKET.format("93.184.216.35", 7000), "93.184.216.32/29:7000")
    assert result["stdout"] == "ping\n"
    assert only(result)["host"] == "93.184.216.35"
    result = run(SOCKET.format("93.184.216.34", 7000), "93.184.216.35:7000")
    assert "unreachable" in result["stdout"]
    result = run(SOCKET.format("2606:2800:220:1::34", 7000), "[2606:2800::]/32:7000")
    assert result["stdout"] == "ping\n"
    result = run(SOCKET.format("2606:2800:220:1::34", 7000), "public.test:7000")
    assert "unreachable" in result["stdout"] or "assign" in result["stdout"], result
    assert len(world.visits()[0]) == 2


def test_name_that_has_only_ipv6(run):
    result = run(SOCKET.format("six.test", 7000), "six.test:7000")
    assert result["stdout"] == "ping\n", result
    assert only(result)["address"] == "2606:2800:220:1::34"


def test_host_files_and_truncated_answers(run):
    assert run(SOCKET.format("big.test", 7000), "big.test:7000")["stdout"] == "ping\n"
    assert run(SOCKET.format("filed.test", 7000), "local:filed.test:7000")["stdout"] == "ping\n"


def test_local_service(run):
    result = run(URL.format("http://localhost:8099/"), "local:localhost:8099")
    assert result["stdout"] == "of this host\n", result
    result = run(URL.format("http://127.0.0.1:8099/"), "local:127.0.0.1:8099")
    assert result["stdout"] == "of this host\n", result
    result = run(URL.format("http://localhost:8099/"), "localhost:8099")
    assert result["status"] == "failed" and only(result)["verdict"] == "refused_address"
    assert "localhost was refused" in result["verdict"]["remedy"]
    assert "local:HOST" in result["verdict"]["operator_remedy"]


def test_unknown_and_unreachable(run):
    result = run(SOCKET.format("nobody.test", 7000), "nobody.test:7000")
    assert only(result)["verdict"] == "unresolved"
    result = run(SOCKET.format("public.test", 7001), "public.test:7001")
    assert only(result)["verdict"] == "unreachable"


def test_many_at_once(run):
    code = """
import concurrent.futures as f, urllib.request as u
def get(i):
    return len(u.urlopen(f"http://public.test/bytes/{i * 1000}", timeout=20).read())
with f.ThreadPoolExecutor(16) as pool:
    print(sum(pool.map(get, range(60))))
"""
    result = run(code, "public.test")
    assert result["stdout"] == f"{sum(range(60)) * 1000}\n", result
    assert len(result["network"]) == 60


def test_started_warm_it_is_cold(run):
    """Cells made ahead have no gate: the result is the same, and reports a cold start."""
    result = run(URL.format("http://public.test/"), "public.test", options=["--start", "warm"])
    assert result["status"] == "ok" and result["start"] == "cold"
    result = run("print(1)", options=["--start", "warm"])
    assert result["stdout"] == "1\n" and "network" not in result
