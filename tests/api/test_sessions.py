# SPDX-License-Identifier: Apache-2.0
"""Sessions by HTTP: state, files, interruption, and owners."""

import json
import threading
import time

import pytest

from conftest import serve


def open_session(client, **fields):
    answer = client.ask("POST", "/v1/sessions", fields)
    assert answer.status == 201, answer.body
    session = answer.json()
    assert answer.header("Location") == "/v1/sessions/" + session["id"]
    return session["id"]


def run(client, session, code, **fields):
    answer = client.ask("POST", f"/v1/sessions/{session}/execute", {"code": code, **fields})
    assert answer.status == 200, answer.body
    return answer.json()


@pytest.fixture
def session(unix):
    made = open_session(unix, language="python")
    yield made
    unix.ask("DELETE", f"/v1/sessions/{made}")


def test_state_stays(unix, session):
    assert run(unix, session, "x = 41")["status"] == "ok"
    result = run(unix, session, "print(x + 1)")
    assert result["stdout"] == "42\n" and result["expires_at"]


def test_by_field_of_execute(unix, session):
    run(unix, session, "y = 5")
    assert unix.run(code="print(y)", session=session)["stdout"] == "5\n"


def test_a_run_keeps_the_sessions_policy(unix, session):
    assert run(unix, session, "print(1)", policy="default")["status"] == "ok"
    for other in ("strict", "open", "nosuch"):
        answer = unix.ask("POST", f"/v1/sessions/{session}/execute", {"code": "1", "policy": other})
        assert (answer.status, answer.code) == (400, "invalid_request"), answer.body
        assert "keeps it" in answer.json()["detail"]


def test_runs_by_a_token_that_may_not_use_the_policy(make_service):
    """A session of the same tenant, opened by a token with the permission: other tokens cannot use
    its policy."""
    service = make_service(tokens=[("large", "--tenant", "firm"),
                                   ("small", "--tenant", "firm", "--policy", "other")])
    policies = service.server.config / "policies"
    policies.mkdir(exist_ok=True)
    (policies / "other.json").write_text('{"extends": "default"}')
    large, small = service.tcp("large"), service.tcp("small")
    wide, narrow = (open_session(large, policy=name) for name in ("default", "other"))
    for target, more in ((f"/v1/sessions/{wide}/execute", {}), ("/v1/execute", {"session": wide})):
        answer = small.ask("POST", target, {"code": "print(1)", **more})
        assert (answer.status, answer.code) == (403, "policy_forbids"), answer.body
    found = small.wait(small.begin(code="print(1)", session=wide))
    assert found["status"] == "error" and "stdout" not in (found["result"] or {}), found
    assert run(small, narrow, "print(2)")["stdout"] == "2\n"
    assert run(large, wide, "print(3)")["stdout"] == "3\n"


def test_without_waiting(unix, session):
    run(unix, session, "z = 7")
    found = unix.wait(unix.begin(code="print(z)", session=session))
    assert found["result"]["stdout"] == "7\n" and found["session"] == session


def test_stream(unix, session):
    answer = unix.ask("POST", f"/v1/sessions/{session}/execute", {"code": "print(3)", "stream": True})
    events = answer.events()
    assert events[-1][1] == "result" and events[-1][2]["stdout"] == "3\n"


def test_files(unix, session):
    base = f"/v1/sessions/{session}/files"
    data = bytes(range(256)) * 100
    assert unix.ask("PUT", base + "/dir/a%20b.bin", data).status == 204
    assert unix.ask("GET", base + "/dir/a%20b.bin").body == data
    listed = unix.ask("GET", base).json()["files"]
    assert [f["size"] for f in listed if f["path"] == "dir/a b.bin"] == [len(data)]
    assert run(unix, session, "print(len(open('dir/a b.bin','rb').read()))")["stdout"] == "25600\n"
    assert unix.ask("DELETE", base + "/dir/a%20b.bin").status == 204
    answer = unix.ask("GET", base + "/dir/a%20b.bin")
    assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize("name", ["..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", "a%2f..%2fb", "-x", "con",
                                  "a%5cb", "a%0ab", "x" * 256])
def test_file_names(unix, session, name):
    for method, body in (("GET", None), ("PUT", b"x"), ("DELETE", None)):
        answer = unix.ask(method, f"/v1/sessions/{session}/files/{name}", body)
        assert answer.status in (400, 404), (method, answer.status)


def test_interrupt(unix, session):
    run(unix, session, "kept = 1")
    results = []
    thread = threading.Thread(
        target=lambda: results.append(run(unix, session, "import time; time.sleep(20)"))
    )
    thread.start()
    serve.wait_for(
        lambda: unix.ask("GET", f"/v1/sessions/{session}").json()["state"] == "busy", 10, "busy"
    )
    time.sleep(0.3)
    assert unix.ask("POST", f"/v1/sessions/{session}/interrupt").status == 200
    thread.join(10)
    assert results and results[0]["status"] != "ok"
    assert run(unix, session, "print(kept)")["stdout"] == "1\n"


def test_one_at_a_time(unix, session):
    thread = threading.Thread(target=lambda: run(unix, session, "import time; time.sleep(1.5)"))
    thread.start()
    serve.wait_for(
        lambda: unix.ask("GET", f"/v1/sessions/{session}").json()["state"] == "busy", 10, "busy"
    )
    answer = unix.ask("POST", f"/v1/sessions/{session}/execute", {"code": "print(1)"})
    assert answer.status == 200 or answer.code == "session_busy"
    thread.join()


def test_what_is_gone_says_why(unix):
    mine = open_session(unix)
    assert unix.ask("DELETE", f"/v1/sessions/{mine}").status == 204
    found = unix.ask("GET", f"/v1/sessions/{mine}")
    assert found.json()["state"] == "gone" and found.json()["reason"]
    answer = unix.ask("POST", f"/v1/sessions/{mine}/execute", {"code": "print(1)"})
    assert (answer.status, answer.code) in ((410, "session_gone"), (404, "not_found"))


def test_leases(unix):
    mine = open_session(unix, idle_timeout_ms=700)
    assert unix.ask("GET", f"/v1/sessions/{mine}").json()["idle_timeout_ms"] == 700
    serve.wait_for(
        lambda: unix.ask("GET", f"/v1/sessions/{mine}").json()["state"] == "gone", 10, "lease"
    )


def test_sessions_of_others_are_not_there(alice, bob):
    theirs = open_session(alice)
    base = f"/v1/sessions/{theirs}"
    for method, path, body in (
        ("GET", base, None), ("DELETE", base, None), ("POST", base + "/execute", {"code": "1"}),
        ("POST", base + "/interrupt", None), ("GET", base + "/files", None),
        ("PUT", base + "/files/x", b"x"), ("GET", base + "/files/x", None),
        ("DELETE", base + "/files/x", None),
    ):
        answer = bob.ask(method, path, body)
        assert (answer.status, answer.code) == (404, "not_found"), (method, path, answer.body)
    answer = bob.ask("POST", "/v1/execute", {"code": "1", "session": theirs})
    assert answer.status == 404
    assert theirs not in [s["id"] for s in bob.ask("GET", "/v1/sessions").json()["sessions"]]
    assert theirs in [s["id"] for s in alice.ask("GET", "/v1/sessions").json()["sessions"]]
    assert alice.ask("GET", base).json()["state"] == "idle"


@pytest.mark.parametrize("body,named", [
    ({"code": "1"}, "code"), ({"idle_timeout_ms": 0}, "idle_timeout_ms"), ({"stdin": "x"}, "stdin"),
    ({"lifetime_ms": "1"}, "lifetime_ms"), ({"language": "../x"}, "language"),
])
def test_wrong_sessions(unix, body, named):
    answer = unix.ask("POST", "/v1/sessions", body)
    assert answer.status == 400 and named in answer.json()["detail"]


def test_ids_of_nothing(unix):
    for wrong in ("nothing", "x" * 65, "a.b"):
        assert unix.ask("GET", f"/v1/sessions/{wrong}").status == 404


def test_too_many(make_service):
    client = make_service("--set", "sessions.per_tenant=2").unix()
    for _ in range(2):
        open_session(client)
    answer = client.ask("POST", "/v1/sessions", {})
    assert (answer.status, answer.code) == (429, "session_limit")


PING_PONG = {
    "python": "import os, time\nfor i in range(20):\n  print(i)\n"
              "  while not os.path.exists(f'go{i}'): time.sleep(0.002)\n",
    "javascript": "const fs = require('fs'); for (let i = 0; i < 20; i++) { console.log(i);"
                  " while (!fs.existsSync('go' + i)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2); }",
    "bash": "for i in {0..19}; do echo $i; until [ -e go$i ]; do sleep 0.01; done; done",
}


@pytest.mark.parametrize("language", PING_PONG)
def test_streamed_output_is_there_while_the_program_waits(unix, language):
    """Each line is sent before the program continues: it waits for a file that is put when the line
    has arrived."""
    session = unix.ask("POST", "/v1/sessions", {"language": language}).json()["id"]
    connection, response = unix.open("POST", "/v1/execute", {
        "session": session, "code": PING_PONG[language], "stream": True, "timeout_ms": 60000})
    seen = []
    for line in response:
        if line.startswith(b"data: ") and "data" in (event := json.loads(line[6:])):
            for number in event["data"].split():
                seen.append(int(number))
                assert unix.ask("PUT", f"/v1/sessions/{session}/files/go{number}", b"").status == 204
    connection.close()
    assert seen == list(range(20))
    unix.ask("DELETE", f"/v1/sessions/{session}")
