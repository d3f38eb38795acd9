# SPDX-License-Identifier: Apache-2.0
"""Results and streams that are large or read slowly: they cost their tenant, never a
shared thread."""

import base64
import json
from pathlib import Path

from callers import cpu_seconds, wait_for

HOSTILE = Path(__file__).resolve().parent.parent / "programs" / "hostile"
MIB = 1 << 20


def hostile(name):
    return (HOSTILE / name).read_text()


def silent_reader(house, name, target):
    """Requests a stream and never reads it."""
    door = house.socket()
    door.sendall(house.head("GET", target, name))
    return door


def test_alternating_output_and_a_reader_that_does_not_read(house, alice, mallory):
    """Many changes between the streams: a part of the output costs the same at any position."""
    count = 12000
    before = cpu_seconds(house, "front")
    code = hostile("alternate_output.py").replace("40000", str(count))
    order = mallory.order("import time; time.sleep(0.5)\n" + code)
    door = silent_reader(house, "mallory", f"/v1/executions/{order}/events")
    result = mallory.wait(order, 60)["result"]
    assert result["stdout"].count("o") == result["stderr"].count("e") == count
    assert alice.run("print(1)")["stdout"] == "1\n"
    events = mallory.ask("GET", f"/v1/executions/{order}/events").events()
    assert [e[1] for e in events][-1] == "result"
    door.close()
    assert cpu_seconds(house, "front") - before < 5


def large(mallory, name, **limits):
    limits = {"stdout_bytes": 64 * MIB, "stderr_bytes": 64 * MIB, **limits}
    return {"code": hostile(name), "limits": limits, "want_value": False}


def stored(client, order, seconds=60):
    """The ledger's record of it, without its result."""

    def ended():
        found = next(e for e in client.ask("GET", "/v1/executions?limit=100").json()["executions"]
                     if e["id"] == order)
        return found if found["status"] not in ("queued", "running") else None

    return wait_for(ended, seconds, f"end of {order}")


def test_output_that_json_makes_six_times_longer(house, alice, mallory):
    """64 MiB of one control character: base64, complete, and recorded."""
    answer = mallory.ask("POST", "/v1/execute", large(mallory, "control_output.py"))
    assert answer.status == 200, answer.body[:500]
    result = answer.json()
    assert result["status"] == "ok" and result["encoding"] == "base64"
    assert not result["stdout_truncated"] and len(answer.body) < 96 * MIB
    data = base64.b64decode(result["stdout"])
    assert len(data) == 64 * MIB and data.count(b"\x01") == len(data)
    assert stored(mallory, result["id"])["status"] == "ok"
    assert alice.run("print(1)")["stdout"] == "1\n"


def test_a_result_that_is_too_large_is_cut(house, alice, mallory):
    """Twice 64 MiB: as much of each as fits; its end is reported and recorded all the same."""
    answer = mallory.ask("POST", "/v1/execute", large(mallory, "both_streams.py"))
    assert answer.status == 200, answer.body[:500]
    result = answer.json()
    assert len(answer.body) <= 96 * MIB and result["status"] == "ok"
    assert result["stdout_truncated"] and result["stderr_truncated"]
    for name in ("stdout", "stderr"):
        data = base64.b64decode(result[name])
        assert 30 * MIB < len(data) < 64 * MIB and data.count(b"\xff") == len(data)
    assert result["usage"]["cpu_ms"] > 0
    found = mallory.ask("GET", f"/v1/executions/{result['id']}").json()
    assert found["status"] == "ok" and found["result"]["stdout_truncated"]
    assert found["result"]["usage"] == result["usage"]
    assert base64.b64decode(found["result"]["stdout"]).count(b"\xff") > MIB
    assert alice.run("print(1)")["stdout"] == "1\n"


def test_small_output_stays_text(mallory):
    """Colours of a terminal are a few control characters in a text: no reason for base64."""
    result = mallory.run("print('\\x1b[31mred\\x1b[0m' * 1000)")
    assert result["encoding"] == "utf-8" and result["stdout"].startswith("\x1b[31mred")


def test_a_large_result_by_mcp(house, alice, mallory):
    """60 MB of JSON: the answer has the parts for a model, and the rest is not parsed."""
    peer = mallory.mcp()
    before = cpu_seconds(house, "front")
    result = peer.call("execute_code", code=hostile("large_file.py"))["structuredContent"]
    assert result["status"] == "ok"
    assert [(f["path"], f["size"]) for f in result["files"]] == [("out/large", 45 * MIB)]
    # Parsed as a whole it is ten times as much.
    assert cpu_seconds(house, "front") - before < 0.4
    assert alice.run("print(1)")["stdout"] == "1\n"


def test_pages_of_a_result_by_mcp(mallory):
    """From the result itself, at any position, in text and in base64."""
    peer = mallory.mcp()
    code = "import sys; sys.stdout.buffer.write(b'\"caf\\xc3\\xa9\"\\n' * 20000 + bytes(%d))"
    for zeros in (0, 300000):
        text = ('"caf\u00e9"\n' * 20000).encode() + bytes(zeros)
        result = peer.call("execute_code", code=code % zeros)["structuredContent"]
        assert result["stdout_bytes"] == len(text)
        for offset in (0, 9, 16384, 150003, len(text) - 9):
            page = peer.call("read_output", execution_id=result["execution_id"], offset=offset, limit=900)
            got = page["content"][0]["text"].encode()
            assert got and text[offset:].startswith(got) and len(got) <= 900
        _, nothing = peer.text("read_output", execution_id=result["execution_id"], offset=len(text) + 5)
        assert nothing == ""


def test_a_compiler_that_makes_much(alice, mallory):
    """A program that is too large to be kept is run all the same, and compiled each time."""
    code = hostile("large_binary.c").replace("120 << 20", "20 << 20")
    for _ in range(2):
        result = mallory.run(code, language="c", limits={"disk_bytes": 100 * MIB})
        assert result["status"] == "ok" and not result["build_cached"]
    assert alice.run("print(1)")["stdout"] == "1\n"


def test_events_of_a_large_result(house, alice, mallory):
    """Replayed in slices, within the tenant's budget; too many requests at once are refused."""
    order = mallory.order(**large(mallory, "large_text.py"))
    result = mallory.wait(order, 60)["result"]
    answer = mallory.ask("GET", f"/v1/executions/{order}/events")
    events = answer.events()
    # A slice of it in each event, never all of it.
    assert max(len(e[2]) for e in events[:-1]) < 200_000
    assert result["stdout_truncated"] and len(result["stdout"]) > 2 * MIB
    assert [e[1] for e in events[:-1]] == ["output"] * (len(events) - 1) and events[-1][1] == "result"
    said = "".join(json.loads(e[2])["data"] for e in events[:-1])
    assert said == result["stdout"] and events[-2][0] == f"{len(said)}-0"
    # From any position in it: the same bytes.
    middle = events[len(events) // 2][0]
    again = mallory.ask("GET", f"/v1/executions/{order}/events", headers={"Last-Event-ID": middle}).events()
    assert "".join(json.loads(e[2])["data"] for e in again[:-1]) == said[int(middle.split("-")[0]):]
    before = cpu_seconds(house, "front")
    doors = [silent_reader(house, "mallory", f"/v1/executions/{order}/events") for _ in range(90)]
    assert alice.run("print(1)")["stdout"] == "1\n"
    wait_for(lambda: alice.metrics()["brig_executions_running"] == 0, 30, "alice's end")
    assert alice.run("print(2)")["stdout"] == "2\n"
    for door in doors:
        door.close()
    assert cpu_seconds(house, "front") - before < 10
