# SPDX-License-Identifier: Apache-2.0
"""Large bodies: ordinary ones are accepted, those made to be slow are refused."""

import base64
import hashlib
import json
import time

import pytest

MIB = 1 << 20
JSON = {"Content-Type": "application/json"}
HASH = "import sys, hashlib; d = sys.stdin.buffer.read(); print(len(d), hashlib.sha256(d).hexdigest())"


def digest(data):
    return f"{len(data)} {hashlib.sha256(data).hexdigest()}\n"


TEXTS = {
    "plain": "plain text " * 200_000,
    "unicode": "\u20ac\u00e9\U0001f600" * 200_000,
    "escapes": 'quotes " and \\ and / and \t\n\r\b\f ' * 60_000,
    "mark": "\x01" + "0" * 100_000,
    "delete": "\x7f" * 100_000,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_strings_arrive_as_they_were(unix, name, ascii_only):
    """Escaped or not, at any position."""
    text = TEXTS[name]
    body = json.dumps({"code": HASH, "stdin": text}, ensure_ascii=ascii_only).encode()
    answer = unix.ask("POST", "/v1/execute", body, JSON)
    assert answer.json()["stdout"] == digest(text.encode()), answer.body[:500]
    files = [{"path": f"f{i}", "content": text[: 50 * i]} for i in range(100)]
    code = "import hashlib\nfor i in range(100): print(hashlib.sha256(open(f'f{i}','rb').read()).hexdigest())"
    body = json.dumps({"code": code, "files": files}, ensure_ascii=ascii_only, indent=9).encode()
    answer = unix.ask("POST", "/v1/execute", body, JSON)
    assert answer.json()["stdout"].split() == [
        hashlib.sha256(f["content"].encode()).hexdigest() for f in files]


def test_marks_cannot_be_forged(unix):
    """No client's short string is taken for the reference to a long one."""
    args = ["\x010", "\x011", "\x01", "x" * 5000, "\x012", "y" * 20_000, "\x0199999999999"]
    answer = unix.run(code="import sys; print(ascii(sys.argv[1:]))", args=args)
    assert answer["stdout"] == ascii(args) + "\n"


@pytest.mark.parametrize("size", [0, 1, 2, 3, 100_000, 100_001, 100_002])
def test_base64_arrives(unix, size):
    data = bytes(i * 7 % 256 for i in range(size))
    answer = unix.run(code=HASH, stdin_base64=base64.b64encode(data).decode())
    assert answer["stdout"] == digest(data)


def bodies():
    large = 15 * MIB
    yield "numbers", b'{"code":"1","args":[' + b"1," * (large // 2) + b"1]}"
    yield "nesting", b'{"code":"1","args":[' + (b"[" * 29 + b"]" * 29 + b",") * (large // 59) + b"1]}"
    yield "keys", b'{"code":"1","env":{' + b",".join(b'"k%d":1' % i for i in range(1_200_000)) + b"}}"
    yield "long keys", (b'{"code":"1","env":{' + b",".join(
        b'"k%d%s":"1"' % (i, b"x" * 500) for i in range(29_000)) + b"}}")
    yield "one key", b'{"code":"1","env":{"' + b"k" * large + b'":"1"}}'


@pytest.mark.parametrize("name", ["numbers", "nesting", "keys", "long keys", "one key"])
def test_worst_shapes_are_turned_away(unix, name):
    body = dict(bodies())[name]
    start = time.monotonic()
    answer = unix.ask("POST", "/v1/execute", body, JSON)
    assert (answer.status, answer.code) == (400, "invalid_json"), (name, answer.body[:500])
    assert "values" in answer.json()["detail"]
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("wrong", [
    b"\\x", b"\\ud800", b"\\udc00\\ud800", b"\\u0000", b"\xff", b"\xc0\x80", b"\n", b"\x00", b"\\",
])
def test_wrong_strings_in_large_bodies(unix, wrong):
    body = b'{"code":"print(1)#' + b"x" * 100_000 + wrong + b'"}'
    answer = unix.ask("POST", "/v1/execute", body, JSON)
    assert (answer.status, answer.code) == (400, "invalid_json"), answer.body[:500]


def test_the_loop_is_measured(unix):
    text = unix.ask("GET", "/metrics").body.decode()
    line = next(x for x in text.splitlines() if x.startswith("brig_front_loop_longest_seconds "))
    assert 0 < float(line.split()[1]) < 30


def test_large_results_are_replayed(unix):
    code = "import sys; print('x' * 3_000_000); sys.stderr.write('\\u20ac' * 300_000)"
    found = unix.run(code=code, limits={"stdout_bytes": 4_000_000, "stderr_bytes": 1_000_000})
    answer = unix.ask("GET", f"/v1/executions/{found['id']}/events")
    events = answer.events()
    outputs = {"stdout": "", "stderr": ""}
    for _, name, data in events:
        if name == "output":
            outputs[data["stream"]] += data["data"]
    assert outputs["stdout"] == found["stdout"] and outputs["stderr"] == found["stderr"]
    assert events[-1][1] == "result" and events[-1][2] == found
