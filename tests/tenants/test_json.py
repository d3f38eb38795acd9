# SPDX-License-Identifier: Apache-2.0
"""A8, A12: bodies that are almost JSON, and numbers that are almost limits."""

import base64
import json

import pytest
from callers import cpu_seconds, quiet

JSON = {"Content-Type": "application/json"}
BODIES = {
    "empty": b"", "blank": b"  ", "null": b"null", "array": b"[]", "string": b'"x"', "number": b"1",
    "open": b'{"code":"1"', "trailing": b'{"code":"1"} x', "two": b'{"code":"1"}{"code":"2"}',
    "comma": b'{"code":"1",}', "comment": b'{"code":"1"/**/}', "single": b"{'code':'1'}",
    "bom": b'\xef\xbb\xbf{"code":"1"}', "utf16": '{"code":"1"}'.encode("utf-16"),
    "latin1": b'{"code":"\xe9"}', "overlong": b'{"code":"\xc0\xaf"}', "surrogate": b'{"code":"\\ud800"}',
    "surrogates": b'{"code":"\\udc00\\ud800"}', "raw surrogate": b'{"code":"\xed\xa0\x80"}',
    "nul": b'{"code":"a\\u0000b"}', "raw nul": b'{"code":"a\x00b"}', "nul key": b'{"code\\u0000":"1"}',
    "control": b'{"code":"a\nb"}', "deep": b'{"code":' + b"[" * 100000 + b"]" * 100000 + b"}",
    "deep objects": b'{"a":' * 50000 + b"1" + b"}" * 50000, "open deep": b"[" * 1000000,
    "many keys": b"{" + b",".join(b'"k%d":1' % i for i in range(200000)) + b"}",
    "many items": b'{"code":"1","args":[' + b",".join([b'"x"'] * 200000) + b"]}",
    "twice": b'{"code":"print(1)","code":"print(2)"}',
    "policy twice": b'{"code":"1","policy":"strict","policy":"default"}',
    "limits twice": b'{"code":"1","limits":{"wall_ms":1},"limits":{"wall_ms":9000}}',
    "escaped twice": b'{"code":"1","policy":"strict","polic\\u0079":"default"}',
    "file twice": b'{"code":"1","files":[{"path":"a","path":"b","content":""}]}',
    "case": b'{"Code":"1"}', "unknown": b'{"code":"1","mounts":["/"]}',
    "command": b'{"code":"1","command":["/bin/sh"]}', "proto": b'{"code":"1","__proto__":{"policy":"x"}}',
    "consent": b'{"code":"1","consent":true}', "file": b'{"file":"/etc/passwd"}',
    "nan": b'{"code":"1","timeout_ms":NaN}', "infinity": b'{"code":"1","timeout_ms":Infinity}',
    "huge": b'{"code":"1","timeout_ms":1e999}', "hex": b'{"code":"1","timeout_ms":0x10}',
    "plus": b'{"code":"1","timeout_ms":+1}', "octal": b'{"code":"1","timeout_ms":010}',
}


# A person's consent is a key of these, and not allowed to all; elsewhere it is unknown, or
# something is missing.
CONSENT = ("/v1/execute", "/v1/executions", "/v1/policies/check")


@pytest.mark.parametrize("name", BODIES)
def test_a8_bodies(mallory, name):
    for path in ("/v1/execute", "/v1/executions", "/v1/sessions", "/v1/batch", "/v1/policies/check",
                 "/api/sandbox/execute"):
        answer = mallory.ask("POST", path, BODIES[name], JSON)
        forbidden = name == "consent" and path in CONSENT
        assert answer.status == (403 if forbidden else 400), (path, answer.status, answer.body[:300])
        assert not forbidden or answer.code == "consent_not_allowed"
        assert len(answer.body) < 4000
        json.loads(answer.body)


@pytest.mark.parametrize("name", [n for n in BODIES if n not in ("case", "unknown", "null")])
def test_a8_bodies_of_mcp(mallory, name):
    peer = mallory.mcp()
    answer = mallory.ask("POST", "/mcp", BODIES[name], {**peer.headers, **JSON})
    assert answer.status == 400, (answer.status, answer.body[:300])
    assert peer.post("ping", {}).status == 200


def test_a8_names_are_told_whole(mallory):
    """A key that is cut in an error's text is not cut through a character."""
    for key in ("k" * 63 + "é", "k" * 62 + "€€", "🦊" * 40, "\x01\x1b[31m", "a\nb", "k" * 100000):
        answer = mallory.ask("POST", "/v1/execute", {"code": "1", key: 1})
        assert answer.status == 400
        text = answer.body.decode("utf-8")
        assert all(ord(c) >= 32 for c in text) and len(text) < 4000
        for body in ({"code": "1", "env": {key: "x"}}, {"code": "1", "limits": {key: 1}}):
            answer = mallory.ask("POST", "/v1/execute", body)
            assert answer.status == 400 and answer.body.decode("utf-8")


NUMBERS = ["-1", "-0.0001", "0", "-9223372036854775808", "9223372036854775807", "18446744073709551616",
           "1e300", "1e999", "-1e999", '"1000"', "true", "[1000]", '{"a":1}', "1e18", "NaN"]
LIMITS = ["wall_ms", "cpu_ms", "cpu_millicores", "memory_bytes", "processes", "disk_bytes", "disk_inodes",
          "open_files", "file_bytes", "stdout_bytes", "stderr_bytes"]


@pytest.mark.parametrize("limit", LIMITS)
def test_a12_limits(mallory, limit):
    """Invalid limits, or those above the policy's, are refused; nothing is silently reduced."""
    for number in NUMBERS:
        body = f'{{"code":"1","limits":{{"{limit}":{number}}}}}'
        for path in ("/v1/execute", "/v1/policies/check"):
            answer = mallory.ask("POST", path, body, JSON)
            if path == "/v1/policies/check" and answer.status == 200:
                assert answer.json()["allowed"] is False, (number, answer.body)
                continue
            assert answer.status in (400, 403), (number, path, answer.status, answer.body[:300])
        answer = mallory.ask("POST", "/v1/sessions", body.replace('"code":"1",', ""), JSON)
        assert answer.status in (400, 403), (number, answer.status, answer.body[:300])


def test_a12_leases(mallory):
    for field in ("idle_timeout_ms", "lifetime_ms"):
        for number in NUMBERS:
            if number in ("1e18", "9223372036854775807", "18446744073709551616", "1e300"):
                continue
            answer = mallory.ask("POST", "/v1/sessions", f'{{"{field}":{number}}}', JSON)
            assert answer.status == 400, (field, number, answer.status, answer.body[:300])
        # A long one is shortened to the service's maximum, which is reported.
        answer = mallory.ask("POST", "/v1/sessions", {field: 1e12})
        assert answer.status == 201 and answer.json()["idle_timeout_ms"] <= 30 * 86400e3
        mallory.ask("DELETE", f"/v1/sessions/{answer.json()['id']}")


def test_a12_numbers_by_mcp(mallory):
    peer = mallory.mcp()
    for number in (-1, 0, 1e18, 1e300, "5", None, True, [5]):
        assert peer.text("execute_code", code="print(1)", timeout=number)[0], number
    for number in (-1, -(2**63), 2**63 - 1, 1e300, "5", True):
        wrong, text = peer.text("read_output", execution_id="0" * 26, offset=number)
        assert wrong, text


def test_a12_time_is_ended(mallory):
    """The one that ran forever elsewhere: it ends at its own limit."""
    for ask in ({"timeout_ms": 500}, {"limits": {"wall_ms": 500}}, {"timeout_ms": 500.9}):
        result = mallory.run("import time; time.sleep(30)", **ask)
        assert result["status"] == "timeout" and result["limits"]["wall_ms"] <= 501
    quiet(mallory)


@pytest.mark.parametrize("query", ["limit=-1", "limit=0", "limit=1001", "limit=1e3", "limit=0x10", "limit= 1",
                                   "limit=99999999999999999999", "before=", "before=x", "limit=1&limit=x",
                                   "tenant=alice", "before=%27%20OR%201", "limit=1;drop", "&&x"])
def test_a8_queries(mallory, query):
    answer = mallory.ask("GET", "/v1/executions?" + query.replace(" ", "%20"))
    assert answer.status == (403 if query.startswith("tenant=") else 400), answer.body[:300]


def test_a8_a_batch_is_read_once(house, mallory):
    """A large program and many inputs: checking them costs their sum, not their product."""
    content = base64.b64encode(bytes(9_000_000)).decode()
    program = {"code": "1", "files": [{"path": "a", "content_base64": content}]}
    before = cpu_seconds(house, "front")
    answer = mallory.ask("POST", "/v1/batch", {"programs": [program], "inputs": [{}] * 999 + [{"bad": 1}]})
    assert answer.status == 400 and "inputs[999].bad" in answer.json()["detail"], answer.body[:500]
    assert cpu_seconds(house, "front") - before < 2
