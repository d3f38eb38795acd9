# SPDX-License-Identifier: Apache-2.0
"""T13, T14: TLS and HTTP are for the host for which the connection was made."""

import json

import pytest

HTTP = """
import socket
s = socket.create_connection(({host!r}, {port}), timeout=5)
for piece in {pieces!r}:
    s.sendall(piece)
s.settimeout(5)
data = b""
try:
    while piece := s.recv(65536):
        data += piece
except OSError as error:
    data += type(error).__name__.encode()
print(data.decode("latin-1"))
"""


def talk(run, pieces, host="public.test", port=80, rules=("public.test",), **more):
    pieces = [pieces] if isinstance(pieces, bytes) else pieces
    return run(HTTP.format(host=host, port=port, pieces=pieces), *rules, **more)


def verdict(result):
    return [entry["verdict"] for entry in result["network"]]


@pytest.mark.parametrize("request_", [
    b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: public.test\r\nHost: evil.test\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: public.test:8080\r\n\r\n",
    b"GET / HTTP/1.1\r\nhost : public.test\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: public.test\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\nHost: public.test\n\n\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET http://evil.test/ HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"GET http://public.test@evil.test/ HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"CONNECT 192.168.7.7:80 HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"CONNECT public.test:80 HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: public.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\nHost: public.test\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\nHost: public.test\r\nContent-Length: +4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\nHost: public.test\r\nTransfer-Encoding: xchunked\r\n\r\nabcd",
    b"GET / HTTP/1.1\r\nHost: public.test\r\nX: a\0b\r\n\r\n",
    b"GET /a b HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"TRACE / HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"trace / HTTP/1.1\r\nHost: public.test\r\nMax-Forwards: 0\r\n\r\n",
    b"POST / HTTP/1.0\r\nHost: public.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET / HTTP/2.0\r\nHost: public.test\r\n\r\n",
    b"\x16\x03\x01\x00\x05hello",
    b"SSH-2.0-x\r\n\r\n",
])
def test_requests_that_are_refused(run, world, request_):
    result = talk(run, request_)
    assert result["stdout"].startswith("HTTP/1.1 403 Forbidden"), result["stdout"]
    assert "brig: " in result["stdout"]
    assert verdict(result) == ["refused_protocol"]
    assert world.visits()[0] == []


@pytest.mark.parametrize("request_", [
    b"GET /x HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"GET /x HTTP/1.1\r\nHOST: PUBLIC.test:80\r\n\r\n",
    b"GET http://public.test/x HTTP/1.1\r\nHost: public.test\r\n\r\n",
])
def test_requests_that_pass(run, world, request_):
    result = talk(run, [request_[:9], request_[9:]])
    assert result["stdout"].startswith("HTTP/1.1 200 OK") and '"/x"' in result["stdout"]
    assert len(world.visits()[0]) == 1


@pytest.mark.parametrize("host", [b"public.test.", b"PUBLIC.TEST", b"Public.Test.:080", b"public.test:80"])
def test_host_goes_on_in_its_one_spelling(run, world, host):
    """Another form may be another site to the server: it gets exactly the compared name."""
    result = talk(run, b"GET /x HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    answer = json.loads(result["stdout"].split("\r\n\r\n", 1)[1])
    assert answer["headers"]["Host"] in ("public.test", "public.test:80"), answer


def test_upgrades_do_not_get_through(run, world):
    """A server receives one request of HTTP/1, which ends with the connection."""
    result = talk(run, b"GET /x HTTP/1.1\r\nHost: public.test\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                       b"Upgrade: h2c, websocket\r\nKeep-Alive: timeout=9\r\nProxy-Connection: x\r\n"
                       b"Proxy-Authorization: x\r\nExpect: 100-continue\r\n\r\n")
    headers = json.loads(result["stdout"].split("\r\n\r\n")[-1])["headers"]
    assert headers["Connection"] == "close" and headers["Expect"] == "100-continue"
    assert not {"Upgrade", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization"} & set(headers)


def test_a_second_request_on_the_connection_never_arrives(run, world):
    first = b"POST /echo HTTP/1.1\r\nHost: public.test\r\nContent-Length: 4\r\n\r\nabcd"
    second = b"GET /second HTTP/1.1\r\nHost: evil.test\r\n\r\n"
    result = talk(run, first + second)
    assert result["stdout"].count("HTTP/1.1") == 1 and "abcd" in result["stdout"]
    assert "second" not in json.dumps(world.visits()[0])


def test_chunked_bodies(run, world):
    head = b"POST /echo HTTP/1.1\r\nHost: public.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    second = b"GET /second HTTP/1.1\r\nHost: evil.test\r\n\r\n"
    for pieces in ([head, b"4\r\nabcd\r\n0\r\n\r\n" + second],
                   [head + b"4\r\nab", b"cd\r\n0\r\n\r\n" + second, second]):
        result = talk(run, pieces)
        assert result["stdout"].count("HTTP/1.1") == 1, result["stdout"]
        assert verdict(result) == ["allowed"]
    assert "second" not in json.dumps(world.visits()[0])
    for body in (b"4;x=y\r\nabcd\r\n0\r\n\r\n", b"4\r\nabcd\r\n0\r\nHost: evil.test\r\n\r\n",
                 b"4\nabcd\n0\n\n", b"+4\r\nabcd\r\n0\r\n\r\n", b"0x4\r\nabcd\r\n0\r\n\r\n",
                 b"10000000000000004\r\nabcd\r\n0\r\n\r\n", b"4\r\nabcde\r\n0\r\n\r\n"):
        result = talk(run, [head, body])
        assert verdict(result) == ["refused_protocol"], body
    code = """
import http.client
c = http.client.HTTPConnection("public.test", timeout=10)
c.request("POST", "/size", iter([b"x" * 100000] * 30), encode_chunked=True)
print(c.getresponse().read().decode())
"""
    assert run(code, "public.test")["stdout"] == "3000000\n"


def test_redirects_are_followed_by_the_program_alone(run, world):
    """Wherever a server redirects the program, it gets there by a connection of its own."""
    code = ("import urllib.request as u\ntry:\n u.urlopen('http://192.168.7.7/', timeout=5)\n"
            "except OSError as e:\n print(e)")
    result = run(code, "public.test")
    assert "unreachable" in result["stdout"] and world.visits()[0] == []


TLS = """
import socket, ssl
context = ssl.create_default_context(cafile="/sandbox/ca.pem")
context.check_hostname = False
try:
    s = socket.create_connection(("public.test", {port}), timeout=5)
    s = context.wrap_socket(s, server_hostname={name!r})
    s.sendall(b"GET /x HTTP/1.0\\r\\n\\r\\n")
    print(s.recv(100).decode().splitlines()[0])
except OSError as error:
    print(type(error).__name__, error)
"""


def tls(run, world, name, port=443, rule="public.test"):
    ca = ["--in", f"ca.pem={world.directory}/ca.pem"]
    return run(TLS.format(name=name, port=port), rule, options=ca)


def test_sni_must_be_the_host(run, world):
    assert tls(run, world, "public.test")["stdout"] == "HTTP/1.1 200 OK\n"
    assert len(world.visits()[0]) == 1
    for name in ("evil.test", "other.test", "public.test.evil.test", "public.test.", None):
        result = tls(run, world, name)
        assert "unrecognized name" in result["stdout"].lower().replace("_", " "), result
        assert verdict(result) == ["refused_protocol"]
    assert world.visits()[0] == []


def test_sni_on_other_ports(run, world):
    assert tls(run, world, "public.test", 8443, "public.test:8443")["stdout"].startswith("HTTP/1.1")
    assert tls(run, world, None, 8443, "public.test:8443")["stdout"].startswith("HTTP/1.1")
    result = tls(run, world, "evil.test", 8443, "public.test:8443")
    assert verdict(result) == ["refused_protocol"]


@pytest.mark.parametrize("first", [
    b"GET / HTTP/1.1\r\nHost: public.test\r\n\r\n", b"\x16\x03\x01\x00\x00", b"\x16\x02\x01\x00\x10",
    b"\x16\x03\x01\x40\x01" + b"\x01" * 100, b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", b"x"])
def test_not_tls_on_443(run, world, first):
    result = talk(run, first, port=443)
    assert verdict(result) == ["refused_protocol"]
    assert world.visits()[0] == []


def test_anything_where_the_policy_says_so(world, run, tmp_path):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "plain.json").write_text(
        '{"extends": "default", "network": {"allow": ['
        '{"host": "public.test", "ports": "443", "protocol": "any"}, '
        '{"host": "public.test:8080", "protocol": "http"}]}}')
    tmp_path.chmod(0o755)
    options = ["--config", str(tmp_path), "--policy", "plain"]
    result = talk(run, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", port=443, rules=(), options=options)
    assert verdict(result) == ["allowed"], result
    result = talk(run, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", port=8080, rules=(), options=options)
    assert verdict(result) == ["refused_protocol"], result
