# SPDX-License-Identifier: Apache-2.0
"""Resources that all tenants share: the ledger's queue, its disk, the front's memory. One tenant
cannot use them up."""

import base64
import contextlib
import hashlib
import json
import os
import signal

import pytest
from callers import events_of

WORDS = ["\x07", "\u00e4" * 64, "x" * 65, "", "-x", "a/b", "a b", "\x7f"]


@pytest.mark.parametrize("word", WORDS, ids=ascii)
def test_a_language_that_is_no_name(alice, mallory, word):
    """It is the caller's own fault: no other client gets the error that the ledger has no room."""
    tools = mallory.mcp()
    for tool, arguments in (
        ("execute_code", {"code": "1", "language": word}),
        ("create_session", {"language": word}),
        ("execute_code", {"code": "1", "language": word, "session_id": "fresh"}),
    ):
        wrong, text = tools.text(tool, **arguments)
        assert wrong and "ledger" not in text and "disk" not in text, text
        assert alice.run("print(6 * 7)")["stdout"] == "42\n"
    wrong, text = tools.text("execute_code", code="1", language=word)
    assert "language" in text and ("not a name" in text or "characters" in text)


# --- calls that are no runs --------------------------------------------------------------------------


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("role, path", [
    ("ledger", "/v1/executions"), ("ledger", "/v1/sessions?state=gone"),
    ("ledger", "/v1/executions/01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ("warden", "/v1/runtimes"), ("warden", "/v1/sessions"),
])
def test_questions_of_one_tenant(make_house, role, path):
    """A few are with the role that answers them, some wait in the front, the rest is refused by
    name."""
    house = make_house("--set", "http.connections=1024", "--set", "http.connections_per_peer=1024")
    mallory, alice = house.tcp("mallory"), house.tcp("alice")
    with stopped(house.server.roles()[role]):
        asked = [mallory.begin("GET", path) for _ in range(300)]
        full = mallory.ask("GET", path)
        assert (full.status, full.code) == (429, "queue_full"), full.body
        assert "waiting already" in full.json()["detail"]
        other = alice.begin("GET", path)
    theirs = other.getresponse()
    assert theirs.status in (200, 404), theirs.read()
    answers = [connection.getresponse() for connection in asked]
    # Four are processed at a time, and 256 wait.
    assert sum(answer.status != 429 for answer in answers) >= 260
    assert all(answer.status in (200, 404, 429) for answer in answers)


# --- output kept for later readers -------------------------------------------------------------------

LARGE = 24 << 20
PRINTS = f"""
import sys, time
line = b'0123456789abcdef' * 4096
for i in range({LARGE} // len(line)):
    sys.stdout.buffer.write(line)
    sys.stderr.buffer.write(line[::-1])
sys.stdout.buffer.flush()
sys.stderr.buffer.flush()
time.sleep(%s)
"""
LIMITS = {"stdout_bytes": 64 << 20, "stderr_bytes": 64 << 20}
PRINTED = {"stdout": b"0123456789abcdef" * (LARGE // 16), "stderr": b"fedcba9876543210" * (LARGE // 16)}


@pytest.fixture
def narrow(make_house):
    return make_house("--set", "http.tenant_answer_bytes=4M", "--set", "runs.max=4")


def check_stream(response, status):
    """All output, each byte once, and the result behind it."""
    got = {"stdout": hashlib.sha256(), "stderr": hashlib.sha256()}
    name = None
    for _, name, data in events_of(response.read().decode()):
        event = json.loads(data)
        if name == "output":
            got[event["stream"]].update(event["data"].encode() if "data" in event
                                        else base64.b64decode(event["data_base64"]))
    for stream, hashed in got.items():
        assert hashed.digest() == hashlib.sha256(PRINTED[stream]).digest(), stream
    assert name == "result" and event["status"] == status


def wait_for_output(client, run):
    """The last byte of each stream is there, so everything before it was read."""
    place = f"{LARGE - 1}-{LARGE - 1}"
    connection = client.begin("GET", f"/v1/executions/{run}/events", headers={"Last-Event-ID": place})
    with contextlib.closing(connection), connection.getresponse() as response:
        while response.readline().strip() != f"id: {LARGE}-{LARGE}".encode():
            pass


def test_output_that_nobody_reads(narrow):
    """The front keeps the end of it."""
    mallory = narrow.tcp("mallory")
    before = narrow.resident_kib("front")
    runs = [mallory.order(PRINTS % 600, limits=LIMITS) for _ in range(2)]
    for run in runs:
        wait_for_output(mallory, run)
    assert narrow.resident_kib("front") - before < 24 << 10
    for run in runs:
        mallory.ask("DELETE", f"/v1/executions/{run}")


def test_output_for_who_comes_late(narrow):
    """Output that is not kept comes from the result, after the end; a reader that keeps up misses
    nothing."""
    mallory = narrow.tcp("mallory")
    run = mallory.order(PRINTS % 600, limits=LIMITS)
    wait_for_output(mallory, run)
    late = mallory.begin("GET", f"/v1/executions/{run}/events")
    response = late.getresponse()
    mallory.ask("DELETE", f"/v1/executions/{run}")
    check_stream(response, "cancelled")
    late.close()
    live = mallory.begin("POST", "/v1/execute", {"code": PRINTS % 0, "limits": LIMITS, "stream": True})
    check_stream(live.getresponse(), "ok")
    live.close()
