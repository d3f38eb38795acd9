# SPDX-License-Identifier: Apache-2.0
"""Empty bodies, empty code, and the ranges of values."""

import pytest


@pytest.fixture
def session(unix):
    opened = unix.ask("POST", "/v1/sessions", {"language": "python"}).json()["id"]
    yield opened
    unix.ask("DELETE", f"/v1/sessions/{opened}")


@pytest.mark.parametrize("body", [b"{}", b" {\n} ", b"\n"])
def test_calls_without_fields_take_an_empty_object(unix, session, body):
    at = f"/v1/sessions/{session}"
    kind = {"Content-Type": "application/json"}
    assert unix.ask("POST", f"{at}/interrupt", body, kind).status == 200
    forked = unix.ask("POST", f"{at}/fork", body, kind)
    assert forked.status == 201, forked.body
    gone = f"/v1/sessions/{forked.json()['id']}"
    unix.ask("PUT", f"{gone}/files/a", b"x")
    assert unix.ask("DELETE", f"{gone}/files/a", body, kind).status == 204
    assert unix.ask("DELETE", gone, body, kind).status == 204
    run = unix.begin(code="import time; time.sleep(60)")
    assert unix.ask("DELETE", f"/v1/executions/{run}", body, kind).status == 200


@pytest.mark.parametrize("body", [{"a": 1}, [], "x", b"{", b"{}}", b"{\0}"])
def test_and_nothing_else(unix, session, body):
    answer = unix.ask("POST", f"/v1/sessions/{session}/interrupt", body)
    assert answer.status == 400 and answer.code == "invalid_request", answer.body
    assert "no fields" in answer.json()["detail"]


@pytest.mark.parametrize("code", [" ", "\n\t \r\n", "\f\v"])
def test_white_space_is_empty_code(unix, session, code):
    for path in ("/v1/execute", "/v1/executions", f"/v1/sessions/{session}/execute"):
        answer = unix.ask("POST", path, {"code": code})
        assert answer.status == 400 and "empty" in answer.json()["detail"], answer.body


def test_much_white_space_is_a_program(unix, session):
    """It is not scanned completely to find that it is empty."""
    for path in ("/v1/execute", f"/v1/sessions/{session}/execute"):
        answer = unix.ask("POST", path, {"code": "\n" * 100_000})
        assert answer.status == 200 and answer.json()["status"] == "ok", answer.body


@pytest.mark.parametrize("value", [0, -1, 0.5, 1e-9, -1e300])
@pytest.mark.parametrize("where", ["timeout_ms", "wall_ms", "cpu_ms"])
def test_the_range_of_times_is_the_policys(unix, where, value):
    body = {"timeout_ms": value} if where == "timeout_ms" else {"limits": {where: value}}
    answer = unix.ask("POST", "/v1/execute", {"code": "print(1)", **body})
    assert answer.status == 400 and answer.code == "invalid_request", answer.body
    assert "1ms to 5m" in answer.json()["detail"]


@pytest.mark.parametrize("limits, range_", [
    ({"memory_bytes": 0}, "1M to 4G"), ({"disk_inodes": -5}, "16 to 65536"),
    ({"cpu_millicores": 0}, "0.01 to 1024"), ({"processes": 0}, "at least 1"),
])
def test_the_range_of_others(unix, limits, range_):
    answer = unix.ask("POST", "/v1/execute", {"code": "print(1)", "limits": limits})
    assert answer.status == 400 and range_ in answer.json()["detail"], answer.body


@pytest.mark.parametrize("limits, most", [({"wall_ms": 1e300}, "5m"), ({"memory_bytes": 1 << 62}, "4G")])
def test_above_the_ceiling(unix, limits, most):
    answer = unix.ask("POST", "/v1/execute", {"code": "print(1)", "limits": limits})
    assert answer.code == "invalid_request" and f"ceiling of {most}" in answer.json()["detail"]
