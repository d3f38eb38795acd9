# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the service's processes at any moment, under load.

Clients of every kind send runs (service_load.py) while roles, all of them, or the supervisor are
killed, also during their restart (service_victim.py). In the end nothing is left of it;
acknowledged executions have ended or are `lost`, once, and keep their reported results; the chain
verifies. `make soak-service` does the same for hours.
"""

import json
import os
import shutil
import signal
import sqlite3
import threading
import time
import zlib

import pytest
from service_load import DRAWS, Book, Connection, Gone, Load
from service_victim import Victim, serve, summary

PHASES = 3
ROUNDS = int(os.environ.get("SERVICE_KILLS", "8"))  # of each phase


@pytest.fixture
def victim():
    one = Victim(seed=os.environ.get("SERVICE_SEED"))
    yield one.start()
    one.close()


def no_complaints(victim, book):
    assert not book.complaints, (
        f"{summary(victim, book)}: {len(book.complaints)} complaints:\n"
        + "\n".join(book.complaints[:20]))


def test_killed_at_any_moment(victim):
    book = Book()
    load = Load(victim.socket, book, victim.seed, victim.has_gates()).start()
    for _ in range(PHASES):
        for _ in range(ROUNDS):
            victim.round()
        load.pause()
        victim.settle(book)
        victim.verify()
        no_complaints(victim, book)
        load.resume()
    load.stop()
    victim.settle(book)
    no_complaints(victim, book)
    victim.check_growth()
    victim.end()
    victim.verify()
    statuses = victim.check_ledger(book)
    print(summary(victim, book), statuses)
    assert statuses.keys() <= {"ok", "lost", "cancelled"}, statuses
    # The control: there was something to lose.
    assert statuses["lost"] and statuses["ok"] > len(victim.deaths)
    back = sorted(victim.back_s)
    assert back[len(back) // 2] < 2, summary(victim, book)


def test_a_key_of_what_was_refused_is_free(victim):
    """A client that waits while the service is stopped gets an error; its key runs it after the
    restart."""
    victim.server.options += ("--set", "runs.max=1")
    victim.server.stop()
    before = victim.server.readies()
    victim.start()
    victim.server.wait_ready(before + 1)  # a service that is still starting has no waiting clients
    key, body = {"Idempotency-Key": "again"}, {"code": DRAWS}
    answers = []

    def ask(order, headers):
        answers.append(Connection(victim.socket).ask("POST", "/v1/execute", order, headers))

    def running():
        page = json.loads(Connection(victim.socket).ask("GET", "/v1/executions")[2])
        return {one["status"] for one in page["executions"]} == states

    threads = []
    for order, headers, states in (({"code": "import time; time.sleep(2)"}, {}, {"running"}),
                                   (body, key, {"running", "queued"})):
        threads.append(threading.Thread(target=ask, args=(order, headers)))
        threads[-1].start()
        serve.wait_for(running, 10, states)
    assert victim.server.stop(signal.SIGTERM) == 0
    for thread in threads:
        thread.join()
    (status, _, refusal), (finished, _, _) = answers
    assert status == 503 and json.loads(refusal)["code"] == "unavailable" and finished == 200
    victim.start()
    first, second = (Connection(victim.socket).ask("POST", "/v1/execute", body, key)
                     for _ in range(2))
    assert first[0] == 200 and "Idempotent-Replayed" not in first[1]
    assert second[0] == 200 and second[1]["Idempotent-Replayed"] == "true"
    assert json.loads(first[2])["status"] == "ok" and first[2] == second[2]


def test_a_long_request_is_read_back(victim, tmp_path):
    """It was queued, in parts; it is run after the restart, and then nothing of it is kept."""
    victim.server.options += ("--set", "runs.max=1")
    victim.server.stop()
    victim.start()
    busy = {"code": "import time; time.sleep(20)"}
    text = "".join(f"{i} " for i in range(400_000))
    long = {"code": "import zlib; data = open('in.txt', 'rb').read(); print(len(data), zlib.crc32(data))",
            "files": [{"path": "in.txt", "content": text}]}
    orders = []
    for body in (busy, long):
        status, _, answer = Connection(victim.socket).ask("POST", "/v1/executions", body)
        assert status == 202, answer
        orders.append(json.loads(answer)["id"])
    victim.server.stop(signal.SIGKILL)
    victim.start()

    def found():
        one = json.loads(Connection(victim.socket).ask("GET", f"/v1/executions/{orders[1]}")[2])
        return one if one["status"] not in ("queued", "running") else None

    ended = serve.wait_for(found, 60, "its end")
    expected = f"{len(text)} {zlib.crc32(text.encode())}\n"
    assert ended["status"] == "ok" and ended["result"]["stdout"] == expected
    assert victim.server.stop(signal.SIGTERM) == 0
    copy = shutil.copy(victim.server.state / "ledger" / "ledger.db", tmp_path)
    with sqlite3.connect(copy) as db:
        for table in ("requests", "long_requests WHERE gone = 0"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
    victim.start()


@pytest.mark.parametrize("death", [*serve.ROLES, "all", "supervisor"])
def test_sessions_say_that_they_are_lost(victim, death):
    """Reported sessions are known after the restart: open ones are lost, ended ones as
    they ended."""
    def ask(method, path, body=None):
        status, _, text = Connection(victim.socket).ask(method, "/v1/sessions" + path, body)
        return status, json.loads(text) if text else None

    opened = [ask("POST", "", {"language": "bash"})[1]["id"] for _ in range(3)]
    assert ask("POST", f"/{opened[0]}/execute", {"code": "x=1"})[0] == 200
    assert ask("DELETE", f"/{opened[1]}")[0] == 204
    before = victim.kill(death)
    assert not victim.outlived(before)
    victim.answers()
    status, problem = ask("POST", f"/{opened[0]}/execute", {"code": "echo $x"})
    assert (status, problem["code"]) == (410, "session_gone"), problem
    assert "lost: the service was restarted at 2" in problem["detail"], problem
    for name, why in ((opened[0], "lost: "), (opened[1], "it was closed"), (opened[2], "lost: ")):
        status, found = ask("GET", f"/{name}")
        assert (status, found["state"]) == (200, "gone") and found["reason"].startswith(why), found
    status, page = ask("GET", "?state=gone")
    assert status == 200 and {one["id"] for one in page["sessions"]} == set(opened)
    assert ask("GET", "")[1]["sessions"] == []
    victim.verify()


def test_no_session_is_told_and_then_unknown(victim):
    """Killed while sessions are opened: a client with an id can find out what happened to it."""
    told, going = [], threading.Event()

    def open_many():
        while not going.is_set():
            try:
                status, _, text = Connection(victim.socket).ask("POST", "/v1/sessions",
                                                                {"language": "bash"})
            except (Gone, OSError):
                continue
            if status == 201:
                told.append(json.loads(text)["id"])

    threads = [threading.Thread(target=open_many) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(4):
        victim.round()
    going.set()
    for thread in threads:
        thread.join()
    assert told
    for name in told:
        status, _, text = Connection(victim.socket).ask("GET", f"/v1/sessions/{name}")
        assert status == 200, (name, status, text)


def test_killed_while_its_state_is_made():
    """The very first start, interrupted at any moment: the second one finds no obstacle."""
    for number in range(12):
        one = Victim(seed=number)
        try:
            one.server.start(ready=False)
            time.sleep(one.chance.uniform(0, 0.12))
            one.look()
            one.server.process.kill()
            one.server.process.wait()
            one.start()
            status, _, body = Connection(one.socket).ask("POST", "/v1/execute", {"code": DRAWS})
            assert status == 200 and json.loads(body)["status"] == "ok", body
            one.verify()
            one.end()
        finally:
            one.close()
