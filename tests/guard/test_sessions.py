# SPDX-License-Identifier: Apache-2.0
"""The guard in sessions: each run is looked at, and a refused one leaves the session as it was."""

import json
import subprocess

import pytest
from conftest import BRIG


class Mcp:
    def __init__(self, *options):
        self.process = subprocess.Popen([BRIG, "mcp", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                "clientInfo": {"name": "test", "version": "1"}})

    def ask(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def tool(self, name, **arguments):
        answer = self.ask("tools/call", {"name": name, "arguments": arguments})
        return answer.get("structuredContent") or answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)


@pytest.fixture(scope="module", params=["warm", "cold"])
def mcp(request, config):
    it = Mcp("--config", str(config), *(["--cold"] if request.param == "cold" else []))
    yield it
    it.close()


def test_each_run_is_guarded(mcp):
    session = mcp.tool("open_session", language="python", guard="strict")["id"]

    def run(code):
        return mcp.tool("execute_code", code=code, session_id=session)

    assert run("x = 41")["status"] == "ok"
    assert run("x + 1")["value"] == 42
    refused = run("x = 0\nimport os")
    assert refused["status"] == "rejected" and "line 2" in refused["explanation"]
    assert run("x")["value"] == 41
    run("class A:\n    def __init__(self):\n        self._p = 3\n    def get(self):\n        return self._p")
    assert run("A().get()")["value"] == 3
    stopped = run("getattr(A, '__mr' + 'o__')")
    assert stopped["status"] == "failed" and "guard refused" in stopped["explanation"]
    assert "ZeroDivisionError" in run("1 / 0")["stderr"]
    assert run("import json\njson.dumps([1])")["value"] == "[1]"
    # What one run has kept is no way round the rules for the next.
    assert run("g = (i for i in [1])")["status"] == "ok"
    assert run("g.gi_frame")["status"] == "rejected"
    mcp.tool("close_session", session_id=session)


def test_the_guard_is_chosen_when_it_is_opened(mcp):
    session = mcp.tool("open_session", language="python", guard="imports")["id"]
    answer = mcp.tool("execute_code", code="1", session_id=session, guard="strict")
    assert answer["isError"] and "keeps it" in answer["content"][0]["text"]
    assert mcp.tool("execute_code", code="import ctypes", session_id=session)["status"] == "rejected"
    assert mcp.tool("execute_code", code="import sys\n1", session_id=session)["value"] == 1
    answer = mcp.tool("open_session", language="bash", guard="strict")
    assert answer["isError"] and "no guard for bash" in answer["content"][0]["text"]
    mcp.tool("close_session", session_id=session)
