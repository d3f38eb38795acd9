# SPDX-License-Identifier: Apache-2.0
"""The older dialect: POST /api/sandbox/execute."""

import base64

import pytest
from conftest import Service

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
    assert result["output_files"] == {"out/b": "abab"}


def test_files_that_are_no_text(unix):
    """Both directions in the same form."""
    bytes_in = {"content_base64": base64.b64encode(b"\0\xff").decode()}
    code = "open('out/b', 'wb').write(open('a', 'rb').read()); open('out/c', 'w').write('\xfc\u2603')"
    result = run(unix, code="import os; os.makedirs('out', exist_ok=True); " + code, files={"a": bytes_in}).json()
    assert result["output_files"] == {"out/b": bytes_in, "out/c": "\xfc\u2603"}
    # Long code is not scanned: the front has other clients to serve.
    code = "import os; os.makedirs('out', exist_ok=True); open('out/long', 'w').write('x' * (3 << 20))"
    long = run(unix, code=code).json()["output_files"]["out/long"]
    assert base64.b64decode(long["content_base64"]) == b"x" * (3 << 20)


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
    assert "python" in answer.json()["error_message"] and "cobol" in answer.json()["error_message"]


@pytest.mark.parametrize("body", [{}, {"code": ""}, {"code": 1}, {"code": "x", "timeout": 1},
                                  {"code": "x", "files": {"../a": "b"}}, {"code": "x", "files": {"a": 1}},
                                  {"code": " \n"}, {"code": "x", "files": {"a": {"content_base64": "!"}}},
                                  {"code": "x", "files": {"a": {"path": "b", "mode": 1}}},
                                  {"code": "x", "timeout_seconds": "1"}, {"code": "x", "max_memory_mb": -1}])
def test_wrong_requests(unix, body):
    answer = unix.ask("POST", PATH, body)
    assert answer.status == 400 and answer.json()["error_code"] == "INVALID_REQUEST", answer.body


def test_it_needs_a_token_too(service):
    assert service.tcp().ask("POST", PATH, {"code": "print(1)"}).status == 401


def with_default(make_server, text):
    """A service whose operator has another default policy."""
    def make(*options, **kept):
        server = make_server(*options, **kept)
        (server.config / "policies").mkdir(mode=0o755)
        (server.config / "policies" / "default.json").write_text(text)
        return server
    return Service(make).unix()


def test_it_is_clamped_to_what_the_operator_allows(make_server):
    client = with_default(make_server, '{"extends": "default", "ceiling": {"wall": "40s", "memory": "512M"}}')
    result = run(client, code="print(1)", timeout_seconds=300, max_memory_mb=1 << 20).json()
    assert result["status"] == "completed", result
    assert result["limits_applied"]["timeout_seconds"] == 40
    assert result["limits_applied"]["memory_mb"] == 512


@pytest.mark.user
def test_a_sandbox_that_cannot_be_set_up(make_server):
    """An ordinary user has no ids to assign: a policy that requires them is not available."""
    client = with_default(make_server, '{"extends": "default", "may_miss": []}')
    assert client.ask("POST", "/v1/execute", {"code": "print(1)"}).code == "host_unable"
    answer = run(client, code="print(1)")
    assert answer.status == 500 and answer.json()["error_code"] == "SANDBOX_SETUP_FAILED"
    assert answer.json()["status"] == "error_setup"


def test_figures_and_limits(unix):
    result = run(unix, code="sum(range(10**6))", timeout_seconds=7, max_memory_mb=100).json()
    assert result["limits_applied"] == {"timeout_seconds": 7, "memory_mb": 100, "cpu_cores": 1,
                                        "max_output_chars": 1 << 20}
    assert set(result["resource_usage"]) == {"execution_time", "cpu_time", "memory_mb"}


def test_output_that_was_cut_is_marked(unix):
    result = run(unix, code="print('\\u00fc' * (2 << 20))").json()
    assert result["stdout"].endswith("\xfc\n[output truncated]") and result["stderr"] == ""
    assert run(unix, code="print(1)").json()["stdout"] == "1\n"
