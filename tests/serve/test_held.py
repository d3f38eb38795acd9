# SPDX-License-Identifier: Apache-2.0
"""A service that dies again and again: begun work is lost once, and then the queue is held."""

import json
import os
import signal
import subprocess

import pytest
from conftest import BRIG, wait_for

SLEEPS = "import time; time.sleep(60)"
QUICK = "print(6 * 7)"
DEATHS = 3
QUEUED = 70  # more than are dropped at once


def order(server, code):
    answer = server.request("POST", "/v1/executions", {"code": code})
    assert answer.status == 202, answer.body
    return answer.json()["id"]


def status(server, name):
    return server.request("GET", f"/v1/executions/{name}").json()["status"]


def queue(server, *words):
    out = subprocess.run([BRIG, "queue", "--json", "--socket", server.socket, *words], check=False,
                         capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr
    return json.loads(out.stdout)


@pytest.fixture
def held(make_server):
    """(server, ids of those that had begun, ids of those that wait): after three quick deaths."""
    server = make_server("--set", "runs.max=1", "--set", "restart.delay_max=50ms").start()
    begun = [order(server, SLEEPS) for _ in range(DEATHS)]
    names = [order(server, QUICK) for _ in range(QUEUED)]
    for times, name in enumerate(begun, 2):
        wait_for(lambda name=name: status(server, name) == "running", 20, "it runs")
        os.kill(server.roles()["warden"], signal.SIGKILL)
        server.wait_ready(times)
    return server, begun, names


def test_the_queue_is_held_after_quick_deaths(held):
    """Each start had begun one: these are lost. No other is begun, new ones are served."""
    server, begun, names = held
    assert [status(server, name) for name in begun] == ["lost"] * DEATHS
    assert server.request("GET", "/v1/health").json() == {"status": "ok", "queue": "held"}
    metrics = server.request("GET", "/metrics").body.decode().splitlines()
    assert "brig_queue_held 1" in metrics and f"brig_ledger_pending {QUEUED}" in metrics
    assert server.log().count("event=queue-held") == 1
    for path in ("/v1/execute", "/v1/executions"):
        answer = server.request("POST", path, {"code": QUICK})
        assert answer.status in (200, 202), answer.body
        name = answer.json()["id"]
        wait_for(lambda name=name: status(server, name) == "ok", 20, "new ones run")
    assert {status(server, name) for name in names} == {"queued"}
    assert queue(server) == {"state": "held", "held": QUEUED, "waiting": 0, "running": 0}


def test_a_held_queue_is_released(held):
    server, begun, names = held
    # Its owner need not wait for the operator.
    answer = server.request("DELETE", f"/v1/executions/{names[0]}")
    assert answer.status == 200 and answer.json()["status"] == "cancelled", answer.body
    assert queue(server)["held"] == QUEUED - 1
    assert queue(server, "release")["state"] == "open"
    wait_for(lambda: status(server, names[-1]) == "ok", 60, "the last one ran")
    assert {status(server, name) for name in names[1:]} == {"ok"}
    assert status(server, names[0]) == "cancelled"
    assert [status(server, name) for name in begun] == ["lost"] * DEATHS
    assert server.request("GET", "/v1/health").json() == {"status": "ok"}
    # The supervisor knows it too: the next start holds nothing.
    os.kill(server.roles()["warden"], signal.SIGKILL)
    server.wait_ready(DEATHS + 2)
    assert queue(server)["state"] == "open"


def test_a_held_queue_is_dropped(held):
    server, _, names = held
    answer = queue(server, "drop")
    assert answer == {"state": "open", "held": 0, "waiting": 0, "running": 0, "dropped": QUEUED}
    assert {status(server, name) for name in names} == {"cancelled"}
    found = server.request("GET", f"/v1/executions/{names[0]}").json()
    assert "operator dropped" in found["result"]["verdict"]["remedy"]
    assert server.request("GET", "/v1/health").json() == {"status": "ok"}
    text = queue(server, "drop")
    assert text["dropped"] == 0


@pytest.mark.root
def test_only_operators_decide_about_the_queue(make_server):
    """Another user of the socket, and a client with a token, are no operators."""
    server = make_server("--set", "users=65533", "--set", "socket_mode=0666").start()
    for path in ("release", "drop", "show"):
        out = subprocess.run(
            ["setpriv", "--reuid", "65533", "--regid", "65533", "--clear-groups", BRIG, "queue",
             "--socket", server.socket, path], check=False, capture_output=True, text=True, timeout=60)
        assert out.returncode != 0 and "operators" in out.stderr, out.stderr
    answer = server.request("GET", "/v1/queue", headers={"Authorization": "Bearer x"})
    assert answer.status == 401
