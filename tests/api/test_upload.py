# SPDX-License-Identifier: Apache-2.0
"""Long bodies: 20 MB in a request, read as they arrive, refused by a named limit."""

import base64
import hashlib
import itertools
import json
import os
import random
import re
import socket
from pathlib import Path

import pytest
from conftest import serve

MB = 1_000_000
JSON = {"Content-Type": "application/json"}
HASH = "import hashlib; print(hashlib.sha256(open('data.bin', 'rb').read()).hexdigest())"
DATA = random.Random(20).randbytes(20 * MB)
BASE64 = base64.b64encode(DATA).decode()
DIGEST = hashlib.sha256(DATA).hexdigest() + "\n"
FILE = {"path": "data.bin", "content_base64": BASE64}
LIMIT = 32 << 20


@pytest.fixture(scope="module")
def body():
    return json.dumps({"code": HASH, "files": [FILE]}).encode()


def role(server, name):
    """The process of a role."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if f"Name:\t{name}\n" in text and f"PPid:\t{server.process.pid}\n" in text:
            return status.parent
    raise AssertionError(name)


def memory(process, field):
    return int(re.search(rf"{field}:\s+(\d+)", (process / "status").read_text())[1]) * 1024


def test_file_of_20_mb(alice, body):
    assert alice.ask("POST", "/v1/execute", body, JSON).json()["stdout"] == DIGEST


def test_file_of_20_mb_in_a_queued_run(alice):
    assert alice.wait(alice.begin(code=HASH, files=[FILE]))["result"]["stdout"] == DIGEST


def test_file_of_20_mb_in_a_batch(alice):
    answer = alice.ask("POST", "/v1/batch", {"programs": [{"code": HASH}], "inputs": [{"files": [FILE]}]})
    assert json.loads(answer.body.splitlines()[0])["result"]["stdout"] == DIGEST


def test_files_of_20_mb_in_a_session(alice, body):
    opened = alice.ask("POST", "/v1/sessions", {"files": [FILE]}).json()
    session = f"/v1/sessions/{opened['id']}"
    assert alice.ask("POST", session + "/execute", {"code": HASH}).json()["stdout"] == DIGEST
    assert alice.ask("POST", session + "/execute", body, JSON).json()["stdout"] == DIGEST
    other = DATA[::-1]
    assert alice.ask("PUT", session + "/files/data.bin", other).status == 204
    answer = alice.ask("POST", session + "/execute", {"code": HASH})
    assert answer.json()["stdout"] == hashlib.sha256(other).hexdigest() + "\n"
    assert alice.ask("GET", session + "/files/data.bin").body == other
    alice.ask("DELETE", session)


def test_file_of_20_mb_in_the_older_dialect(alice):
    answer = alice.ask("POST", "/api/sandbox/execute", {
        "language": "python", "code": HASH, "files": {"data.bin": {"content_base64": BASE64}}})
    assert answer.json()["stdout"] == DIGEST
    text = "text \u20ac\n" * 100_000
    answer = alice.ask("POST", "/api/sandbox/execute", {
        "language": "python", "files": {"content_base64": text},
        "code": "print(len(open('content_base64').read()))"})
    assert answer.json()["stdout"] == f"{len(text)}\n"


def test_file_of_20_mb_by_mcp(alice):
    version = "2025-06-18"
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version}
    numbers = itertools.count(1)

    def post(method, params):
        connection, response = alice.open("POST", "/mcp", {
            "jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}, headers)
        text = response.read().decode()
        connection.close()
        assert response.status == 200, text[:300]
        return response, text

    opened, _ = post("initialize", {"protocolVersion": version, "capabilities": {},
                                    "clientInfo": {"name": "test", "version": "1"}})
    headers["Mcp-Session-Id"] = opened.getheader("Mcp-Session-Id")
    _, text = post("tools/call", {"name": "execute_code", "arguments": {"code": HASH, "files": [FILE]}})
    assert DIGEST.strip() in text, text[:500]


def test_long_values_in_any_place(alice):
    """As text, in base64, escaped or not: the program gets exactly the bytes that were sent."""
    text = "\u20ac\U0001f600\"\\/\n" * 60_000
    bytes_ = DATA[:500_001]
    fields = {
        "code": "import hashlib, sys\n"
                "for d in (open('t', 'rb').read(), open('b', 'rb').read(), sys.stdin.buffer.read()):\n"
                "    print(hashlib.sha256(d).hexdigest())\n" + "#" * 300_000,
        "files": [{"path": "t", "content": text},
                  {"path": "b", "content_base64": base64.b64encode(bytes_).decode()}],
        "stdin": text + "!", "args": ["a" * 100_000], "env": {"code": "c" * 1000, "content": "d" * 1000},
    }
    wanted = [hashlib.sha256(d).hexdigest() for d in (text.encode(), bytes_, text.encode() + b"!")]
    for ascii_only in (True, False):
        sent = json.dumps(fields, ensure_ascii=ascii_only).replace("/", "\\/").encode()
        assert alice.ask("POST", "/v1/execute", sent, JSON).json()["stdout"].split() == wanted
    fields.pop("stdin")
    fields["stdin_base64"] = base64.b64encode(bytes_).decode()
    fields["code"] += "\nimport os\nassert os.environ['code'] == 'c' * 1000, os.environ['code']"
    answer = alice.run(**fields)
    assert answer["stdout"].split() == wanted[:2] + [wanted[1]], answer


def test_the_front_does_not_hold_it(make_service, body):
    """The body goes to a memory file: the front's own memory does not grow."""
    service = make_service()
    client = service.unix()
    client.run(code="1")
    front = role(service.server, "brig-front")
    before = memory(front, "VmHWM")
    assert client.ask("POST", "/v1/execute", body, JSON).json()["stdout"] == DIGEST
    assert memory(front, "VmHWM") - before < 10 * MB


def test_a_queued_one_survives_the_front(make_service):
    service = make_service("--set", "runs.max=1", "--set", "runs.reserve=0")
    client = service.unix()
    first = client.begin(code="import time; time.sleep(600)", timeout_ms=30000)
    execution = client.begin(code=HASH, files=[FILE])
    os.kill(int(role(service.server, "brig-front").name), 9)
    serve.wait_for(lambda: service.server.readies() == 2, 30, "another start")
    assert client.wait(execution)["result"]["stdout"] == DIGEST
    assert client.wait(first)["status"] == "lost"


# --- refusals and their reasons -----------------------------------------------------------------


def door(service, head, name="alice"):
    raw = socket.create_connection(("127.0.0.1", service.port), timeout=30)
    raw.sendall(("POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 f"Authorization: Bearer {service.tokens[name]}\r\n" + head + "\r\n\r\n").encode())
    return raw


def rest(raw):
    text = b""
    while part := raw.recv(65536):
        text += part
    raw.close()
    return text


def test_limit_is_named_before_the_body_comes(service):
    for expects in ("", "\r\nExpect: 100-continue"):
        answer = rest(door(service, f"Content-Length: {LIMIT + 1}" + expects))
        assert answer.startswith(b"HTTP/1.1 413 "), answer[:200]
        assert f"more than {LIMIT} bytes (http.json_bytes)".encode() in answer


def test_limit_is_named_when_it_is_chunked(service):
    raw = door(service, "Transfer-Encoding: chunked")
    raw.sendall(b"%x\r\n" % (LIMIT + 1))
    answer = rest(raw)
    assert answer.startswith(b"HTTP/1.1 413 ") and b"(http.json_bytes)" in answer


def test_every_limit_has_its_name(make_service):
    service = make_service("--set", "http.json_bytes=1M", "--set", "http.file_bytes=2M",
                           "--set", "http.tenant_queued_bytes=700K", "--set", "runs.max=1",
                           "--set", "runs.reserve=0")
    client = service.unix()
    blanks = b" " * (1 << 20)
    answer = client.ask("POST", "/v1/execute", b'{"code":"1"}' + blanks, JSON)
    assert (answer.status, answer.code) == (413, "content_too_large")
    assert "more than 1048576 bytes (http.json_bytes)" in answer.json()["detail"]
    session = client.ask("POST", "/v1/sessions", {}).json()["id"]
    answer = client.ask("PUT", f"/v1/sessions/{session}/files/f", blanks * 2 + b"!")
    assert "more than 2097152 bytes (http.file_bytes)" in answer.json()["detail"]
    client.begin(code="import time; time.sleep(20)")
    client.begin(code="1" + " " * 600_000)
    answer = client.ask("POST", "/v1/executions", {"code": "1" + " " * 600_000})
    assert (answer.status, answer.code) == (429, "queue_full")
    assert "more than 716800 bytes (http.tenant_queued_bytes)" in answer.json()["detail"]


def test_expectation_is_met(service):
    text = json.dumps({"code": "print(len(open('f').read()))",
                       "files": [{"path": "f", "content": "x" * 400_000}]}).encode()
    raw = door(service, f"Content-Length: {len(text)}\r\nExpect: 100-continue\r\nConnection: close")
    assert raw.recv(100).startswith(b"HTTP/1.1 100 ")
    raw.sendall(text)
    assert b'"stdout":"400000\\n"' in rest(raw)


def test_chunks_of_a_byte(service):
    text = json.dumps({"code": "print(len(open('f').read()))",
                       "files": [{"path": "f", "content": "\u20ac\\" * 40_000}]}).encode()
    raw = door(service, "Transfer-Encoding: chunked\r\nConnection: close")
    raw.sendall(b"".join(b"1\r\n%c\r\n" % byte for byte in text) + b"0\r\n\r\n")
    assert b'"stdout":"80000\\n"' in rest(raw)


def test_a_body_that_stops_short(service, alice):
    for part in (1000, 300_000, 900_000):
        raw = door(service, "Content-Length: 1000000")
        raw.sendall((b'{"code":"1","files":[{"path":"f","content_base64":"' + b"A" * 1_000_000)[:part])
        raw.close()
    assert alice.run(code="print(1)")["stdout"] == "1\n"


WRONG = {
    "base64": (b'{"code":"1","files":[{"path":"f","content_base64":"%s!AAA"}]}' % (b"A" * 400_000),
               "invalid_request", "files[0].content_base64: not base64"),
    "stdin": (b'{"code":"1","stdin_base64":"%sA"}' % (b"A" * 400_000), "invalid_request", "not base64"),
    "escape": (b'{"code":"%s\\x"}' % (b" " * 400_000), "invalid_json", "escape"),
    "half a pair": (b'{"code":"%s\\ud800"}' % (b" " * 400_000), "invalid_json", "escape"),
    "utf-8": (b'{"code":"%s\xe2\x82"}' % (b" " * 400_000), "invalid_json", "UTF-8"),
    "nul": (b'{"code":"%s\\u0000"}' % (b" " * 400_000), "invalid_json", "u0000"),
    "no end": (b'{"code":"%s' % (b" " * 400_000), "invalid_json", "end"),
    "twice": (b'{"code":"%s","code":"2"}' % (b" " * 400_000), "invalid_json", "duplicate"),
    "nested": (b'{"code":"1","files":' + b"[" * 300_000, "invalid_json", "deep"),
    "files": (b'{"code":"1","files":[' + b",".join([b'{"path":"f","content":""}'] * 1_000_000) + b"]}",
              "invalid_json", "values"),
    "a long argument": (b'{"code":"1","args":["%s"]}' % (b"a" * (3 << 20)), "invalid_json", "besides code, input and files"),
    "long base64": (b'{"code":"1","files":[{"path":"f","content_base64":"%s!AAA"}]}' % (b"A" * (3 << 20)),
                    "invalid_request", "files[0].content_base64: not base64"),
    "array": (b'["%s"]' % (b" " * 400_000), "invalid_json", "object"),
    "a list as code": (b'{"code":["%s"]}' % (b"1" * 400_000), "invalid_request", "code: wanted a string"),
    "too much code": (b'{"code":"%s"}' % (b"1" * ((16 << 20) + 1)), "invalid_request", "code: longer than 16777216"),
    "another key": (b'{"code":"1","text":"%s"}' % (b" " * 400_000), "invalid_request", "text: there is no such key"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(alice, name):
    text, code, detail = WRONG[name]
    answer = alice.ask("POST", "/v1/execute", text, JSON)
    assert (answer.status, answer.code) == (400, code), answer.body[:300]
    assert detail in answer.json()["detail"]


def test_the_same_key_is_the_same_request(service, alice):
    """Also of a body that is not kept, with any framing."""
    text = json.dumps({"code": "import os; print(os.urandom(8).hex())", "stdin": "x" * 400_000}).encode()
    headers = {**JSON, "Idempotency-Key": "long"}
    first = alice.ask("POST", "/v1/execute", text, headers)
    again = alice.ask("POST", "/v1/execute", text, headers)
    assert again.header("Idempotent-Replayed") == "true"
    assert again.json()["stdout"] == first.json()["stdout"]
    raw = door(service, "Idempotency-Key: long\r\nTransfer-Encoding: chunked\r\nConnection: close")
    raw.sendall(b"%x\r\n" % len(text) + text + b"\r\n0\r\n\r\n")
    assert first.json()["stdout"].strip().encode() in rest(raw)
    other = alice.ask("POST", "/v1/execute", text[:-1] + b" }", headers)
    assert (other.status, other.code) == (422, "idempotency_mismatch")
