# SPDX-License-Identifier: Apache-2.0
"""Information about ended sessions, also after a restart of the service."""

import json
import os
import signal
import subprocess

import pytest
from conftest import BRIG, serve


def open_session(client, **fields):
    answer = client.ask("POST", "/v1/sessions", fields)
    assert answer.status == 201, answer.body
    return answer.json()["id"]


def restart(service):
    assert service.server.stop() == 0, service.server.log()
    service.server.start()
    service.server.wait_ready(times=2)


def audit(service, kind):
    done = subprocess.run(
        [BRIG, "audit", "list", "--json", "--kind", kind, "--state", service.server.state],
        capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


CALLS = [
    ("DELETE", "", None), ("POST", "/execute", {"code": "1"}), ("POST", "/interrupt", None),
    ("GET", "/files", None), ("GET", "/files/x", None), ("PUT", "/files/x", b"x"),
    ("DELETE", "/files/x", None),
]


def test_after_a_restart(make_service):
    service = make_service(tokens=[("alice",), ("bob",)])
    alice, bob = service.tcp("alice"), service.tcp("bob")
    lost, closed, expired = (open_session(alice, language="bash", **fields) for fields in
                             ({}, {}, {"idle_timeout_ms": 300}))
    assert alice.ask("POST", f"/v1/sessions/{lost}/execute", {"code": "x=1"}).status == 200
    assert alice.ask("DELETE", f"/v1/sessions/{closed}").status == 204
    serve.wait_for(lambda: alice.ask("GET", f"/v1/sessions/{expired}").json()["state"] == "gone",
                   10, "lease")
    reasons = {lost: "lost: the service was restarted at 2", closed: "it was closed",
               expired: "it was idle for"}
    serve.wait_for(lambda: len(audit(service, "session.ended")) == 2, 10, "the ledger")
    restart(service)
    for session, reason in reasons.items():
        found = alice.ask("GET", f"/v1/sessions/{session}")
        assert found.status == 200 and found.json()["state"] == "gone"
        assert found.json()["reason"].startswith(reason), found.body
        for method, tail, body in CALLS:
            answer = alice.ask(method, f"/v1/sessions/{session}{tail}", body)
            assert (answer.status, answer.code) == (410, "session_gone"), (method, tail)
            assert reason in answer.json()["detail"]
            answer = bob.ask(method, f"/v1/sessions/{session}{tail}", body)
            assert (answer.status, answer.code) == (404, "not_found"), (method, tail)
        answer = alice.ask("POST", "/v1/execute", {"code": "1", "session": session})
        assert (answer.status, answer.code) == (410, "session_gone")
        assert bob.ask("GET", f"/v1/sessions/{session}").status == 404
    assert alice.ask("GET", f"/v1/sessions/{lost}").json()["runs"] == 1
    assert alice.ask("GET", "/v1/sessions").json()["sessions"] == []
    # Each once, and with its opener.
    entries = audit(service, "session")
    told = [(e["kind"], e["facts"]["session"]) for e in entries if e["kind"] != "session.close"]
    assert sorted(told) == sorted((kind, one) for kind in ("session.opened", "session.ended")
                                  for one in reasons)
    assert {e["facts"]["caller"] for e in entries if e["kind"] == "session.opened"} == {"alice"}


def test_list_of_those_that_are_gone(make_service):
    service = make_service(tokens=[("alice",), ("bob",)])
    alice, bob = service.tcp("alice"), service.tcp("bob")
    gone = [open_session(alice, language="bash") for _ in range(3)]
    for session in gone:
        alice.ask("DELETE", f"/v1/sessions/{session}")
    living = open_session(alice, language="bash")
    page = alice.ask("GET", "/v1/sessions?state=gone&limit=2").json()
    assert [s["id"] for s in page["sessions"]] == gone[:0:-1] and page["next"] == gone[1]
    rest = alice.ask("GET", f"/v1/sessions?state=gone&before={page['next']}").json()
    assert [s["id"] for s in rest["sessions"]] == gone[:1] and rest["next"] is None
    assert [s["id"] for s in alice.ask("GET", "/v1/sessions").json()["sessions"]] == [living]
    assert bob.ask("GET", "/v1/sessions?state=gone").json()["sessions"] == []


@pytest.mark.parametrize("query", ["limit=2", "state=idle", "state=", "state=gone&limit=0", "x=1",
                                   "state=gone&before=x", "state=gone;", "tenant=alice"])
def test_wrong_queries(unix, query):
    assert unix.ask("GET", "/v1/sessions?" + query).status == 400


def test_what_was_never_there(unix):
    for name in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "01arz3ndektsv4rrffq69g5fav", "x"):
        for method, tail, body in [("GET", "", None), *CALLS]:
            assert unix.ask(method, f"/v1/sessions/{name}{tail}", body).status == 404


def test_nobody_is_told_before_it_is_recorded(make_service):
    """A ledger that does not answer: no session either; and a client that has left by then has
    none."""
    service = make_service()
    client = service.unix()
    ledger = service.server.roles()["ledger"]
    os.kill(ledger, signal.SIGSTOP)
    try:
        connection = serve.UnixConnection(service.server.socket, 1.5)
        connection.request("POST", "/v1/sessions", b'{"language":"bash"}',
                           {"Content-Type": "application/json"})
        with pytest.raises(TimeoutError):
            connection.getresponse()
        opened = client.ask("GET", "/v1/sessions").json()["sessions"]
        assert len(opened) == 1  # the control: it exists, and only its record is missing
        connection.close()
    finally:
        os.kill(ledger, signal.SIGCONT)
    serve.wait_for(lambda: not client.ask("GET", "/v1/sessions").json()["sessions"], 10, "close")
    page = serve.wait_for(lambda: client.ask("GET", "/v1/sessions?state=gone").json()["sessions"],
                          10, "its end")
    assert [one["id"] for one in page] == [opened[0]["id"]]
