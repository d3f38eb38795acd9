# SPDX-License-Identifier: Apache-2.0
"""Errors are refused, by name; no internals of the host are reported."""

import json
import re

import pytest
from conftest import OPENAPI, serve

RUN = "/v1/execute"


def refuse(client, body, status=400, code="invalid_request", path=RUN, method="POST"):
    answer = client.ask(method, path, body, {"Content-Type": "application/json"})
    assert (answer.status, answer.code) == (status, code), answer.body
    problem = answer.json()
    assert not re.search(r"/(etc|usr|var|proc|run|tmp|home|root)\b|0x[0-9a-f]{6,}|\.c:\d", str(problem))
    return problem


# --- JSON ---------------------------------------------------------------------------------------------

MALFORMED = {
    "empty": b"",
    "blank": b"   ",
    "not json": b"code=print(1)",
    "an array": b"[]",
    "a string": b'"x"',
    "null": b"null",
    "cut off": b'{"code":"x"',
    "trailing data": b'{"code":"x"} {}',
    "trailing comma": b'{"code":"x",}',
    "a comment": b'{"code":"x"/* */}',
    "single quotes": b"{'code':'x'}",
    "byte order mark": b'\xef\xbb\xbf{"code":"x"}',
    "utf-16": '{"code":"x"}'.encode("utf-16"),
    "wrong utf-8": b'{"code":"\xff"}',
    "overlong utf-8": b'{"code":"\xc0\x80"}',
    "a lone surrogate": b'{"code":"\\ud800"}',
    "a surrogate as bytes": b'{"code":"\xed\xa0\x80"}',
    "an escaped NUL": b'{"code":"a\\u0000b"}',
    "a NUL": b'{"code":"a\0b"}',
    "a newline in a string": b'{"code":"a\nb"}',
    "a key twice": b'{"code":"a","code":"b"}',
    "a limit twice": b'{"code":"a","limits":{"memory_bytes":1000000,"memory_bytes":2}}',
    "too large a number": b'{"code":"a","timeout_ms":1e999}',
    "too large an integer": b'{"code":"a","timeout_ms":99999999999999999999999999}',
    "NaN": b'{"code":"a","timeout_ms":NaN}',
    "Infinity": b'{"code":"a","timeout_ms":Infinity}',
    "hex": b'{"code":"a","timeout_ms":0x10}',
    "a leading zero": b'{"code":"a","timeout_ms":010}',
    "deep": b"[" * 100000,
    "deep objects": b'{"a":' * 50000 + b"1" + b"}" * 50000,
    "deep in a key": b'{"code":"x","files":' + b"[" * 40 + b"]" * 40 + b"}",
    "a million keys": b"{" + b",".join(b'"k%d":0' % i for i in range(1000000)) + b"}",
    "a million numbers": b'{"args":[' + b"0," * 1000000 + b"0]}",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_json(unix, name):
    refuse(unix, MALFORMED[name], code="invalid_json")


def test_the_place_is_named(unix):
    problem = refuse(unix, b'{\n "code": "x",\n "files": oops }', code="invalid_json")
    assert "line 3" in problem["detail"]


# --- fields -------------------------------------------------------------------------------------------

WRONG = [
    ({}, "code"),
    ({"code": ""}, "code"),
    ({"code": None}, "code"),
    ({"code": 5}, "code"),
    ({"code": ["x"]}, "code"),
    ({"code": "x", "language": 3}, "language"),
    ({"code": "x", "language": "../python"}, "language"),
    ({"code": "x", "language": ""}, "language"),
    ({"code": "x", "policy": "a/b"}, "policy"),
    ({"code": "x", "policy": "no-such-policy"}, "no-such-policy"),
    ({"code": "x", "timeout_ms": 0}, "timeout_ms"),
    ({"code": "x", "timeout_ms": -1}, "timeout_ms"),
    ({"code": "x", "timeout_ms": "5"}, "timeout_ms"),
    ({"code": "x", "timeout_ms": True}, "timeout_ms"),
    ({"code": "x", "timeout_ms": 1e300}, "timeout_ms"),
    ({"code": "x", "timeout_ms": 1e-300}, "timeout_ms"),
    ({"code": "x", "timeout_ms": 999999999}, "wall"),
    ({"code": "x", "timeout_ms": 5, "limits": {"wall_ms": 5}}, "timeout_ms"),
    ({"code": "x", "limits": []}, "limits"),
    ({"code": "x", "limits": {"memory_bytes": -1}}, "limits.memory_bytes"),
    ({"code": "x", "limits": {"memory_bytes": 0}}, "limits.memory_bytes"),
    ({"code": "x", "limits": {"memory_bytes": 1.5}}, "limits.memory_bytes"),
    ({"code": "x", "limits": {"memory_bytes": "256M"}}, "limits.memory_bytes"),
    ({"code": "x", "limits": {"memory_bytes": 2**62}}, "limits.memory_bytes"),
    ({"code": "x", "limits": {"memory_bytes": 2**45}}, "memory"),
    ({"code": "x", "limits": {"processes": -5}}, "limits.processes"),
    ({"code": "x", "limits": {"nosuch": 1}}, "limits.nosuch"),
    ({"code": "x", "env": []}, "env"),
    ({"code": "x", "env": {"A=B": "x"}}, "env"),
    ({"code": "x", "env": {"": "x"}}, "env"),
    ({"code": "x", "env": {"1A": "x"}}, "env"),
    ({"code": "x", "env": {"A": 5}}, "env"),
    ({"code": "x", "args": "a"}, "args"),
    ({"code": "x", "args": [1]}, "args"),
    ({"code": "x", "args": ["a"] * 1001}, "args"),
    ({"code": "x", "out": {"a": 1}}, "out"),
    ({"code": "x", "stdin": 5}, "stdin"),
    ({"code": "x", "stdin_base64": "!!"}, "stdin_base64"),
    ({"code": "x", "stdin_base64": "YQ"}, "stdin_base64"),
    ({"code": "x", "stdin_base64": "YQ=="[:3]}, "stdin_base64"),
    ({"code": "x", "stdin_base64": 5}, "stdin_base64"),
    ({"code": "x", "stdin": "a", "stdin_base64": "YQ=="}, "stdin"),
    ({"code": "x", "want_value": 1}, "want_value"),
    ({"code": "x", "changes": "yes"}, "changes"),
    ({"code": "x", "stream": "yes"}, "stream"),
    ({"code": "x", "start": "hot"}, "start"),
    ({"code": "x", "session": "a/b"}, "session"),
    ({"code": "x", "session": "x" * 65}, "session"),
    ({"code": "x", "files": {}}, "files"),
    ({"code": "x", "files": ["a"]}, "files[0]"),
    ({"code": "x", "files": [{}]}, "files[0].path"),
    ({"code": "x", "files": [{"path": "a"}]}, "files[0]"),
    ({"code": "x", "files": [{"path": "a", "content": "", "content_base64": ""}]}, "files[0]"),
    ({"code": "x", "files": [{"path": "a", "content": 5}]}, "files[0].content"),
    ({"code": "x", "files": [{"path": "a", "content_base64": "%"}]}, "files[0].content_base64"),
    ({"code": "x", "files": [{"path": "a", "content": "", "mode": 7}]}, "files[0].mode"),
    ({"code": "x", "files": [{"path": "a", "content": ""}] * 2}, "files[1].path"),
    ({"code": "x", "files": [{"path": "a", "content": ""}] * 1001}, "files"),
    # Fields that only libbrig's own callers may set.
    ({"code": "x", "consent": "yes"}, "consent"),
    ({"code": "x", "tenant": "uid:0"}, "tenant"),
    ({"code": "x", "mounts": [{"path": "/etc"}]}, "mounts[0].path"),
    ({"code": "x", "mounts": [{"name": "/etc"}]}, "mounts[0].name"),
    ({"code": "x", "file": "/etc/passwd"}, "file"),
    ({"code": "x", "command": ["sh"]}, "command"),
    ({"code": "x", "__proto__": {}}, "__proto__"),
]


@pytest.mark.parametrize("body,named", WRONG, ids=[str(i) + "-" + n for i, (_, n) in enumerate(WRONG)])
def test_wrong_fields_are_named(unix, body, named):
    problem = refuse(unix, body)
    assert named in problem["detail"], problem


def test_an_unknown_key_is_answered_with_the_nearest(unix):
    problem = refuse(unix, {"code": "x", "timeout": 5, })
    assert "timeout" in problem["detail"] and "timeout_ms" in problem["remedy"]
    problem = refuse(unix, {"code": "x", "languge": "python"})
    assert "did you mean language?" in problem["remedy"]


def test_null_is_not_given(unix):
    assert unix.run({"code": "print(1)", "stdin": None, "limits": None, "policy": None})["status"] == "ok"


NAMES = [
    "../x", "a/../../x", "/etc/passwd", "a//b", "./a", "a/.", "", "..", "a\nb", "a\x7fb", "x" * 256,
    "/".join(["d"] * 40), "a\\b", "C:evil", "C:/x", "-rf", "a/-x", "con", "aux.txt", "NUL", "com1.log",
    "lpt9", "e\u0301", "a ", "x" * 1100,
]


@pytest.mark.parametrize("name", NAMES)
def test_file_names(unix, name):
    problem = refuse(unix, {"code": "x", "files": [{"path": name, "content": ""}]})
    assert "files[0]" in problem["detail"]


def test_unknown_language_lists_the_known(unix):
    problem = refuse(unix, {"code": "x", "language": "cobol"}, code="unsupported_language")
    assert "python" in problem["detail"] + problem["remedy"]


# --- HTTP ---------------------------------------------------------------------------------------------


def test_methods(unix):
    for path, allowed in (("/v1/execute", "POST"), ("/v1/executions", "POST, GET"), ("/v1/health", "GET, HEAD")):
        answer = unix.ask("PATCH" if path != "/v1/health" else "DELETE", path)
        assert (answer.status, answer.code) == (405, "method_not_allowed")
        assert answer.header("Allow") == allowed


def test_no_such_path(unix):
    for path in ("/", "/v1", "/v1/", "/v1/execute/", "/v2/execute", "/v1/executions//events", "/x"):
        answer = unix.ask("GET", path)
        assert answer.status in (404, 400), path


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded",
                                  "multipart/form-data; boundary=x", "application/jsonp",
                                  "text/plain; application/json"])
def test_bodies_are_json(unix, kind):
    """Requests that the form of a web page can send without a preflight are never accepted."""
    headers = {"Content-Type": kind} if kind else {}
    answer = unix.ask("POST", RUN, b'{"code":"print(1)"}', headers)
    assert (answer.status, answer.code) == (415, "unsupported_media_type")


def test_json_with_a_charset(unix):
    answer = unix.ask("POST", RUN, b'{"code":"print(1)"}',
                      {"Content-Type": "application/json; charset=utf-8"})
    assert answer.status == 200


def test_too_large(service, unix):
    connection = unix.connect()
    connection.putrequest("POST", RUN)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 413
    assert json.loads(response.read())["code"] == "content_too_large"


def test_a_body_where_none_belongs(unix):
    answer = unix.ask("GET", "/v1/runtimes", b"{}", {"Content-Type": "application/json"})
    assert answer.status in (400, 413)


def test_no_cors(unix):
    answer = unix.ask("OPTIONS", RUN, headers={"Access-Control-Request-Method": "POST"})
    assert answer.status == 405
    assert not [k for k, _ in answer.headers if k.lower().startswith("access-control")]


def test_health_needs_nothing_and_tells_nothing(service):
    answer = service.tcp().ask("GET", "/v1/health")
    assert answer.json() == {"status": "ok"} and answer.header("Server") is None


def test_the_description_is_served(unix):
    assert unix.ask("GET", "/openapi.json").json() == OPENAPI


def test_the_service_lives_after_all_this(service, unix):
    assert unix.run(code="print(1)")["stdout"] == "1\n"
    assert service.server.readies() == 1, service.server.log()


def test_every_code_is_documented():
    text = (serve.Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
    for code in OPENAPI["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]:
        assert f"`{code}`" in text, code


# --- the rest of the codes ----------------------------------------------------------------------------


@pytest.mark.root  # an ordinary user may lack layers first
def test_what_a_policy_forbids(unix):
    problem = refuse(unix, {"code": "1", "policy": "strict", "env": {"A": "1"}}, 403, "policy_forbids")
    assert "strict" in problem["detail"]
    refuse(unix, {"code": "int main(){}", "policy": "strict", "language": "c"}, 403, "policy_forbids")


def test_what_wants_a_persons_word(unix):
    refuse(unix, {"code": "print(1)", "policy": "open"}, 403, "consent_required")


def test_a_head_that_is_too_large(unix):
    answer = unix.ask("GET", "/v1/runtimes", headers={"X-Large": "x" * 100000})
    assert (answer.status, answer.code) == (431, "head_too_large")


def test_a_request_that_is_too_slow(make_service):
    made = make_service("--set", "http.head_timeout=300ms")
    connection = made.unix().connect()
    connection.connect()
    connection.sock.sendall(b"GET /v1/runtimes HTTP/1.1\r\nHost: x\r\n")
    text = connection.sock.recv(65536).decode()
    assert text.startswith("HTTP/1.1 408 ") and '"code":"request_timeout"' in text
    connection.close()


def test_no_new_runs_while_going_down(make_service):
    made = make_service("--set", "drain_timeout=10s")
    client = made.unix()
    slow = serve.UnixConnection(made.server.socket)
    waiting = serve.UnixConnection(made.server.socket)
    slow.request("POST", RUN, json.dumps({"code": "import time; time.sleep(1.5)"}),
                 {"Content-Type": "application/json"})
    waiting.request("GET", "/v1/health")
    waiting.getresponse().read()
    serve.wait_for(lambda: client.ask("GET", "/v1/executions").json()["executions"], 10, "it runs")
    made.server.process.terminate()
    assert json.loads(slow.getresponse().read())["status"] == "ok"
    assert made.server.process.wait(20) == 0
