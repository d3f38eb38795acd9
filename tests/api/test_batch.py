# SPDX-License-Identifier: Apache-2.0
"""POST /v1/batch: programs times inputs, answered as they end."""

import json
import time

import pytest
from conftest import check_named, serve


def lines(answer):
    assert answer.status == 200, answer.body
    return [json.loads(line) for line in answer.body.splitlines()]


def test_programs_times_inputs(unix):
    programs = [{"code": "print(int(input()) + %d)" % i} for i in range(3)]
    inputs = [{"stdin": "10"}, {"stdin": "20"}]
    *rest, last = lines(unix.ask("POST", "/v1/batch", {"programs": programs, "inputs": inputs}))
    assert last == {"done": True, "count": 6, "errors": 0}
    found = {(line["program"], line["input"]): line["result"]["stdout"] for line in rest}
    assert found == {(p, i): f"{[10, 20][i] + p}\n" for p in range(3) for i in range(2)}


def test_without_inputs(unix):
    first, last = lines(unix.ask("POST", "/v1/batch", {"programs": [{"code": "print(1)"}]}))
    assert first["result"]["stdout"] == "1\n" and last["count"] == 1


def test_each_is_an_execution(unix):
    first, _ = lines(unix.ask("POST", "/v1/batch", {"programs": [{"code": "print(1)"}]}))
    found = unix.ask("GET", "/v1/executions/" + first["result"]["id"]).json()
    assert found["result"] == first["result"]


def test_inputs_replace_what_the_program_has(unix):
    program = {"code": "import sys; print(sys.argv[1:], open('f').read(), input())",
               "stdin": "own", "files": [{"path": "f", "content": "own"}], "args": ["own"]}
    body = {"programs": [program], "inputs": [{}, {"args": ["a"]}, {"stdin": "s"},
                                              {"files": [{"path": "f", "content": "f"}]}]}
    *rest, _ = lines(unix.ask("POST", "/v1/batch", body))
    found = {line["input"]: line["result"]["stdout"] for line in rest}
    assert found == {0: "['own'] own own\n", 1: "['a'] own own\n", 2: "['own'] own s\n",
                     3: "['own'] f own\n"}


def test_they_come_as_they_end(unix):
    body = {"programs": [{"code": "import time; time.sleep(2.5); print('late')"},
                         {"code": "print('soon')"}]}
    connection, response = unix.open("POST", "/v1/batch", body)
    assert json.loads(response.readline())["program"] == 1
    soon = time.monotonic()
    assert json.loads(response.readline())["program"] == 0
    assert time.monotonic() - soon > 0.3
    connection.close()


def test_as_events(unix):
    body = {"programs": [{"code": "print(1)"}, {"code": "x", "language": "cobol"}]}
    events = unix.ask("POST", "/v1/batch", body, {"Accept": "text/event-stream"}).events()
    assert sorted(name for _, name, _ in events) == ["done", "error", "result"]
    for _, _, data in events:
        check_named("BatchLine", data)
    assert events[-1][2]["errors"] == 1


@pytest.mark.parametrize("body,named", [
    ({}, "programs"), ({"programs": []}, "programs"), ({"programs": [{}]}, "code"),
    ({"programs": {}}, "programs"), ({"programs": [{"code": "x"}], "inputs": []}, "inputs"),
    ({"programs": [{"code": "x"}], "inputs": [{"code": "y"}]}, "inputs[0].code"),
    ({"programs": [{"code": "x"}], "inputs": [{}, {"stdin": 5}]}, "inputs[1].stdin"),
    ({"programs": [{"code": "x"}, {"code": "x", "oops": 1}]}, "programs[1].oops"),
    ({"programs": [{"code": "x", "stream": True}]}, "programs[0]"),
    ({"programs": [{"code": "x", "session": "y"}]}, "programs[0]"),
    ({"programs": [{"code": "x"}] * 40, "inputs": [{}] * 40}, "1000"),
])
def test_wrong_batches_run_nothing(unix, body, named):
    answer = unix.ask("POST", "/v1/batch", body)
    assert answer.status == 400 and named in answer.json()["detail"], answer.body


def test_a_batch_of_many(unix):
    body = {"programs": [{"code": f"print({i})", "want_value": False} for i in range(60)]}
    *rest, last = lines(unix.ask("POST", "/v1/batch", body))
    assert last == {"done": True, "count": 60, "errors": 0}
    assert sorted(int(line["result"]["stdout"]) for line in rest) == list(range(60))


def test_who_leaves_ends_it(alice):
    body = {"programs": [{"code": "import time; time.sleep(20)"}] * 6}
    connection, response = alice.open("POST", "/v1/batch", body)
    response.close()
    connection.close()

    def quiet():
        page = alice.ask("GET", "/v1/executions?limit=50").json()["executions"]
        return not [e for e in page if e["status"] in ("running", "queued")]

    serve.wait_for(quiet, 10, "all ended")


def test_no_key(unix):
    answer = unix.ask("POST", "/v1/batch", {"programs": [{"code": "1"}]}, {"Idempotency-Key": "b"})
    assert answer.status == 400
