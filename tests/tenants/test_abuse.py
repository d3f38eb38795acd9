# SPDX-License-Identifier: Apache-2.0
"""A6, A7, A14: one tenant uses as much as it can; the others are served, and nothing is left
running."""

import concurrent.futures
import contextlib
import json
import pathlib
import socket
import threading
import time

import pytest
from callers import quiet, running, timed, wait_for

SLEEP = {"code": "import time; time.sleep(60)"}
SOON = 20  # seconds, on a busy machine
HOSTILE = pathlib.Path(__file__).resolve().parents[1] / "programs" / "hostile"


def finished(client, name):
    """The result of a run that is not waited for; None: not yet."""
    state = client.ask("GET", f"/v1/executions/{name}").json()
    return None if state["status"] in ("queued", "running") else state


def served(client):
    """The victim's own run, and its duration."""
    result, seconds = timed(lambda: client.run("print(6 * 7)"))
    assert result["stdout"] == "42\n"
    return seconds


# --- large objects ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/v1/execute", "/v1/batch", "/v1/sessions", "/mcp", "/api/sandbox/execute"])
def test_a6_declared_body(house, alice, path):
    """10 GiB are announced: refused at once, and nothing is reserved for it."""
    before = house.resident_kib("front")
    for size in (10 << 30, (1 << 63) - 1, 1 << 64, 10**30):
        head = house.head("POST", path, "mallory", "Content-Type: application/json", f"Content-Length: {size}")
        got, seconds = timed(lambda data=head: house.raw(data + b"x" * 1000))
        assert got.split()[1] in (b"400", b"413"), got[:200]
        assert seconds < SOON
    assert house.resident_kib("front") - before < 20 << 10
    served(alice)


def test_a6_endless_chunks(house, alice):
    """A body that never ends is cut off at the service's bound, not at the sender's."""
    with house.socket() as door:
        door.sendall(house.head("POST", "/v1/execute", "mallory", "Content-Type: application/json",
                                "Transfer-Encoding: chunked"))
        piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        sent = 0
        with contextlib.suppress(OSError):
            for _ in range(200):
                door.sendall(piece)
                sent += 1
        assert sent < 150, "nobody has stopped it"
    served(alice)


def test_a6_heads(house, alice):
    for line in ("X-Large: " + "x" * (1 << 20), "\r\n".join(f"X-{i}: 1" for i in range(10000))):
        got = house.raw(house.head("GET", "/v1/runtimes", "mallory", line))
        assert got == b"" or got.split()[1] in (b"400", b"431"), got[:200]
    served(alice)


def test_a6_bodies_held_back(house, alice):
    """Bodies that stop before their end, as many as there is room for."""
    with contextlib.ExitStack() as stack:
        for _ in range(18):
            door = stack.enter_context(house.socket())
            door.sendall(house.head("POST", "/v1/execute", "mallory", "Content-Type: application/json",
                                    f"Content-Length: {15 << 20}"))
            with contextlib.suppress(OSError):
                door.sendall(b" " * ((15 << 20) - 1))
        assert house.resident_kib("front") < 400 << 10
        # A small request of another tenant is still accepted.
        assert served(alice) < SOON
    quiet(house.unix())


def test_a6_uploads_at_once(house, alice):
    """A hundred of the largest files, none of which ends: a budget refuses most of them."""
    part = b"A" * (1 << 20)
    refused = []
    with contextlib.ExitStack() as stack:
        doors = []
        for _ in range(100):
            door = stack.enter_context(house.socket())
            door.sendall(house.head("POST", "/v1/execute", "mallory", "Content-Type: application/json",
                                    f"Content-Length: {32 << 20}")
                         + b'{"code":"1","files":[{"path":"f","content_base64":"')
            doors.append(door)
        while doors and len(refused) < 80:
            for door in list(doors):
                door.settimeout(0.2)
                try:
                    door.sendall(part)
                except TimeoutError:
                    continue
                except OSError:
                    doors.remove(door)
                    with contextlib.suppress(OSError):
                        refused.append(door.recv(1000))
                    continue
                door.settimeout(0.001)
                with contextlib.suppress(TimeoutError):
                    refused.append(door.recv(1000))
                    doors.remove(door)
        told = [text for text in refused if text]
        assert told and all(b" 429 " in text.split(b"\r\n")[0] for text in told), told[:3]
        assert any(b"http.tenant_body_bytes" in text for text in told)
        assert house.resident_kib("front") < 100 << 10
        assert served(alice) < SOON
        assert alice.ask("POST", "/v1/execute", {"code": "1" + " " * (1 << 20)}).status == 200
    quiet(house.unix())


def test_a6_patterns(alice, mallory):
    """Patterns of output files: too many or too long ones are refused, and allowed ones
    are cheap."""
    for out, word in ((["x"] * 101, "100"), (["*" * 1024], "1023"), (["**/" + "a*" * 45] * 100, "8192")):
        for path, body in (("/v1/execute", {"code": "1"}),):
            answer = mallory.ask("POST", path, {**body, "out": out})
            assert answer.status == 400 and word in answer.json()["detail"], answer.body
    code = (HOSTILE / "many_names.py").read_text()
    patterns = ["**/" + "a*b*c*?d" * 9] * 100
    made = mallory.ask("POST", "/v1/executions", {"code": code, "out": patterns, "args": ["3000"]}).json()
    assert served(alice) < SOON
    result = wait_for(lambda: finished(mallory, made["id"]), 120)
    result = result["result"]
    assert (result["status"], result["stdout"], result["files"]) == ("ok", "3000\n", [])
    assert "too much work" in result["files_note"]


def test_a6_patterns_in_a_session(alice, mallory):
    """Collecting continues while others are served; then the session continues as well."""
    name = mallory.ask("POST", "/v1/sessions", {"language": "python"}).json()["id"]
    path = f"/v1/sessions/{name}/execute"
    code = "import sys; sys.argv = ['x', '3000']\n" + (HOSTILE / "many_names.py").read_text()
    many = {"code": code + "\nkept = made", "out": ["**/" + "a*b*c*?d" * 9] * 100}
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(mallory.ask, "POST", path, many)
        assert served(alice) < SOON
        result = asked.result(120).json()
    assert (result["status"], result["stdout"]) == ("ok", "3000\n"), result
    assert "too much work" in result["files_note"]
    again = mallory.ask("POST", path, {"code": "print(kept)"}).json()
    assert (again["status"], again["stdout"], again["files"]) == ("ok", "3000\n", [])
    assert mallory.ask("DELETE", f"/v1/sessions/{name}").status in (200, 204)


# --- many objects -----------------------------------------------------------------------------------


def test_fairness_of_queues(make_house):
    """The queue is full of one tenant's requests; another tenant's run is next, not last."""
    house = make_house("--set", "runs.max=2", "--set", "runs.queue_per_tenant=100", "--set", "runs.queue=300")
    mallory, alice = house.tcp("mallory"), house.tcp("alice")
    statuses = []
    while 429 not in statuses and len(statuses) < 1000:
        statuses.append(mallory.ask("POST", "/v1/executions", {"code": "import time; time.sleep(.5)"}).status)
    assert 202 in statuses and statuses[-1] == 429
    answer = mallory.ask("POST", "/v1/execute", {"code": "1"})
    assert (answer.status, answer.code) == (429, "queue_full") and int(answer.header("Retry-After")) >= 1
    assert max(served(alice) for _ in range(5)) < SOON
    waiting = mallory.metrics()["brig_executions_waiting"]
    assert waiting > 20, "the queue was empty: this shows nothing"


def test_fairness_of_batches(make_house):
    house = make_house("--set", "runs.max=2")
    mallory, alice = house.tcp("mallory"), house.tcp("alice")
    programs = [{"code": "import time; time.sleep(.5)"}] * 500
    batches = [mallory.begin("POST", "/v1/batch", {"programs": programs}) for _ in range(3)]
    running(mallory, 2)
    assert max(served(alice) for _ in range(5)) < SOON
    for batch in batches:
        batch.close()
    quiet(house.unix(), 30)


def test_session_flood(make_house):
    """Sessions up to the tenant's bound; those of the other tenant are not affected."""
    house = make_house("--set", "sessions.per_tenant=6", "--set", "sessions.max=10")
    mallory, alice = house.tcp("mallory"), house.tcp("alice")
    theirs = alice.session()
    alice.run_in(theirs, "kept = 5")
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(mallory.ask("POST", "/v1/sessions", {})))
               for _ in range(25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    opened = [a for a in answers if a.status == 201]
    assert len(opened) == 6
    assert {(a.status, a.code) for a in answers if a.status != 201} == {(429, "session_limit")}
    assert mallory.mcp().text("open_session")[0]
    assert alice.run_in(theirs, "print(kept)")["stdout"] == "5\n"
    assert alice.session()
    # The control: one closed, and there is room for one.
    mallory.ask("DELETE", f"/v1/sessions/{opened[0].json()['id']}")
    assert mallory.session()


def test_tombstones_of_others_stay(make_house):
    """Many short sessions of one tenant do not remove the records of another's."""
    house = make_house()
    alice, mallory = house.tcp("alice"), house.tcp("mallory")
    theirs = alice.session()
    alice.ask("DELETE", f"/v1/sessions/{theirs}")
    for _ in range(40):
        mallory.ask("DELETE", f"/v1/sessions/{mallory.session()}")
    assert alice.ask("GET", f"/v1/sessions/{theirs}").json()["state"] == "gone"
    assert mallory.ask("GET", f"/v1/sessions/{theirs}").status == 404


def test_a7_readers_that_never_read(house, alice):
    """Streams whose output is not read: the program waits, the memory does not grow, others
    continue."""
    before = house.resident_kib("front")
    flood = json.dumps({"code": "while True: print('x' * 10000)", "stream": True,
                        "limits": {"wall_ms": 8000}}).encode()
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            door = stack.enter_context(socket.socket())
            door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            door.connect(("127.0.0.1", house.port))
            door.sendall(house.head("POST", "/v1/execute", "mallory", "Content-Type: application/json",
                                    f"Content-Length: {len(flood)}") + flood)
        time.sleep(2)
        assert house.resident_kib("front") - before < 64 << 10
        assert served(alice) < SOON
    quiet(house.unix(), 30)


def test_a7_idle_connections(house, alice):
    doors = [house.socket() for _ in range(300)]
    for door in doors[:150]:
        door.sendall(b"POST /v1/execute HTTP/1.1\r\nHost: local")
    assert served(alice) < SOON
    for door in doors:
        door.close()


# --- leaving ----------------------------------------------------------------------------------------


def request(house, method, path, body, *lines):
    data = json.dumps(body).encode()
    return house.head(method, path, "mallory", "Content-Type: application/json",
                      f"Content-Length: {len(data)}", *lines) + data


def nothing_runs(house, before, seconds=30):
    """Neither by the service's own count, nor by the processes below the warden."""
    quiet(house.unix(), seconds)
    wait_for(lambda: len(house.cells()) <= before, seconds, f"at most {before} processes")


@pytest.fixture
def calm(make_house):
    """A house without cells that are made ahead, so that they can be counted."""
    house = make_house("--set", "warm.enabled=false", "--set", "runs.resume_timeout=1s", "--set", "runs.max=2",
                       "--set", "runs.reserve=0")
    house.tcp("alice").run("1")
    quiet(house.unix())
    return house


RUNS = {
    "sync": ("/v1/execute", SLEEP), "stream": ("/v1/execute", {**SLEEP, "stream": True}),
    "batch": ("/v1/batch", {"programs": [SLEEP] * 5}), "legacy": ("/api/sandbox/execute", SLEEP),
}


@pytest.mark.parametrize("way", RUNS)
def test_a14_leaving_while_it_runs(calm, way):
    before = len(calm.cells())
    path, body = RUNS[way]
    with calm.socket() as door:
        door.sendall(request(calm, "POST", path, body))
        wait_for(lambda: len(calm.cells()) > before, 15, "it runs")
    nothing_runs(calm, before)
    served(calm.tcp("alice"))


@pytest.mark.parametrize("way", RUNS)
def test_a14_leaving_while_it_waits(calm, way):
    before = len(calm.cells())
    path, body = RUNS[way]
    alice = calm.tcp("alice")
    orders = [alice.order("import time; time.sleep(60)") for _ in range(2)]
    running(alice, 2)
    with calm.socket() as door:
        door.sendall(request(calm, "POST", path, body))
        wait_for(lambda: calm.unix().metrics()["brig_executions_waiting"] > 0, 15, "it waits")
    wait_for(lambda: calm.unix().metrics()["brig_executions_waiting"] == 0, 15, "it has left")
    for order in orders:
        alice.ask("DELETE", f"/v1/executions/{order}")
    nothing_runs(calm, before)
    listed = calm.tcp("mallory").ask("GET", "/v1/executions").json()["executions"]
    assert not [e for e in listed if e["status"] in ("queued", "running", "ok")]


def test_a14_leaving_in_the_middle(calm):
    """Disconnected after every so many bytes of the request, and at random moments after it."""
    before = len(calm.cells())
    data = request(calm, "POST", "/v1/execute", SLEEP)
    for cut in range(0, len(data), 23):
        with calm.socket() as door:
            door.sendall(data[:cut])
    for delay in range(12):
        with calm.socket() as door:
            door.sendall(data)
            time.sleep(delay * 0.01)
            if delay % 2:
                door.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    nothing_runs(calm, before)
    served(calm.tcp("alice"))


def test_a14_leaving_sessions(calm):
    """Opened for a client that has left: closed again. Run in for a client that has left:
    interrupted."""
    before = len(calm.cells())
    for delay in (0, 0.02, 0.1):
        with calm.socket() as door:
            door.sendall(request(calm, "POST", "/v1/sessions", {}))
            time.sleep(delay)
    mallory = calm.tcp("mallory")
    wait_for(lambda: len(calm.cells()) <= before + 3 * len(mallory.ask(
        "GET", "/v1/sessions").json()["sessions"]) + 1, 30, "closed")
    for one in mallory.ask("GET", "/v1/sessions").json()["sessions"]:
        mallory.ask("DELETE", f"/v1/sessions/{one['id']}")
    nothing_runs(calm, before)
    session = mallory.session()
    mallory.run_in(session, "kept = 3")
    with calm.socket() as door:
        door.sendall(request(calm, "POST", f"/v1/sessions/{session}/execute", SLEEP))
        running(mallory)
    quiet(mallory, 20)
    assert mallory.run_in(session, "print(kept)")["stdout"] == "3\n"
    mallory.ask("DELETE", f"/v1/sessions/{session}")
    nothing_runs(calm, before)


def test_a14_control(calm):
    """A client that stays, or requested that it continues, has it run."""
    mallory = calm.tcp("mallory")
    with calm.socket() as door:
        door.sendall(request(calm, "POST", "/v1/execute", {"code": "import time; time.sleep(1); print('on')"},
                             "Idempotency-Key: stay"))
        running(mallory)
    (only,) = running(mallory)
    assert mallory.wait(only)["result"]["stdout"] == "on\n"


def test_mcp_floods(house, alice):
    """Notifications, listens and pings without end, by one client."""
    mallory = house.tcp("mallory")
    peer = mallory.mcp()
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    kept = mallory.connect()
    for _ in range(300):
        kept.request("POST", "/mcp", json.dumps(cancel), mallory.all_headers(
            {**peer.headers, "Content-Type": "application/json"}))
        answer = kept.getresponse()
        answer.read()
        assert answer.status == 202
    batch = [{"jsonrpc": "2.0", "id": i, "method": "ping"} for i in range(5000)]
    assert mallory.ask("POST", "/mcp", batch, peer.headers).status == 400
    assert served(alice) < SOON
