# SPDX-License-Identifier: Apache-2.0
"""Response, result, audit chain, log and control group speak of one id for an execution."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BRIG, HERE, serve
from test_mcp import Peer

sys.path.insert(0, str(HERE.parent / "host"))
from own import own_processes  # noqa: E402

SLEEPS = "import time; print('up', flush=True); time.sleep(60)"


def begun(service, execution):
    """The fields of the warden's line about a run."""
    def found():
        return re.search(rf"role=warden event=run\.begun id={execution} cell=(\S+) session=(\S+) tenant=(\S+)",
                         service.server.log())

    return serve.wait_for(found, 20, "the line in the log").groups()


def groups():
    """The last parts of the names of all control groups of our processes."""
    names = set()
    for pid in own_processes():
        try:
            text = Path(f"/proc/{pid}/cgroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        names.update(line.rpartition("/")[2].removesuffix(".scope") for line in text.splitlines())
    return names


def is_in_group(cell):
    """brig-PID-TIME-CELL, and :NAMESPACE in any but the first pid namespace."""
    return any(re.fullmatch(rf"brig-\d+-\d+-{re.escape(cell)}(:\d+)?", name) for name in groups())


def has_groups(client):
    """Cells have control groups here."""
    result = client.run(language="python", code="1")
    return re.match("cgroup|systemd", result["means"]["memory"]) is not None


def audited(service, execution):
    """Kinds of the entries of the audit chain about it."""
    done = subprocess.run([BRIG, "audit", "list", "--json", "--state", service.server.state],
                          capture_output=True, text=True, check=True)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    return [e["kind"] for e in entries if e["facts"].get("execution") == execution]


def cancel(client, execution):
    assert client.ask("DELETE", f"/v1/executions/{execution}").status in (200, 202, 204)
    return client.wait(execution)


def begin_as(service, client, start):
    """An execution that was started in this way, and the name of its cell."""
    def begin():
        execution = client.begin(language="python", code=SLEEPS, start=start)
        cell, session, _ = begun(service, execution)
        assert session == "-"
        # A cell that was made ahead had a name before there was a run: the log connects the two.
        if (cell == execution) == (start == "cold"):
            return execution, cell
        assert cancel(client, execution)["result"]["start"] == "cold"  # no cell was ready
        return None

    return serve.wait_for(begin, 30, start)


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_of_an_execution(service, unix, start):
    grouped = has_groups(unix)
    execution, cell = begin_as(service, unix, start)
    if grouped:
        serve.wait_for(lambda: is_in_group(cell), 20, "its control group")
    ended = cancel(unix, execution)
    assert ended["id"] == execution and ended["result"]["id"] == execution
    assert ended["result"]["start"] == start
    assert audited(service, execution) == ["execution.accepted", "execution.ended"]


def test_of_a_compiled_program(service, unix):
    code = "#include <unistd.h>\nint main(void) { return (int)sleep(60); } // one id"
    execution = unix.begin(language="c", code=code)
    assert begun(service, execution)[0] == f"{execution}.compile"
    if has_groups(unix):
        serve.wait_for(lambda: is_in_group(execution), 30, "the control group of the program")
    assert cancel(unix, execution)["result"]["id"] == execution


def test_of_every_way_to_run(service, unix):
    """Each id of a response is found in the log, by GET and in the audit chain."""
    seen = [unix.run(language="python", code="print(1)")["id"]]
    events = unix.ask("POST", "/v1/execute", {"language": "python", "code": "print(1)"},
                      {"Accept": "text/event-stream"}).events()
    seen.append(events[-1][2]["id"])
    lines = unix.ask("POST", "/v1/batch", {"programs": [{"code": "print(1)"}] * 2}).body
    seen += [json.loads(line)["result"]["id"] for line in lines.splitlines() if b'"result"' in line]
    session = unix.ask("POST", "/v1/sessions", {"language": "python"}).json()["id"]
    in_session = unix.ask("POST", f"/v1/sessions/{session}/execute", {"code": "1"}).json()["id"]
    seen.append(in_session)
    answer = Peer(unix).call("execute_code", language="python", code="print(1)")
    seen.append(answer["structuredContent"]["execution_id"])
    assert len(set(seen)) == 6, seen
    for execution in seen:
        assert unix.wait(execution)["result"]["id"] == execution
        assert begun(service, execution)
        assert audited(service, execution) == ["execution.accepted", "execution.ended"]
    cell, named, _ = begun(service, in_session)
    opened = re.search(rf"event=session\.begun session={session} cell=(\S+)", service.server.log())
    assert named == session and opened and opened[1] == cell
    assert is_in_group(cell) == has_groups(unix)
    unix.ask("DELETE", f"/v1/sessions/{session}")
