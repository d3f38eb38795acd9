# SPDX-License-Identifier: Apache-2.0
"""A full ledger: completed runs are not forgotten, and no response is wrong."""

import json
import os
import resource
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from conftest import BRIG, Client, serve

IS_ROOT = os.geteuid() == 0
NOISE = "import os, time; time.sleep({}); print(os.urandom(150000).hex())"


class Disk:
    """Root has a tmpfs of its own; a user's ledger may not write files longer than this."""

    def __init__(self, server):
        self.server = server

    def start(self):
        if not IS_ROOT:
            self.server.start()
            return
        self.server.state.mkdir(mode=0o755)
        line = [BRIG, "serve", "--listen", f"unix:{self.server.socket}", "--state",
                self.server.state, "--config", self.server.config, *self.server.options]
        script = 'mount -t tmpfs -o size=4m,mode=755 none "$1" && shift && exec "$@"'
        with open(self.server.dir / "log", "ab") as log:
            self.server.process = subprocess.Popen(
                ["unshare", "-m", "sh", "-c", script, "sh", self.server.state, *line],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.server.wait_ready()

    @property
    def ballast(self):
        return Path(f"/proc/{self.server.pid}/root{self.server.state}/ballast")

    def fill(self):
        if not IS_ROOT:
            self._limit(0)
            return
        with open(self.ballast, "wb", buffering=0) as out:
            try:
                while True:
                    out.write(bytes(4096))
            except OSError:
                pass

    def empty(self):
        if IS_ROOT:
            self.ballast.unlink()
        else:
            self._limit(resource.RLIM_INFINITY)

    def _limit(self, size):
        pid = self.server.roles()["ledger"]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.fixture
def house(make_server):
    server = make_server()
    server.disk = Disk(server)
    server.disk.start()
    server.client = Client(lambda: serve.UnixConnection(server.socket, 60))
    server.before = server.roles()
    return server


def unrecorded(client):
    for line in client.ask("GET", "/metrics").body.decode().splitlines():
        if line.startswith("brig_executions_unrecorded "):
            return int(line.split()[1])
    raise AssertionError("no such metric")


def in_background(what):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(what()))
    thread.start()
    return thread, answers


def test_recorded_as_soon_as_there_is_room(house):
    """Reported correctly meanwhile, and afterwards complete."""
    client = house.client
    order = client.begin(code=NOISE.format(1.5))
    thread, answers = in_background(
        lambda: client.ask("POST", "/v1/execute", {"code": NOISE.format(1.5)}))
    serve.wait_for(lambda: client.ask("GET", f"/v1/executions/{order}").json()["status"] ==
                   "running", 10, "it runs")
    time.sleep(0.5)
    house.disk.fill()
    thread.join(20)
    assert (answers[0].status, answers[0].code) == (503, "ledger_unavailable"), answers[0].body
    assert answers[0].header("Retry-After")
    assert "it ran" in answers[0].json()["detail"]
    waited = answers[0].header("Location")
    assert waited in answers[0].json()["remedy"]
    assert unrecorded(client) == 2
    # No new execution begins that could not be recorded.
    refused = client.ask("POST", "/v1/execute", {"code": "print(1)"})
    assert (refused.status, refused.code) == (503, "ledger_unavailable")
    house.disk.empty()
    for path in (f"/v1/executions/{order}", waited):
        serve.wait_for(lambda: client.ask("GET", path).json()["status"] == "ok", 15, path)
        assert len(client.ask("GET", path).json()["result"]["stdout"]) == 300001
    assert unrecorded(client) == 0
    serve.wait_for(lambda: client.ask("POST", "/v1/execute", {"code": "1"}).status == 200, 10,
                   "as before")
    assert house.roles() == house.before
    assert house.stop() == 0


@pytest.mark.user  # a full tmpfs may have room for one short record more
def test_beginning_without_room(house):
    """The first run on a full disk is begun before the ledger can say so: nothing of it is lost."""
    client = house.client
    house.disk.fill()
    answer = client.ask("POST", "/v1/execute", {"code": "print(1)"})
    assert answer.code == "ledger_unavailable" and "it ran" in answer.json()["detail"], answer.body
    waited = answer.header("Location")
    house.disk.empty()
    serve.wait_for(lambda: client.ask("GET", waited).status == 200, 15, waited)
    record = client.ask("GET", waited).json()
    assert record["status"] == "ok" and record["result"]["stdout"] == "1\n", record
    assert unrecorded(client) == 0
    entries = subprocess.run([BRIG, "audit", "list", "--json", "--state", house.state], text=True,
                             capture_output=True, timeout=30, check=True).stdout.splitlines()
    kinds = [json.loads(line)["kind"] for line in entries if record["id"] in line]
    assert kinds == ["execution.accepted", "execution.ended"], entries
    assert house.roles() == house.before


def test_short_shortage_is_not_noticed(house):
    client = house.client
    thread, answers = in_background(
        lambda: client.ask("POST", "/v1/execute", {"code": NOISE.format(1)}))
    time.sleep(0.7)
    house.disk.fill()
    serve.wait_for(lambda: unrecorded(client) == 1, 10, "no room")
    house.disk.empty()
    thread.join(20)
    assert answers[0].status == 200, answers[0].body
    assert "event=ledger.ended-late" in house.log()


def test_same_key_while_it_is_unrecorded(house):
    """It ran once: a repeated request gets its result, when there is one."""
    client = house.client
    key = {"Idempotency-Key": "k"}
    body = {"code": NOISE.format(1)}
    thread, answers = in_background(lambda: client.ask("POST", "/v1/execute", body, key))
    time.sleep(0.6)
    house.disk.fill()
    thread.join(20)
    assert answers[0].code == "ledger_unavailable"
    house.disk.empty()
    path = answers[0].header("Location")
    serve.wait_for(lambda: client.ask("GET", path).json()["status"] == "ok", 15, "recorded")
    again = client.ask("POST", "/v1/execute", body, key)
    assert again.status == 200 and again.header("Idempotent-Replayed") == "true"
    assert again.json()["id"] in path


def test_stop_does_not_wait_for_room(house):
    client = house.client
    thread, _ = in_background(
        lambda: client.ask("POST", "/v1/execute", {"code": NOISE.format(1)}))
    time.sleep(0.6)
    house.disk.fill()
    thread.join(20)
    begin = time.monotonic()
    assert house.stop(signal.SIGTERM) == 0, house.log()
    assert time.monotonic() - begin < 3
