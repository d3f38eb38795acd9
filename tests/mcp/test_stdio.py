# SPDX-License-Identifier: Apache-2.0
"""The stdio transport by hand."""

import json
import subprocess
import time

import pytest
from speak import LEGACY, VERSION, Stdio, call, modern, request

INVALID, PARSE = -32600, -32700


def code(message):
    return message.get("error", {}).get("code")


def test_both_eras_at_once(stdio):
    assert stdio.ask(modern("server/discover"))["result"]["supportedVersions"][0] == VERSION
    assert code(stdio.ask(request("tools/list", number=2))) == INVALID  # not initialized
    assert stdio.ask(request("ping", number=3))["result"] == {}
    assert stdio.open()["result"]["protocolVersion"] == LEGACY
    assert "tools" in stdio.ask(request("tools/list", number=4))["result"]
    echo = stdio.ask(call("test_echo", number=5))["result"]
    assert echo["structuredContent"]["version"] == VERSION and echo["resultType"] == "complete"
    echo = stdio.ask(request("tools/call", {"name": "test_echo"}, 6))["result"]
    assert echo["structuredContent"]["version"] == LEGACY and "resultType" not in echo
    assert code(stdio.open()) == INVALID  # only once


@pytest.mark.parametrize("line", [
    b"x", b"{", b"[", b'"', b"\xff", b'{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}',
    b"[" * 5000, b"{}{}", b"nul", b"\x00",
])
def test_no_json(stdio, line):
    stdio.write(line + b"\n")
    answer = stdio.next()
    assert code(answer) == PARSE and "id" not in answer
    assert stdio.ask(request("ping"))["result"] == {}


def test_lines(stdio):
    """Empty ones, Windows line ends, pieces, and several at once."""
    stdio.write(b"\n\r\n   \n")
    assert code(stdio.next()) == PARSE
    stdio.write(json.dumps(request("ping", number=1)).encode() + b"\r\n")
    assert stdio.next()["id"] == 1
    for byte in json.dumps(request("ping", number=2)).encode() + b"\n":
        stdio.write(bytes([byte]))
    assert stdio.next()["id"] == 2
    stdio.send(*(request("ping", number=i) for i in range(10, 300)))
    assert [stdio.next()["id"] for _ in range(290)] == list(range(10, 300))


def test_line_too_long(stdio):
    stdio.open()
    stdio.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (33 << 20))
    assert code(stdio.next()) == PARSE
    stdio.write(b"x" * 1000 + b'"}}\n')
    assert stdio.ask(request("ping", number=2))["result"] == {}
    assert stdio.silent()


def test_notifications_have_no_answer(stdio):
    stdio.open()
    for method in ("notifications/initialized", "notifications/cancelled", "no/such", "ping",
                   "tools/call", "notifications/roots/list_changed"):
        stdio.send({"jsonrpc": "2.0", "method": method, "params": {"requestId": 5}})
    stdio.send({"jsonrpc": "2.0", "id": 77, "result": {}}, {"jsonrpc": "2.0", "id": 1, "error": {}})
    assert stdio.silent()


def test_flood_of_notifications(stdio):
    stdio.open()
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                       "params": {"requestId": "x"}}).encode() + b"\n"
    for _ in range(200):
        stdio.write(note * 200)
    assert stdio.ask(request("ping", number=9))["result"] == {}
    with open(f"/proc/{stdio.process.pid}/status", encoding="ascii") as status:
        peak = [int(line.split()[1]) for line in status if line.startswith("VmHWM")][0]
    assert peak < 200000 or "asan" in open(f"/proc/{stdio.process.pid}/maps").read()


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_cancel(stdio, era):
    stdio.open()
    make = (lambda **more: call("test_slow", {"ms": 20000}, **more)) if era == "modern" else \
        (lambda number: request("tools/call", {"name": "test_slow", "arguments": {"ms": 20000}},
                                number))
    stdio.send(make(number="slow"), {"jsonrpc": "2.0", "method": "notifications/cancelled",
                                     "params": {"requestId": "slow", "reason": "test"}})
    assert stdio.silent()
    echo = stdio.ask(call("test_echo", number=2))
    assert echo["result"]["structuredContent"]["cancelled"] == 1
    # The id may be used again.
    assert stdio.ask(call("test_simple_text", number="slow"))["result"]


def test_too_many_calls(stdio):
    stdio.open()
    stdio.send(*(call("test_slow", {"ms": 500}, number=i) for i in range(70)))
    answers = {m["id"]: m for m in (stdio.next() for _ in range(70))}
    refused = [i for i, m in answers.items() if code(m) == -32603]
    assert sorted(refused) == list(range(64, 70))


def test_id_in_use(stdio):
    stdio.send(call("test_slow", {"ms": 300}, number=1), call("test_echo", number=1))
    assert code(stdio.next()) == INVALID
    assert stdio.next()["result"]


def test_listen(stdio):
    wish = {"notifications": {"toolsListChanged": True}}
    stdio.send(modern("subscriptions/listen", wish, number="a"),
               modern("subscriptions/listen", {"notifications": {}}, number="b"))
    acks = [stdio.next(), stdio.next()]
    assert {m["method"] for m in acks} == {"notifications/subscriptions/acknowledged"}
    stdio.send(call("test_trigger_tool_change", number=5))
    assert stdio.next()["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "a"}
    assert stdio.next()["id"] == 5
    stdio.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}})
    stdio.send(call("test_trigger_tool_change", number=6))
    assert stdio.next()["id"] == 6


def test_batches(stdio):
    stdio.send([request("ping")])
    assert code(stdio.next()) == INVALID
    stdio.open("2025-03-26")
    stdio.send([request("ping", number=1), request("tools/call", {
        "name": "test_slow", "arguments": {"ms": 50}}, 2)])
    assert sorted(m["id"] for m in stdio.next()) == [1, 2]
    # Cancelled ones are left out; if none is left, there is no answer.
    slow = {"name": "test_slow", "arguments": {"ms": 20000}}
    stop = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
    stdio.send([request("tools/call", slow, 3), request("ping", number=4)],
               {**stop, "params": {"requestId": 3}})
    assert [m["id"] for m in stdio.next()] == [4]
    stdio.send([request("tools/call", slow, 5)], {**stop, "params": {"requestId": 5}})
    assert stdio.silent()


def test_slow_reader(stdio):
    """It gets all answers; it misses only progress. Meanwhile nothing grows without bound."""
    for number in range(1, 31):
        stdio.send(call("test_flood", {"bytes": 1000000}, number=number, progressToken=number))
    time.sleep(1)
    numbers, progress = [], 0
    while len(numbers) < 30:
        message = stdio.next(60)
        if "id" in message:
            assert len(message["result"]["content"][0]["text"]) == 1000000
            numbers.append(message["id"])
        else:
            progress += 1
    assert numbers == list(range(1, 31))
    assert progress < 30 * 1000


def test_end_of_input(program):
    with Stdio(program) as pipe:
        assert pipe.close() == 0
    with Stdio(program) as pipe:
        pipe.send(call("test_slow", {"ms": 300}), call("test_slow", {"ms": 20000}, number=2),
                  modern("subscriptions/listen", {"notifications": {}}, number=3))
        start = time.monotonic()
        pipe.process.stdin.close()
        # Calls that end soon are still answered; nothing else keeps it from ending.
        messages = []
        while (message := pipe.next()) is not None:
            messages.append(message)
        assert [m["id"] for m in messages if "id" in m] == [1]
        assert pipe.process.wait(10) == 0
        assert time.monotonic() - start < 5


def test_last_line_without_end(program):
    done = subprocess.run([program], input=json.dumps(request("ping")).encode(),
                          capture_output=True, timeout=20, check=True)
    assert json.loads(done.stdout)["result"] == {}


def test_plain_files(program, tmp_path):
    """Standard streams may be files."""
    (tmp_path / "in").write_text("".join(json.dumps(call("test_flood", {"bytes": 300000}, number=i))
                                         + "\n" for i in range(20)))
    with open(tmp_path / "in", "rb") as source, open(tmp_path / "out", "wb") as target:
        subprocess.run([program], stdin=source, stdout=target, timeout=60, check=True)
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == list(range(20))


def test_reader_is_gone(program):
    with Stdio(program) as pipe:
        pipe.process.stdout.close()
        pipe.send(call("test_slow", {"ms": 100}))
        assert pipe.process.wait(10) == 0
