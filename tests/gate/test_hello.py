# SPDX-License-Identifier: Apache-2.0
"""T13: every ClientHello in clear is for the host, not only the first one."""

import json
import struct

import pytest

from world import KEY_PORT, RETRY_PORT

TALK = """
import socket
s = socket.create_connection(("{host}", {port}), timeout=10)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
data = b""
try:
    for wait, pieces in {script!r}:
        while len(data) < wait and (more := s.recv(65536)):
            data += more
        for piece in pieces:
            s.sendall(piece)
    while len(data) < {most} and (more := s.recv(65536)):
        data += more
except OSError as error:
    data += type(error).__name__.encode()
print(data.decode("latin-1"))
"""
ANSWER = 60  # bytes that the server of the tests sends for each hello


def sized(size, data):
    return len(data).to_bytes(size, "big") + data


def record(data, kind=22):
    return bytes([kind, 3, 3]) + sized(2, data)


def extension(kind, data):
    return struct.pack(">H", kind) + sized(2, data)


def hello(name, key=True, records=1):
    """A ClientHello of TLS 1.3; without a key, so that the server must request one."""
    names = extension(0, sized(2, b"\0" + sized(2, name.encode()))) if name else b""
    keys = sized(2, struct.pack(">H", 29) + sized(2, b"k" * 32) if key else b"")
    extensions = (names + extension(43, b"\2\3\4") + extension(10, sized(2, b"\0\x1d"))
                  + extension(13, sized(2, b"\4\3\x08\4")) + extension(51, keys))
    body = (b"\3\3" + b"r" * 32 + sized(1, b"s" * 32) + sized(2, b"\x13\1\x13\2") + b"\1\0"
            + sized(2, extensions))
    message = b"\1" + sized(3, body)
    step = -(-len(message) // records)
    return b"".join(record(message[at:at + step]) for at in range(0, len(message), step))


def talk(run, script, port, most=10 ** 6, host="public.test", rules=None, **more):
    rules = [f"{host}:{port}"] if rules is None else rules
    return run(TALK.format(host=host, port=port, script=script, most=most), *rules, **more)


def verdict(result):
    return [entry["verdict"] for entry in result["network"]]


GOOD, EVIL = hello("public.test"), hello("evil.test")
CHANGE, EARLY = record(b"\1", 20), record(b"early", 23)


@pytest.mark.parametrize("second", [
    [EVIL], [CHANGE, EVIL], [EARLY, CHANGE, EVIL], [hello("evil.test", records=5)],
    [bytes([byte]) for byte in EVIL], [EVIL[:30], EVIL[30:]], [record(b"\1\0", 21) + EVIL],
], ids=["at once", "behind a change", "behind early data", "in records", "in bytes", "in two", "behind an alert"])
@pytest.mark.parametrize("early", [False, True], ids=["asked", "unasked"])
def test_second_hello_for_another_host_never_arrives(run, world, second, early):
    script = [(0, [GOOD, *second])] if early else [(0, [GOOD]), (ANSWER, second)]
    result = talk(run, script, RETRY_PORT + 1)
    assert verdict(result) == ["refused_protocol"], result
    assert "evil.test" not in json.dumps(world.visits()[0])


def test_second_hello_in_the_record_of_the_first(run, world):
    both = record(GOOD[5:] + EVIL[5:])
    result = talk(run, [(0, [both])], RETRY_PORT + 1)
    assert verdict(result) == ["refused_protocol"], result
    assert world.visits()[0] in ([], [["::ffff:93.184.216.34", RETRY_PORT + 1, ""]])


@pytest.mark.parametrize("rule", ["any", "tls"])
@pytest.mark.parametrize("second", [[GOOD], [EARLY, CHANGE, hello("public.test", records=3)]])
def test_second_hello_for_the_host_passes(run, world, tmp_path, second, rule):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "one.json").write_text(json.dumps({"extends": "default", "network": {
        "allow": [{"host": "public.test", "ports": str(RETRY_PORT + 1), "protocol": rule}]}}))
    tmp_path.chmod(0o755)
    size = 2 * ANSWER + len(b"and the rest")
    script = [(0, [GOOD]), (ANSWER, second), (2 * ANSWER, [b"and ", b"the rest"])]
    result = talk(run, script, RETRY_PORT + 1, size, rules=(),
                  options=["--config", str(tmp_path), "--policy", "one"])
    assert verdict(result) == ["allowed"] and "and the rest" in result["stdout"], result
    seen = world.visits()[0][0][2]
    assert seen == (GOOD + b"|" + b"".join(second) + b"|and the rest").decode("latin-1")
    entry = result["network"][0]
    assert entry["bytes_up"] == len(seen) - 2 and entry["bytes_down"] == size


def test_what_follows_the_first_hello_waits_for_the_server_and_passes(run, world):
    """Early data, and any other: the server has received the hello that was checked."""
    script = [(0, [GOOD, EARLY, b"x" * 100000])]
    size = ANSWER + len(EARLY) + 100000
    result = talk(run, script, RETRY_PORT, size)
    assert verdict(result) == ["allowed"], result
    assert result["network"][0]["bytes_down"] == size, result
    # In clear it would be a hello; after the answer it is data that the two have agreed upon.
    result = talk(run, [(0, [GOOD]), (ANSWER, [EVIL])], RETRY_PORT, ANSWER + len(EVIL))
    assert verdict(result) == ["allowed"], result


def test_a_third_hello_is_refused(run, world):
    script = [(0, [GOOD]), (ANSWER, [GOOD]), (2 * ANSWER, [GOOD])]
    result = talk(run, script, RETRY_PORT + 2)
    assert verdict(result) == ["refused_protocol"], result


def test_a_true_server_that_wants_another_key(run, world):
    code = """
import socket, ssl
context = ssl.create_default_context(cafile="/sandbox/ca.pem")
s = socket.create_connection(("public.test", %d), timeout=10)
s = context.wrap_socket(s, server_hostname="public.test")
s.sendall(b"GET /bytes/300000 HTTP/1.0\\r\\n\\r\\n")
size = 0
while more := s.recv(65536):
    size += len(more)
print(s.version(), size > 300000)
""" % KEY_PORT
    result = run(code, f"public.test:{KEY_PORT}", options=["--in", f"ca.pem={world.directory}/ca.pem"])
    assert result["stdout"] == "TLSv1.3 True\n", result


def test_servers_that_do_not_speak_tls_go_on(run, world):
    """An echo of the hello is no answer to it, nor is anything else."""
    rest = b"and the rest"
    result = talk(run, [(0, [GOOD]), (len(GOOD), [rest])], 7000, len(GOOD) + len(rest))
    assert verdict(result) == ["allowed"] and "and the rest" in result["stdout"], result


@pytest.mark.parametrize("name", ["evil.test", "public.test", None])
def test_second_hello_where_tls_is_opened(opened, world, name):
    first, second = hello("api.test", key=False), hello(name)
    result = talk(opened.run, [(0, [first]), (80, [second])], 443, host="api.test", rules=())
    assert verdict(result) == ["refused_protocol"], result
    # The alert of an unknown name: the gate has not agreed to anything.
    assert result["stdout"].encode("latin-1").rstrip(b"\n").endswith(b"\x15\3\3\0\2\2\x70"), result
    assert world.visits()[0] == []


def test_second_hello_for_the_host_where_tls_is_opened(opened):
    first, second = hello("api.test", key=False), hello("api.test")
    result = talk(opened.run, [(0, [first]), (80, [second])], 443, 500, host="api.test", rules=())
    # A ServerHello with a key, a change of cipher, and sealed records.
    assert b"\x17\3\3" in result["stdout"].encode("latin-1"), result
