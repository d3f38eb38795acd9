# SPDX-License-Identifier: Apache-2.0
"""A role that is short of descriptors reports it, and no process dies."""

import json
import os
import pathlib
import subprocess
import threading
import time

import pytest

from conftest import serve

LARGE = 200_000  # more than fits into a record between roles: it needs a descriptor
MOST = 20  # sessions; they would hold more than 200 descriptors


@pytest.fixture
def house(make_service):
    service = make_service("--set", "warm.enabled=false")
    service.roles = service.server.roles()
    yield service
    assert service.server.roles() == service.roles, service.server.log()
    # A front that could not record something refuses new work for a second.
    serve.wait_for(lambda: service.unix().ask("POST", "/v1/execute", {"code": "1"}).status == 200,
                   10, "as before")


class fewer:
    """with fewer(pid, count): limits its descriptors to count."""

    def __init__(self, pid, count):
        self.pid = pid
        self.count = count

    def set(self, soft, hard):
        """As its own user, in its own user namespace: not even root may do it from outside."""
        command = ["prlimit", f"--pid={self.pid}", f"--nofile={soft}:{hard}"]
        if os.geteuid() == 0 and os.readlink(f"/proc/{self.pid}/ns/user") != os.readlink("/proc/self/ns/user"):
            command = ["nsenter", f"--target={self.pid}", "--user", *command]
        subprocess.run(command, check=True)

    def __enter__(self):
        lines = pathlib.Path(f"/proc/{self.pid}/limits").read_text().splitlines()
        self.before = next(line for line in lines if line.startswith("Max open files")).split()[3:5]
        self.set(self.count, self.before[1])

    def __exit__(self, *_):
        self.set(*self.before)


def highest(pid):
    return max(int(fd) for fd in os.listdir(f"/proc/{pid}/fd"))


def check_refusal(answer):
    assert answer.status == 503, answer.body
    assert answer.code == "unavailable", answer.body
    assert int(answer.header("Retry-After")) >= 1
    assert "/" not in answer.json()["detail"]
    assert "LimitNOFILE" in answer.json()["remedy"] or "again" in answer.json()["remedy"]


@pytest.mark.parametrize("more", [0, 1, 2, 8, 20, 40, 60])
def test_warden_without_descriptors(house, more):
    unix = house.unix()
    with fewer(house.roles["warden"], highest(house.roles["warden"]) + 1 + more):
        check_refusal(unix.ask("POST", "/v1/execute", {"code": "print(1)"}))
        check_refusal(unix.ask("POST", "/v1/execute", {"code": "1" + " " * LARGE}))
        check_refusal(unix.ask("POST", "/v1/sessions", {}))
        # Requests that need none are answered.
        assert unix.ask("GET", "/v1/sessions").status == 200
        assert unix.ask("GET", "/v1/executions").status == 200


def test_warden_loses_them_on_the_way(house):
    """Begun with enough, ended without: the result cannot be handed over, and that is reported."""
    unix = house.unix()
    answers = []
    code = f"import time; time.sleep(2); print('x' * {LARGE})"
    thread = threading.Thread(
        target=lambda: answers.append(unix.ask("POST", "/v1/execute", {"code": code})))
    thread.start()
    time.sleep(1)
    with fewer(house.roles["warden"], 3):
        thread.join(30)
    check_refusal(answers[0])


def test_sessions_leave_room_for_runs(house):
    """The one that is too many is refused before any part of it is made. How many fit depends on
    the confinement: with less of it a session holds fewer descriptors."""
    unix = house.unix()
    opened = []
    with fewer(house.roles["warden"], 200):
        while len(opened) < MOST:
            answer = unix.ask("POST", "/v1/sessions", {"language": "bash"})
            if answer.status != 201:
                break
            opened.append(answer.json()["id"])
        check_refusal(answer)
        assert 1 <= len(opened) < MOST
        assert unix.run(code="print(1)")["status"] == "ok"
        for session in opened:
            answer = unix.ask("POST", f"/v1/sessions/{session}/execute", {"code": "echo here"})
            assert answer.json()["stdout"] == "here\n"
    for session in opened:
        assert unix.ask("DELETE", f"/v1/sessions/{session}").status == 204


@pytest.mark.user  # root here may have no rights over others' limits
def test_front_without_descriptors(house):
    """From enough down to none left: refused, and no request stays without a response."""
    connection = serve.UnixConnection(house.server.socket, 30)
    connection.connect()
    seen = set()
    for count in range(40, 6, -1):
        for path, code in (("/v1/execute", "1" + " " * LARGE), ("/v1/executions", "1" + " " * LARGE),
                           ("/v1/execute", f"print('x' * {LARGE})")):
            with fewer(house.roles["front"], count):
                body = json.dumps({"code": code})
                connection.request("POST", path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                said = json.loads(answer.read())
            if answer.status not in (200, 202):
                assert answer.status == 503 and int(answer.getheader("Retry-After")) >= 1, said
                seen.add(said["code"])
        if seen:
            break
    assert seen and seen <= {"unavailable", "ledger_unavailable"}
    connection.close()
