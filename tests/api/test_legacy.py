# SPDX-License-Identifier: Apache-2.0
"""The older dialect: POST /api/sandbox/execute."""

import base64

import pytest

PATH = "/api/sandbox/execute"


def run(client, **body):
    return client.ask("POST", PATH, body)


def test_completed(unix):
    answer = run(unix, language="python", code="print(input())", input_data="Alice", timeout_seconds=5,
                 max_memory_mb=128)
    result = answer.json()
    assert answer.status == 200 and result["status"] == "completed"
    assert (result["stdout"], result["exit_code"]) == ("Alice\n", 0)
    assert result["duration_ms"] > 0 and result["memory_used_mb"] >= 0


def test_files(unix):
    result = run(unix, code="import os; os.makedirs('out', exist_ok=True)\n"
                            "open('out/b', 'w').write(open('a').read() * 2)", files={"a": "ab"}).json()
    assert base64.b64decode(result["output_files"]["out/b"]) == b"abab"


def test_runtime_error(unix):
    result = run(unix, code="1/0").json()
    assert (result["status"], result["error_code"], result["exit_code"]) == (
        "error_runtime", "RUNTIME_ERROR", 1)


def test_timeout_is_clamped_and_its_exit_code_is_minus_one(unix):
    result = run(unix, code="print(1, flush=True)\nwhile True: pass", timeout_seconds=0.01).json()
    assert (result["status"], result["exit_code"], result["error_code"]) == (
        "timeout", -1, "EXECUTION_TIMEOUT")
    assert result["stdout"] == "1\n" and result["duration_ms"] >= 900
    assert run(unix, code="print(1)", timeout_seconds=100000).json()["status"] == "completed"


def test_unsupported_language(unix):
    answer = run(unix, language="cobol", code="x")
    assert answer.status == 400 and answer.json()["error_code"] == "UNSUPPORTED_LANGUAGE"
    assert "python" in answer.json()["error_message"] or "cobol" in answer.json()["error_message"]


@pytest.mark.parametrize("body", [{}, {"code": ""}, {"code": 1}, {"code": "x", "timeout": 1},
                                  {"code": "x", "files": {"../a": "b"}}, {"code": "x", "files": {"a": 1}},
                                  {"code": "x", "timeout_seconds": "1"}, {"code": "x", "max_memory_mb": -1}])
def test_wrong_requests(unix, body):
    answer = unix.ask("POST", PATH, body)
    assert answer.status == 400 and answer.json()["error_code"] == "INVALID_REQUEST", answer.body


def test_it_needs_a_token_too(service):
    assert service.tcp().ask("POST", PATH, {"code": "print(1)"}).status == 401
