# SPDX-License-Identifier: Apache-2.0
"""Bytes that are held for a tenant: they count for it, and no other tenant lacks them."""

import socket
import time

import pytest
from callers import quiet, running, wait_for

BODY = 300_000
RESULT = "import os; print(os.urandom(150_000).hex())"


@pytest.fixture
def small(make_house):
    return make_house("--set", "http.tenant_body_bytes=1M", "--set", "http.tenant_answer_bytes=1M",
                      "--set", "http.bodies_bytes=4M", "--set", "runs.max=8")


def part_of_body(house, name, size=BODY):
    """A request that stops short of its last byte."""
    door = house.socket()
    door.sendall(house.head("POST", "/v1/execute", name, "Content-Type: application/json",
                            f"Content-Length: {size}") + b" " * (size - 1))
    return door


def test_bodies_of_one_tenant(small):
    alice, mallory = small.tcp("alice"), small.tcp("mallory")
    doors = [part_of_body(small, "mallory") for _ in range(3)]
    time.sleep(0.5)
    answer = mallory.ask("POST", "/v1/execute", {"code": "1" + " " * BODY})
    assert (answer.status, answer.code) == (429, "bytes_limited"), answer.body
    assert "http.tenant_body_bytes" in answer.json()["detail"]
    assert answer.header("Retry-After")
    assert mallory.run("print(1)")["status"] == "ok"
    assert alice.run("print(2)" + " " * BODY)["stdout"] == "2\n"
    for door in doors:
        door.close()
    wait_for(lambda: mallory.ask("POST", "/v1/execute", {"code": "1" + " " * BODY}).status == 200,
             10, "room again")


def test_chunked_bodies_count(small):
    mallory = small.tcp("mallory")
    doors = []
    for _ in range(4):
        door = small.socket()
        door.sendall(small.head("POST", "/v1/execute", "mallory", "Content-Type: application/json",
                                "Transfer-Encoding: chunked"))
        door.sendall(b"%x\r\n" % BODY + b" " * BODY + b"\r\n")
        doors.append(door)
    time.sleep(0.5)
    said = [door for door in doors if readable(door)]
    assert said and b"429" in said[0].recv(200)
    for door in doors:
        door.close()
    wait_for(lambda: mallory.ask("POST", "/v1/execute", {"code": "1" + " " * BODY}).status == 200,
             10, "room again")


def readable(door):
    door.setblocking(False)
    try:
        return bool(door.recv(1, 2))  # MSG_PEEK
    except BlockingIOError:
        return False
    finally:
        door.setblocking(True)


def test_bodies_of_runs_that_wait_count(small):
    """A body is held until its response: also while the run waits and runs."""
    mallory, alice = small.tcp("mallory"), small.tcp("alice")
    code = "import time; time.sleep(3)" + " " * BODY
    asked = [mallory.begin("POST", "/v1/execute", {"code": code}) for _ in range(3)]
    time.sleep(1)
    assert mallory.ask("POST", "/v1/execute", {"code": code}).code == "bytes_limited"
    assert alice.ask("POST", "/v1/execute", {"code": "1" + " " * BODY}).status == 200
    for connection in asked:
        assert connection.getresponse().status == 200
        connection.close()


def waiting(client):
    return client.metrics()["brig_executions_waiting"]


@pytest.mark.parametrize("way", ["key", "stream", "both"])
def test_bodies_of_clients_that_left_count(make_house, way):
    """A body whose run waits is held, although its sender has left: so it counts."""
    house = make_house("--set", "http.tenant_body_bytes=1M", "--set", "runs.max=1",
                       "--set", "runs.reserve=0", "--set", "runs.resume_timeout=10m",
                       "--set", "runs.queue_timeout=10m")
    mallory, operator = house.tcp("mallory"), house.unix()
    slot = mallory.order("import time; time.sleep(600)")
    running(mallory)
    body = {"code": "print(1)" + " " * BODY, "stream": way != "key"}
    for i in range(6):
        before = waiting(operator)
        connection = mallory.begin("POST", "/v1/execute", body,
                                   {"Idempotency-Key": f"k{i}"} if way != "stream" else {})
        wait_for(lambda: waiting(operator) > before or readable(connection.sock), 30, "it is there")
        if way == "both" and i == 0:
            # Another listener of the same run has no body, and stays.
            listed = mallory.ask("GET", "/v1/executions").json()["executions"]
            stays = mallory.begin("GET", f"/v1/executions/{listed[0]['id']}/events")
            assert stays.getresponse().status == 200
        connection.close()
    wait_for(lambda: house.unix().metrics()["brig_http_connections"] <= 2, 30, "all have left")
    assert waiting(operator) == 3  # 300 kB each, and 1 MiB is all
    answer = mallory.ask("POST", "/v1/execute", body)
    assert (answer.status, answer.code) == (429, "bytes_limited"), answer.body
    assert house.tcp("alice").ask("POST", "/v1/executions", {"code": "1" + " " * BODY}).status == 202
    mallory.ask("DELETE", f"/v1/executions/{slot}")
    quiet(operator)
    for _ in range(4):
        assert mallory.run("print(2)" + " " * BODY)["stdout"] == "2\n"


def test_answers_that_nobody_takes(small):
    alice, mallory = small.tcp("alice"), small.tcp("mallory")
    path = "/v1/executions/" + mallory.run(RESULT)["id"]
    doors = []
    for _ in range(40):
        # By unix socket, where the kernel does not buffer so much of it.
        door = socket.socket(socket.AF_UNIX)
        door.connect(small.server.socket)
        door.sendall(small.head("GET", path, "mallory"))
        doors.append(door)
    time.sleep(1)

    def refused():
        answer = mallory.ask("GET", path)
        return answer.status == 429 and answer

    answer = wait_for(refused, 10, "too much")
    assert answer.code == "bytes_limited" and answer.header("Retry-After")
    assert "http.tenant_answer_bytes" in answer.json()["detail"]
    # Small requests are answered all the same, and others are not affected.
    assert mallory.ask("GET", "/v1/executions?limit=1").status == 200
    theirs = alice.run(RESULT)
    assert alice.ask("GET", "/v1/executions/" + theirs["id"]).json()["result"] == theirs
    for door in doors:
        door.close()
    wait_for(lambda: mallory.ask("GET", path).status == 200, 10, "room again")


def test_one_large_answer_is_no_offence(make_house):
    """Alone it is accepted, whatever the limit: otherwise it could never be read."""
    house = make_house("--set", "http.tenant_answer_bytes=10K")
    mallory = house.tcp("mallory")
    assert len(mallory.run(RESULT)["stdout"]) == 300_001
