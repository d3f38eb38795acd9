# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the service's processes at any moment, under load.

Clients of every kind ask for runs (service_load.py) while roles, all of them, or the supervisor are
killed, also while they get up again (service_victim.py). In the end nothing is left of it; what
was acknowledged has ended or is `lost`, once, and stays as it was told; the chain verifies.
`make soak-service` does the same for hours.
"""

import json
import os
import signal
import threading
import time

import pytest
from service_load import DRAWS, Book, Connection, Load
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
    load = Load(victim.socket, book, victim.seed).start()
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
    assert back[len(back) // 2] < 5, summary(victim, book)


def test_a_key_of_what_was_refused_is_free(victim):
    """Who waits while the service is stopped is sent away; the key runs it in the next life."""
    victim.server.options += ("--set", "runs.max=1")
    victim.server.stop()
    victim.start()
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


def test_killed_while_its_state_is_made():
    """The first start of all, cut off at any moment: the second finds nothing that stops it."""
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
