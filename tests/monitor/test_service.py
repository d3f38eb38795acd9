# SPDX-License-Identifier: Apache-2.0
"""Events by a service: metrics, the audit chain, streams, sessions, tenants."""

import json
import re
import subprocess

import pytest
from conftest import BRIG, KINDS, api, check_sums, of_kind

DENIED = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def denied(times):
    for i in range(times):
        libc.syscall(101, 0, i, 0, 0)
"""
SHADOW = "try: open('/etc/shadow')\nexcept OSError: pass\n"


@pytest.fixture
def unix(service):
    return service.unix()


@pytest.fixture
def alice(service):
    return service.tcp("alice")


@pytest.fixture
def bob(service):
    return service.tcp("bob")


def counted(client):
    text = client.ask("GET", "/metrics").body.decode()
    found = {kind: int(value) for kind, value in
             re.findall(r'^brig_events_total\{kind="([^"]*)"\} (\d+)$', text, re.M)}
    assert tuple(found) == KINDS
    return found


def grown(before, after):
    return {kind: after[kind] - before[kind] for kind in KINDS if after[kind] != before[kind]}


def open_session(client, **fields):
    answer = client.ask("POST", "/v1/sessions", {"language": "python", **fields})
    assert answer.status == 201, answer.body
    return answer.json()["id"]


def run_in(client, session, code):
    answer = client.ask("POST", f"/v1/sessions/{session}/execute", {"code": code})
    assert answer.status == 200, answer.body
    result = answer.json()
    check_sums(result)
    return result


def test_metrics(unix):
    before = counted(unix)
    unix.run(code=DENIED + "denied(3)\n" + SHADOW, policy="watching")
    unix.run(code="print(1)")
    after = counted(unix)
    change = grown(before, after)
    assert change.pop("file.watched") in (1, 2, 3)
    assert change == {"call.denied": 3}


def test_metrics_cannot_be_forged(unix):
    """Claims of a program about itself, in its output or as its value, are not counted."""
    before = counted(unix)
    code = """
text = '"event_counts":{"call.denied":1000000,"call.watched":5}'
print(text)
result = {"event_counts": {"call.denied": 1000000, "call.watched": 5}, text: text}
"""
    answer = unix.run(code=code, want_value=True)
    assert answer["value"]["event_counts"]["call.denied"] == 1000000, answer
    assert grown(before, counted(unix)) == {}


def ended_facts(service, *ids):
    """The ledger's records of these executions, when it has them all."""

    def facts():
        done = subprocess.run(
            [BRIG, "audit", "list", "--json", "--state", service.server.state],
            capture_output=True, text=True, check=True)
        rows = [json.loads(line)["facts"] for line in done.stdout.splitlines()]
        found = {row["execution"]: row for row in rows if row.get("status")}
        return found if set(ids) <= set(found) else None

    return api.serve.wait_for(facts, 20, "the ledger")


@pytest.mark.root
def test_audit_of_memory_that_ran_out(service, unix):
    """Where no control group counts, malloc() may fail first: that is the program's own failure."""
    full = unix.run(code="[bytearray(b'x' * (1 << 20)) for _ in range(1000)]",
                    limits={"memory_bytes": 64 << 20})["id"]
    facts = ended_facts(service, full)[full]
    assert facts["status"] == "memory_limit", facts
    assert facts["limits"]["memory_bytes"] == 64 << 20
    assert facts["verdict"]["limit_name"] == "memory_bytes"


def test_audit(service, unix):
    mine = unix.run(code=DENIED + "denied(4)\n" + SHADOW, policy="watching")["id"]
    quiet = unix.run(code="print(1)")["id"]
    found = ended_facts(service, mine, quiet)
    assert "events" not in found[quiet]
    events = {event["kind"]: event for event in found[mine]["events"]}
    assert events["call.denied"]["count"] == 4 and "ptrace" in events["call.denied"]["subject"]
    assert found[mine]["event_counts"]["call.denied"] == 4
    assert any(e["subject"] == "/etc/shadow" for e in found[mine]["events"])
    done = subprocess.run([BRIG, "audit", "verify", "--state", service.server.state],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_audit_is_bounded(service, unix):
    code = DENIED + "for i in range(300): libc.syscall(i % 335 if i % 335 not in (" \
        "15, 60, 231, 34, 35, 61, 56, 57, 58, 59, 62, 234, 200, 3, 0, 1, 23, 7, 270, 271, 232, 281" \
        ") else 101, -1, -1, -1, -1, -1, -1)\n"
    result = unix.run(code=code, policy="default", limits={"wall_ms": 20000})
    check_sums(result)
    mine = result["id"]

    def facts():
        done = subprocess.run(
            [BRIG, "audit", "list", "--json", "--state", service.server.state],
            capture_output=True, text=True, check=True)
        rows = [json.loads(line)["facts"] for line in done.stdout.splitlines()]
        return [r for r in rows if r.get("execution") == mine and r.get("status")]

    (row,) = api.serve.wait_for(facts, 20, "the ledger")
    assert len(row.get("events", [])) <= 8
    assert len(result["events"]) <= 62


def test_streams_and_records_have_them(unix):
    code = DENIED + "denied(2)"
    mine = unix.begin(code=code)
    found = unix.wait(mine)["result"]
    assert of_kind(found, "call.denied")[0]["count"] == 2
    events = unix.ask("GET", f"/v1/executions/{mine}/events").events()
    result = next(data for _, name, data in events if name == "result")
    assert result["events"] == found["events"]


def test_refusals_of_earlier_runs_silence_nobody(unix):
    """After very many the listener is given up; but each run of a session begins anew."""
    session = open_session(unix)
    run_in(unix, session, DENIED)
    for _ in range(3):
        result = run_in(unix, session, "denied(8000)")
        assert result["status"] == "ok" and result["event_counts"]["call.denied"] == 8000


def test_sessions_have_events_of_each_run(unix):
    session = open_session(unix, policy="watching")
    run_in(unix, session, DENIED)
    first = run_in(unix, session, "denied(3)\n" + SHADOW)
    assert first["event_counts"]["call.denied"] == 3
    assert first["event_counts"]["file.watched"] == 1
    second = run_in(unix, session, "print('quiet')")
    assert second["events"] == [] and not any(second["event_counts"].values()), second
    third = run_in(unix, session, "denied(1)")
    assert third["event_counts"]["call.denied"] == 1 and len(third["events"]) == 1
    unix.ask("DELETE", f"/v1/sessions/{session}")


def test_thresholds_of_sessions_count_by_the_run(unix):
    session = open_session(unix, policy="patient")
    run_in(unix, session, DENIED)
    for _ in range(4):
        assert run_in(unix, session, "denied(4)")["status"] == "ok"
    result = run_in(unix, session, "denied(400)\nprint('still here')")
    assert result["status"] == "denied" and result["verdict"]["cause"] == "denials", result
    answer = unix.ask("POST", f"/v1/sessions/{session}/execute", {"code": "print(1)"})
    assert answer.status in (404, 409, 410), answer.body


def test_warm_cells_start_with_none(unix):
    for _ in range(3):
        loud = unix.run(code=DENIED + "denied(2)")
        assert loud["event_counts"]["call.denied"] == 2
        quiet = unix.run(code="print(1)")
        assert quiet["events"] == [] and not any(quiet["event_counts"].values())


def test_tenants_apart(alice, bob):
    """At the same time, in the same service: each has its own."""
    loud = alice.begin(code=DENIED + "import time\nfor i in range(20):\n  denied(1)\n  time.sleep(.02)")
    quiet = bob.begin(code="import time\ntime.sleep(.5)\nprint(1)")
    found = bob.wait(quiet)["result"]
    assert found["events"] == [], found
    assert alice.wait(loud)["result"]["event_counts"]["call.denied"] == 20
    assert bob.ask("GET", f"/v1/executions/{loud}").status == 404


def test_models_are_told(unix):
    """Information that a model can use: the limit that was met, and that no more is available."""
    headers = {"Accept": "application/json, text/event-stream",
               "MCP-Protocol-Version": "2025-06-18"}

    def post(method, params):
        connection, response = unix.open(
            "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers)
        body = response.read().decode()
        kept = response.getheader("Mcp-Session-Id")
        connection.close()
        lines = [line[6:] for line in body.splitlines() if line.startswith("data: ")] or [body]
        return kept, next(m["result"] for m in map(json.loads, lines) if "result" in m)

    kept, _ = post("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                  "clientInfo": {"name": "test", "version": "1"}})
    headers["Mcp-Session-Id"] = kept
    code = "f = open('/sandbox/x', 'wb')\nwhile True: f.write(b'x' * 1000000)"
    _, result = post("tools/call", {"name": "execute_code", "arguments": {"code": code}})
    text = result["content"][0]["text"]
    assert result["isError"] and "It reached the limit disk_bytes: the disk was full." in text, text


def test_links_by_the_service(unix):
    """The warden there has given up more privileges than brig run, and detects as much."""
    code = "import os\nos.symlink('/etc/passwd', '/tmp/x')\nopen('/tmp/x').close()"
    result = unix.run(code=code, policy="watching")
    assert result["status"] == "ok", result
    assert "/etc/passwd" in {event["subject"] for event in result["events"]}, result["events"]


def test_logs_tell(service, unix):
    mine = unix.run(code=SHADOW, policy="patient")["id"]
    done = subprocess.run([BRIG, "logs", "--socket", service.server.socket, mine],
                          capture_output=True, text=True, check=False)
    assert "event: file.watched, 1: /etc/shadow" in done.stderr, done.stderr


def test_many_at_once(service):
    """Events of runs that share a warden stay with their run."""
    clients = [service.unix() for _ in range(6)]
    ids = [client.begin(code=DENIED + f"denied({i})\n" + SHADOW * i, policy="watching")
           for i, client in enumerate(clients)]
    for i, (client, execution) in enumerate(zip(clients, ids)):
        result = client.wait(execution)["result"]
        check_sums(result)
        assert result["event_counts"]["call.denied"] == i, result["events"]
        shadow = [e["count"] for e in result["events"] if e["subject"] == "/etc/shadow"]
        assert shadow == ([i] if i else [])
