# SPDX-License-Identifier: Apache-2.0
"""A15, A16, G1: output of a program is only output, and responses of the service reveal nothing of
the host."""

import base64
import json
import re
import time

import pytest
from callers import events_of

FRAME = 'id: end\nevent: result\ndata: {"id":"forged","status":"ok","stdout":"forged"}\n\n'
CLAIMS = {
    "sse": FRAME, "sse crlf": FRAME.replace("\n", "\r\n"), "sse cr": FRAME.replace("\n", "\r"),
    "sse after blank": "\n\n" + FRAME + FRAME, "comment": ":\n\nretry: 1\n\n",
    "http": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 401 x\r\n\r\n",
    "chunk": "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    "jsonrpc": '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"forged"}]}}\n' * 3,
    "result": '","status":"failed","exit_code":9,"stdout":"\n', "ndjson": '{"done":true,"count":0,"errors":0}\n',
    "separators": "a\u2028b\u2029c\u0085d", "controls": "".join(map(chr, range(32))) + "\x7f\u009b31m",
    "bytes": bytes(range(256)).decode("latin-1"), "lone": "\\ud800 \\u0000",
    "ledger": ',"result":{"id":"x","error":{"code":"not_found"}}',
}


def program(text):
    data = base64.b64encode(text.encode())
    return f"import sys, base64\nsys.stdout.buffer.write(base64.b64decode({data!r})); sys.stdout.flush()\n"


@pytest.mark.parametrize("name", CLAIMS)
def test_a15_output_is_output(mallory, name):
    """Streamed, at once, later, in a batch, in a session, by MCP, by the older dialect: the same
    bytes."""
    text = CLAIMS[name]
    code = program(text)
    assert mallory.run(code)["stdout"] == text
    events = mallory.ask("POST", "/v1/execute", {"code": code, "stream": True}).events()
    assert {e[1] for e in events[:-1]} <= {"output"} and events[-1][1] == "result"
    assert "".join(json.loads(e[2])["data"] for e in events[:-1]) == text
    assert json.loads(events[-1][2])["stdout"] == text and events[-1][0] == "end"
    order = mallory.order(code)
    assert mallory.wait(order)["result"]["stdout"] == text
    replayed = mallory.ask("GET", f"/v1/executions/{order}/events").events()
    assert [e[1] for e in replayed] == ["output", "result"]
    lines = mallory.ask("POST", "/v1/batch", {"programs": [{"code": code}]}).body.splitlines()
    assert len(lines) == 2 and json.loads(lines[0])["result"]["stdout"] == text
    assert json.loads(lines[1]) == {"done": True, "count": 1, "errors": 0}
    assert mallory.ask("POST", "/api/sandbox/execute", {"code": code}).json()["stdout"] == text
    result = mallory.mcp().call("execute_code", code=code)
    assert result["structuredContent"]["stdout"] == text and not result["isError"]


def test_a15_raw_bytes(mallory):
    data = bytes(range(256)) * 3 + b"\xff\xfe\xc0\xaf\xed\xa0\x80"
    result = mallory.run(f"import sys; sys.stdout.buffer.write({data!r})")
    assert result["encoding"] == "base64" and base64.b64decode(result["stdout"]) == data
    answer = mallory.ask("POST", "/v1/execute", {"code": f"import sys; sys.stdout.buffer.write({data!r})",
                                                 "stream": True})
    parts = [json.loads(e[2]) for e in answer.events()[:-1]]
    joined = b"".join(base64.b64decode(p["data_base64"]) if "data_base64" in p else p["data"].encode()
                      for p in parts)
    assert joined == data


VALUES = ["'\\n\\nevent: result\\ndata: {}\\n\\n'", "{'id': 'x', 'status': 'failed', 'error': {'code': 'internal'}}",
          "{'usage': {'cpu_ms': 0}}", "'\\u2028\\x00\\x1b'", "{'\\n\\n': 1}", "1e308", "float('nan')", "float('inf')",
          "[[[[]]]] * 1000", "{'result': None, 'error': {'code': 'not_found'}}"]


@pytest.mark.parametrize("value", VALUES)
def test_a15_values(mallory, value):
    events = mallory.ask("POST", "/v1/execute", {"code": value, "stream": True}).events()
    assert [e[1] for e in events] == ["result"]
    result = json.loads(events[0][2])
    assert result["status"] == "ok" and len(result["id"]) == 26
    found = mallory.ask("GET", f"/v1/executions/{result['id']}").json()
    assert found["status"] == "ok" and found["error"] is None and found["result"]["id"] == result["id"]
    lines = mallory.ask("POST", "/v1/batch", {"programs": [{"code": value}]}).body.splitlines()
    assert len(lines) == 2 and json.loads(lines[0])["result"]["status"] == "ok"


def test_g1_descriptors(mallory):
    """Bytes on every descriptor that a program has or may guess."""
    code = ("import os\nfor fd in range(64):\n  try: os.write(fd, b'{\"id\":\"forged\",\"status\":\"ok\"}\\n\\n')\n"
            "  except OSError: pass\nos._exit(7)")
    result = mallory.run(code, want_value=False)
    assert result["exit_code"] == 7 and result["status"] == "failed" and result["id"] != "forged"
    session = mallory.session()
    answer = mallory.ask("POST", f"/v1/sessions/{session}/execute", {"code": code})
    assert answer.status in (200, 410)
    assert answer.status == 410 or answer.json()["id"] != "forged"
    mallory.ask("DELETE", f"/v1/sessions/{session}")


def test_a15_files_with_odd_names(mallory):
    code = "for n in ('a\\nb', 'c\\r\\n\\r\\nd', 'e\"f', '\\x1b[31m', 'g\\\\h'): open('out/' + n, 'w').write('x')"
    for stream in (False, True):
        answer = mallory.ask("POST", "/v1/execute", {"code": code, "stream": stream, "changes": True})
        assert b"\x1b" not in answer.body and b"\r\n\r\nd" not in answer.body
        result = json.loads(answer.events()[-1][2]) if stream else answer.json()
        assert result["status"] == "ok"
    code = """open('out/a","status":"forged","x":"', 'w').write('x')"""
    old = mallory.ask("POST", "/api/sandbox/execute", {"code": code}).json()
    assert old["status"] == "completed" and len(old["output_files"]) <= 1


def test_a15_headers_cannot_be_split(mallory):
    """Values from a client are repeated in no header."""
    for key in ("a%0d%0aX-Forged:1", "x\u00e9y"):
        answer = mallory.ask("POST", "/v1/execute", {"code": "1"}, {"Idempotency-Key": key.encode("latin-1")})
        assert answer.header("X-Forged") is None
    answer = mallory.ask("GET", "/v1/executions/a%0d%0aX-Forged:1")
    assert answer.status in (400, 404) and answer.header("X-Forged") is None
    answer = mallory.ask("DELETE", "/v1/execute%0d%0aX-Forged:1")
    assert answer.header("X-Forged") is None


# --- A16 --------------------------------------------------------------------------------------------

WRONG = [
    ("POST", "/v1/execute", {"code": "1", "language": "cobol"}),
    ("POST", "/v1/execute", {"code": "1", "policy": "nothing"}),
    ("POST", "/v1/execute", {"code": "1", "limits": {"memory_bytes": 1}}),
    ("POST", "/v1/execute", {"code": "1", "limits": {"memory_bytes": 1 << 49}}),
    ("POST", "/v1/execute", {"code": "1", "limits": {"processes": 1, "open_files": 1}}),
    ("POST", "/v1/execute", {"code": "1", "files": [{"path": "a", "content": ""}, {"path": "a/b", "content": ""}]}),
    ("POST", "/v1/execute", {"code": "1", "env": {"LD_PRELOAD": "x"}}),
    ("POST", "/v1/execute", {"code": "1", "session": "x"}),
    ("POST", "/v1/sessions", {"language": "c"}), ("POST", "/v1/sessions", {"policy": "nothing"}),
    ("POST", "/v1/policies/check", {"code": "1", "policy": "nothing"}),
    ("POST", "/v1/policies/check", {"code": "1", "policy": "local"}),
    ("POST", "/v1/policies/check", {"code": "1", "limits": {"memory_bytes": 1 << 49}}),
    ("POST", "/api/sandbox/execute", {"code": "1", "language": "cobol"}),
    ("GET", "/v1/sessions/x/files/y", None), ("GET", "/nothing", None), ("PATCH", "/v1/execute", None),
    ("POST", "/mcp", {"x": 1}), ("GET", "/v1/executions?before=x", None),
]


def assert_tells_nothing(text, house):
    assert str(house.server.dir) not in text and str(house.server.socket) not in text
    assert not re.search(r"(?<![\w.])/(usr|etc|proc|sys|tmp|var|home|root|run|work|opt|lib|dev)\b", text), text
    assert not re.search(r"0x[0-9a-f]{6,}|\.c:\d+|errno|src/|Traceback", text), text
    assert not re.search(r"\b(sqlite|jansson|llhttp|openssl|linux \d)", text, re.I), text


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a16_errors_tell_nothing(house, mallory, number):
    method, path, body = WRONG[number]
    answer = mallory.ask(method, path, body)
    assert answer.status >= 400 or "check" in path, answer.body
    assert_tells_nothing(answer.body.decode(), house)
    assert answer.header("Server") is None and answer.header("X-Powered-By") is None


def test_a16_errors_of_mcp(house, mallory):
    peer = mallory.mcp()
    session = mallory.session()
    mallory.run_in(session, "import os; os.mkdir('dir'); os.symlink('/etc/passwd', 'link'); os.mkfifo('fifo')")
    for tool, arguments in (
        ("execute_code", {"code": "1", "language": "cobol"}), ("open_session", {"language": "cobol"}),
        ("open_session", {"language": "c"}), ("execute_code", {"code": "1", "session_id": "a b"}),
        ("read_file", {"session_id": session, "path": "dir"}), ("read_file", {"session_id": session, "path": "link"}),
        ("read_file", {"session_id": session, "path": "fifo"}), ("read_file", {"session_id": session, "path": "none"}),
        ("write_file", {"session_id": session, "path": "link/x", "content": ""}),
        ("write_file", {"session_id": session, "path": "dir", "content": ""}),
        ("write_file", {"session_id": session, "path": "x/" * 30 + "y", "content": ""}),
        ("delete_file", {"session_id": session, "path": "dir"}),
        ("execute_code", {"code": "1", "session_id": session, "language": "bash"}),
        ("execute_code", {"code": "1", "timeout": 1e6}),
    ):
        wrong, text = peer.text(tool, **arguments)
        assert wrong or tool in ("write_file", "delete_file"), (tool, arguments)
        assert_tells_nothing(text, house)
    mallory.ask("DELETE", f"/v1/sessions/{session}")


def test_a16_results_tell_nothing(house, mallory):
    """Also of errors in the cell."""
    for code in ("import os; os.abort()", "x = ' ' * (1 << 40)", "1/0", "open('/nothing')", "import nothing"):
        text = json.dumps(mallory.run(code))
        assert str(house.server.dir) not in text and "brig-serve" not in text


def test_a16_metrics_name_nobody(house, mallory, belongings):
    text = mallory.ask("GET", "/metrics").body.decode()
    assert "alice" not in text and belongings.session not in text and str(house.server.dir) not in text


def test_events_of_a_slow_program_stay_whole(mallory):
    """A frame in pieces, with time between them."""
    code = "import sys, time\nfor c in 'id: end\\nevent: result\\ndata: {}\\n\\n':\n" \
           "  sys.stdout.write(c); sys.stdout.flush(); time.sleep(.002)\n"
    start = time.monotonic()
    answer = mallory.ask("POST", "/v1/execute", {"code": code, "stream": True})
    assert time.monotonic() - start < 60
    names = [e[1] for e in events_of(answer.body.decode())]
    assert names.count("result") == 1 and set(names) == {"output", "result"}
