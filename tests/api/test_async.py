# SPDX-License-Identifier: Apache-2.0
"""Executions that continue by themselves: polling, events, cancelling, keys, and crashes."""

import json
import signal
import threading
import time

import pytest
from conftest import check_named, serve

SLEEPS = "import time\nprint('begun', flush=True)\ntime.sleep(25)"
COUNTS = "import time\nfor i in range(6):\n print(i, flush=True); time.sleep(.2)"


def texts(events):
    return "".join(data["data"] for _, name, data in events if name == "output")


def test_poll(unix):
    mine = unix.begin(code="print('later')")
    found = unix.wait(mine)
    assert found["status"] == "ok" and found["result"]["stdout"] == "later\n"
    assert found["id"] == found["result"]["id"] == mine
    assert found["created_at"] <= found["started_at"] <= found["ended_at"] < found["expires_at"]


def test_a_run_that_cannot_be_has_an_error(unix):
    found = unix.wait(unix.begin(code="x", language="cobol"))
    assert found["status"] == "error" and found["result"] is None
    assert found["error"]["code"] == "unsupported_language"


def test_list_in_pages(alice):
    mine = [alice.begin(code=f"print({i})") for i in range(5)]
    for execution in mine:
        alice.wait(execution)
    seen, before = [], ""
    while before is not None:
        target = "/v1/executions?limit=2" + (f"&before={before}" if before else "")
        page = alice.ask("GET", target).json()
        seen += [e["id"] for e in page["executions"]]
        before = page["next"]
    assert seen == sorted(mine, reverse=True)


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=-1", "limit=x", "before=1", "x=1",
                                   "limit=1e1", "limit=1&&x"])
def test_wrong_queries(unix, query):
    answer = unix.ask("GET", "/v1/executions?" + query)
    assert answer.status == 400 and answer.code == "invalid_request"


def test_events_while_it_runs(unix):
    mine = unix.begin(code=COUNTS)
    events = unix.ask("GET", f"/v1/executions/{mine}/events").events()
    assert texts(events) == "0\n1\n2\n3\n4\n5\n"
    assert events[-1][1] == "result" and events[-1][2]["id"] == mine


def test_events_afterwards_and_from_any_place(unix):
    mine = unix.begin(code="import sys; print('äbc'); print('oops', file=sys.stderr)")
    unix.wait(mine)
    target = f"/v1/executions/{mine}/events"
    events = unix.ask("GET", target).events()
    assert [e[0] for e in events] == ["5-0", "5-5", "end"]
    assert texts(unix.ask("GET", target, headers={"Last-Event-ID": "2-0"}).events()) == "bc\noops\n"
    assert texts(unix.ask("GET", target, headers={"Last-Event-ID": "5-5"}).events()) == ""
    assert unix.ask("GET", target, headers={"Last-Event-ID": "end"}).status == 204
    for wrong in ("x", "1", "-1-2", "1-2-3", "99999999999999999999999999999999999999999999-1"):
        answer = unix.ask("GET", target, headers={"Last-Event-ID": wrong})
        assert answer.status == 400 and answer.code == "invalid_request"


def test_two_hear_the_same(unix):
    mine = unix.begin(code=COUNTS)
    heard = []
    threads = [
        threading.Thread(
            target=lambda: heard.append(unix.ask("GET", f"/v1/executions/{mine}/events").events())
        )
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [texts(h) for h in heard] == ["0\n1\n2\n3\n4\n5\n"] * 3


def test_who_leaves_the_events_ends_nothing(unix):
    mine = unix.begin(code=COUNTS)
    connection, response = unix.open("GET", f"/v1/executions/{mine}/events")
    response.readline()
    response.close()
    connection.close()
    assert unix.wait(mine)["status"] == "ok"


def test_cancel(unix):
    mine = unix.begin(code=SLEEPS)
    serve.wait_for(
        lambda: unix.ask("GET", f"/v1/executions/{mine}").json()["status"] == "running", 10, "run"
    )
    start = time.monotonic()
    found = unix.ask("DELETE", f"/v1/executions/{mine}").json()
    assert found["status"] == "cancelled" and time.monotonic() - start < 5
    assert unix.ask("DELETE", f"/v1/executions/{mine}").json() == found


def test_cancel_what_waits(make_service):
    client = make_service("--set", "runs.max=1").unix()
    first, second = client.begin(code=SLEEPS), client.begin(code="print(1)")
    found = client.ask("DELETE", f"/v1/executions/{second}").json()
    assert found["status"] == "cancelled" and found["error"]["code"] == "cancelled"
    assert client.ask("DELETE", f"/v1/executions/{first}").json()["status"] == "cancelled"


@pytest.mark.parametrize("wrong", ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "x", "01arz3ndektsv4rrffq69g5fav",
                                   "%2e%2e", "0" * 200])
def test_ids_of_nothing(unix, wrong):
    for method, tail in (("GET", ""), ("DELETE", ""), ("GET", "/events")):
        answer = unix.ask(method, f"/v1/executions/{wrong}{tail}")
        assert answer.status == 404 or (wrong == "%2e%2e" and answer.status == 400)


def test_stream_is_not_for_these(unix):
    answer = unix.ask("POST", "/v1/executions", {"code": "1", "stream": True})
    assert answer.status == 400 and "stream" in answer.json()["detail"]


# --- keys -------------------------------------------------------------------------------------------


def keyed(client, key, body, path="/v1/execute"):
    return client.ask("POST", path, body, {"Idempotency-Key": key})


def test_the_same_key_is_the_same_run(unix):
    body = {"code": "import time; print(time.time_ns())"}
    first, second = keyed(unix, "k1", body), keyed(unix, "k1", body)
    assert first.status == second.status == 200
    assert first.json() == second.json()
    assert second.header("Idempotent-Replayed") == "true"
    assert first.header("Idempotent-Replayed") is None


def test_the_same_key_while_it_runs(unix):
    body = {"code": "import time; time.sleep(1); print(time.time_ns())"}
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(keyed(unix, "k2", body).json()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4 and all(a == answers[0] for a in answers)


def test_another_body_is_refused(unix):
    keyed(unix, "k3", {"code": "print(1)"})
    answer = keyed(unix, "k3", {"code": "print(2)"})
    assert answer.status == 422 and answer.code == "idempotency_mismatch"


def test_keys_of_others_are_others(alice, bob):
    first = keyed(alice, "k4", {"code": "print(1)"}).json()
    second = keyed(bob, "k4", {"code": "print(2)"}).json()
    assert first["stdout"] == "1\n" and second["stdout"] == "2\n"


def test_keys_without_waiting(unix):
    body = {"code": "print(5)"}
    first = keyed(unix, "k5", body, "/v1/executions")
    second = keyed(unix, "k5", body, "/v1/executions")
    assert first.status == second.status == 202 and first.json() == second.json()
    assert keyed(unix, "k5", body).status == 422


def test_a_failure_is_replayed_too(unix):
    body = {"code": "x", "language": "cobol"}
    first, second = keyed(unix, "k6", body), keyed(unix, "k6", body)
    assert first.status == second.status == 400 and first.json() == second.json()


def test_a_key_outlives_its_asker(unix):
    """A client that was disconnected and repeats its request gets the first run's result."""
    body = {"code": "import time; time.sleep(1); print(time.time_ns())"}
    connection = unix.connect()
    connection.request("POST", "/v1/execute", json.dumps(body),
                       {"Content-Type": "application/json", "Idempotency-Key": "k7"})
    time.sleep(0.4)
    connection.close()
    answer = keyed(unix, "k7", body)
    assert answer.json()["status"] == "ok" and answer.header("Idempotent-Replayed") == "true"


def test_a_key_with_a_stream(unix):
    body = {"code": "print(3)", "stream": True}
    first, second = keyed(unix, "k8", body).events(), keyed(unix, "k8", body).events()
    assert texts(first) == texts(second) == "3\n"
    assert first[-1] == second[-1]


@pytest.mark.parametrize("wrong", ["", "a b", "x" * 256, "ä"])
def test_wrong_keys(unix, wrong):
    answer = unix.ask("POST", "/v1/execute", {"code": "1"},
                      {"Idempotency-Key": wrong.encode("latin-1")})
    assert answer.status == 400


# --- crashes ----------------------------------------------------------------------------------------


def test_what_was_acknowledged_is_run_after_a_crash(make_service):
    service = make_service("--set", "runs.max=1")
    client = service.unix()
    first = client.begin(code=SLEEPS)
    rest = [client.begin(code=f"print({i})") for i in range(4)]
    serve.wait_for(
        lambda: client.ask("GET", f"/v1/executions/{first}").json()["status"] == "running", 10, "run"
    )
    service.server.process.kill()
    service.server.process.wait()
    serve.wait_for(lambda: not service.server.roles(), 10, "roles gone")
    service.server.start(ready=False)
    service.server.wait_ready(2)
    assert client.wait(first)["status"] == "lost"
    for i, execution in enumerate(rest):
        found = client.wait(execution)
        assert found["status"] == "ok" and found["result"]["stdout"] == f"{i}\n"
        check_named("Execution", found)


def test_a_clean_stop_waits_for_what_runs(make_service):
    service = make_service()
    client = service.unix()
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(client.run(code="import time; time.sleep(1.5); print('done')"))
    )
    thread.start()
    time.sleep(0.7)
    assert service.server.stop(signal.SIGTERM) == 0
    thread.join()
    assert answers[0]["stdout"] == "done\n"
