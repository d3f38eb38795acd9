# SPDX-License-Identifier: Apache-2.0
"""A time of grace by HTTP: for runs that are late or cancelled, and for runs in sessions."""

import json
import pathlib
import random
import time

TELLS = """
import os, signal, sys, time
def told(*_):
    os.write(1, b"told\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, told)
os.write(1, b"on\\n")
while True:
    try:
        time.sleep(0.01)
    except KeyboardInterrupt:
        pass
"""
TRIES = 5  # a busy host may not have printed "on" when the time is up


def late(run):
    for _ in range(TRIES):
        result = run()
        if result["stdout"].startswith("on"):
            return result
    raise AssertionError(result)


def test_a_late_run(unix):
    body = {"code": TELLS, "timeout_ms": 500, "limits": {"grace_ms": 9000}}
    result = late(lambda: unix.run(body))
    assert (result["status"], result["stdout"]) == ("timeout", "on\ntold\n")
    result = late(lambda: unix.run(code=TELLS, timeout_ms=500))
    assert (result["status"], result["stdout"]) == ("timeout", "on\n")


def cancel_at_first_output(unix):
    body = {"code": TELLS, "stream": True, "limits": {"grace_ms": 9000}}
    connection, events = unix.open("POST", "/v1/execute", body)
    with connection.sock or events:
        seen = b""
        while b'"on' not in seen:
            line = events.readline()
            assert line, seen
            seen += line
        listed = unix.ask("GET", "/v1/executions").json()["executions"]
        run = next(one["id"] for one in listed if one["status"] == "running")
        ended = unix.ask("DELETE", f"/v1/executions/{run}").json()
    assert ended["status"] == "cancelled", ended
    assert ended["result"]["stdout"] == "on\ntold\n", ended


def test_a_cancelled_run(unix):
    """Repeatedly: a program may print before brig has learnt that it began."""
    for _ in range(50):
        cancel_at_first_output(unix)


def test_a_short_time_is_the_requests_own(unix):
    """Cells that are made ahead have neither the time nor the grace of the first request."""
    short = {"code": "1", "language": "javascript", "timeout_ms": 20, "limits": {"grace_ms": 2000}}
    for _ in range(3):
        unix.run(short)
    starts = set()
    end = time.monotonic() + 30
    while "warm" not in starts and time.monotonic() < end:
        result = unix.run(code="console.log(7)", language="javascript")
        assert (result["status"], result["stdout"]) == ("ok", "7\n"), result
        starts.add(result["start"])
    assert "warm" in starts


def test_a_run_in_a_session(unix):
    """First SIGINT, as always; then SIGTERM and its time; then the end of the cell."""
    def run():
        session = unix.ask("POST", "/v1/sessions", {"limits": {"grace_ms": 9000}}).json()["id"]
        return unix.ask("POST", f"/v1/sessions/{session}/execute", {"code": TELLS, "timeout_ms": 500}).json()

    result = late(run)
    assert result["status"] == "timeout" and result["stdout"].startswith("on\ntold"), result


def test_limits_are_clamped_when_asked_to(unix):
    result = unix.run(code="1", timeout_ms=10**9, clamp=True, limits={"grace_ms": 10**9, "memory_bytes": 1 << 45})
    assert [result["limits"][name] for name in ("wall_ms", "grace_ms", "memory_bytes")] == [300000, 10000, 4 << 30]
    refused = unix.ask("POST", "/v1/execute", {"code": "1", "limits": {"grace_ms": 10001}})
    assert refused.status == 400 and "ceiling of 10s" in refused.json()["detail"], json.dumps(refused.json())
    session = unix.ask("POST", "/v1/sessions", {"clamp": True, "limits": {"wall_ms": 10**9}}).json()["id"]
    path = f"/v1/sessions/{session}/execute"
    assert unix.ask("POST", path, {"code": "1"}).json()["limits"]["wall_ms"] == 300000
    assert unix.ask("POST", path, {"code": "1", "timeout_ms": 10**9, "clamp": True}).json()["limits"]["wall_ms"] == 300000
    assert unix.ask("POST", path, {"code": "1", "timeout_ms": 10**9}).status == 400
    unix.ask("DELETE", f"/v1/sessions/{session}")


STAYS = """
import signal, subprocess, sys, time
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "%s"], start_new_session=True)
while not told:
    time.sleep(0.01)
"""


def soon(is_so):
    end = time.monotonic() + 25
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()


def alive(mark):
    for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark.encode() in line.read_bytes():
                return True
        except OSError:
            pass
    return False


def test_a_session_that_is_closed_has_none(unix):
    """A run that ends in time would otherwise keep the cell of a closed session."""
    mark = "%d.5" % random.randrange(10**6, 10**9)
    session = unix.ask("POST", "/v1/sessions", {"limits": {"grace_ms": 9000}}).json()["id"]
    connection, _ = unix.open("POST", f"/v1/sessions/{session}/execute", {"code": STAYS % mark, "stream": True})
    assert soon(lambda: alive(mark))
    assert unix.ask("DELETE", f"/v1/sessions/{session}").status == 204
    connection.close()
    assert soon(lambda: not alive(mark))
