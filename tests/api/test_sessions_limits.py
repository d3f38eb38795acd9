# SPDX-License-Identifier: Apache-2.0
"""Limits that end a run of a session and keep the session, and those that end the
session as well."""

import datetime
import threading

import pytest
from conftest import serve

LONGEST = "it was open for 1 seconds, the longest time allowed"


def open_session(client, **fields):
    answer = client.ask("POST", "/v1/sessions", fields)
    assert answer.status == 201, answer.body
    return answer.json()


def run(client, session, code, **fields):
    answer = client.ask("POST", f"/v1/sessions/{session}/execute", {"code": code, **fields})
    assert answer.status == 200, answer.body
    return answer.json()


def wait_gone(client, session):
    def gone():
        found = client.ask("GET", f"/v1/sessions/{session}").json()
        return found if found["state"] == "gone" else None

    return serve.wait_for(gone, 20, "its end")


def refused_run(client, session):
    answer = client.ask("POST", f"/v1/sessions/{session}/execute", {"code": "echo 1"})
    return answer if answer.status != 200 else None


def check_tombstone(client, session, reason):
    assert wait_gone(client, session)["reason"] == reason
    answer = refused_run(client, session)
    assert (answer.status, answer.code) == (410, "session_gone"), answer.body
    assert reason in answer.json()["detail"]
    assert session not in [s["id"] for s in client.ask("GET", "/v1/sessions").json()["sessions"]]


def test_lifetime(unix):
    """Used or not: a busy session extends the idle lease, but not this one."""
    made = open_session(unix, language="bash", idle_timeout_ms=60_000, lifetime_ms=1500)
    times = [datetime.datetime.fromisoformat(made[name].replace("Z", "+00:00"))
             for name in ("created_at", "expires_at")]
    assert times[1] - times[0] < datetime.timedelta(seconds=10)
    assert run(unix, made["id"], "echo 1")["stdout"] == "1\n"
    ended = serve.wait_for(lambda: refused_run(unix, made["id"]), 20, "its end")
    assert (ended.status, ended.code) == (410, "session_gone"), ended.body
    check_tombstone(unix, made["id"], LONGEST)


def test_lifetime_in_the_middle_of_a_run(unix):
    """The client that waits for the run is answered, and nothing is left of it."""
    mine = open_session(unix, language="bash", lifetime_ms=1500)["id"]
    answers = []
    thread = threading.Thread(target=lambda: answers.append(
        unix.ask("POST", f"/v1/sessions/{mine}/execute", {"code": "sleep 25; echo late"})))
    thread.start()
    check_tombstone(unix, mine, LONGEST)
    thread.join(15)
    result = answers[0].json()
    assert (result["status"], result["stdout"]) == ("cancelled", ""), result


@pytest.mark.parametrize("language,keep,endless,tell", [
    ("python", "kept = [1]", "while True: pass", "print(kept)"),
    ("javascript", "let kept = [1]", "while (true) {}", "console.log(kept.length)"),
    ("bash", "kept=1", "while :; do :; done", "echo $kept"),
])
def test_an_endless_run(unix, language, keep, endless, tell):
    """It is interrupted at its time limit; the interpreter and its state stay."""
    mine = open_session(unix, language=language)["id"]
    assert run(unix, mine, keep)["status"] == "ok"
    before = run(unix, mine, tell)["stdout"]
    for _ in range(2):
        ended = run(unix, mine, endless, timeout_ms=1000)
        assert ended["status"] == "timeout", ended
        assert ended["verdict"]["remedy"]
        after = run(unix, mine, tell)
        assert after["status"] == "ok" and after["stdout"] == before and "1" in before, after
    assert unix.ask("DELETE", f"/v1/sessions/{mine}").status == 204


def test_input_files_are_bounded_as_elsewhere(unix):
    """A run in a session may have as many files as any other, and is refused with the
    same message."""
    mine = open_session(unix, language="python")["id"]
    files = [{"path": "a/" * 31 + f"f{i}", "content": ""} for i in range(1000)]
    told = [unix.ask("POST", path, {"code": "1", "files": files})
            for path in ("/v1/execute", f"/v1/sessions/{mine}/execute")]
    assert [answer.status for answer in told] == [400, 400]
    assert told[0].json()["detail"] == told[1].json()["detail"] == "more than 256 input files"
    count = "import os; sum(len(names) for _, _, names in os.walk('/sandbox'))"
    assert run(unix, mine, count)["value"] == 0
    assert run(unix, mine, count, files=files[:256])["value"] == 256


def test_an_input_file_that_cannot_be_written(unix):
    """The run does not begin, and reports why; the session stays."""
    mine = open_session(unix, language="bash")["id"]
    assert run(unix, mine, "ln -s /tmp link")["status"] == "ok"
    answer = unix.ask("POST", f"/v1/sessions/{mine}/execute",
                      {"code": "touch ran", "files": [{"path": "link/f", "content": "x"}]})
    assert answer.status == 400, answer.body
    assert "cannot write link/f" in answer.json()["detail"]
    assert run(unix, mine, "ls")["stdout"] == "link\nout\n"
