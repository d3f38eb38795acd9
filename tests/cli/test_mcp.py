# SPDX-License-Identifier: Apache-2.0
"""`brig mcp`: a cell for the first call is made ahead, and no client waits for that."""

import json
import os
import pathlib
import subprocess
import time

import pytest

BRIG = os.environ.get("BRIG", "build/brig")
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {},
              "clientInfo": {"name": "test", "version": "1"}}


class Mcp:
    def __init__(self, *options):
        self.process = subprocess.Popen([BRIG, "mcp", *options], text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.count = 0

    def ask(self, method, params):
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        print(json.dumps(message), file=self.process.stdin, flush=True)
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.count:
                return answer["result"]

    def run(self, code):
        return self.ask("tools/call", {"name": "execute_code", "arguments": {"code": code}})

    def children(self):
        path = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return path.read_text().split()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(20) == 0


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("options", [(), ("--policy", "other")])
def test_ahead_of_the_first_call(tmp_path, options):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "other.json").write_text('{"extends": "default"}')
    with Mcp("--config", tmp_path, *options) as mcp:
        assert mcp.ask("initialize", INITIALIZE)["serverInfo"]["name"] == "brig"
        # The template's keeper, and a cell: before the first request.
        assert wait_for(lambda: len(mcp.children()) >= 1, 20)
        before = mcp.children()
        assert "42" in json.dumps(mcp.run("print(6 * 7)"))
        assert set(before) & set(mcp.children())  # the call has used the pool


def test_none_ahead():
    with Mcp("--cold") as mcp:
        mcp.ask("initialize", INITIALIZE)
        time.sleep(1)
        assert mcp.children() == []
        assert "42" in json.dumps(mcp.run("print(6 * 7)"))


def test_gone_at_once():
    """A client that connects and leaves: cells in the making are not waited for."""
    for pause in (0, 0.004, 0.02, 0.2):
        with Mcp() as mcp:
            mcp.ask("initialize", INITIALIZE)
            time.sleep(pause)
        assert not pathlib.Path(f"/proc/{mcp.process.pid}").exists()


def test_fork():
    """On stdio as well: another session, with the state of the first."""
    with Mcp("--cold") as mcp:
        def call(name, **arguments):
            return mcp.ask("tools/call", {"name": name, "arguments": arguments})

        mcp.ask("initialize", INITIALIZE)
        assert "fork_session" in [tool["name"] for tool in mcp.ask("tools/list", {})["tools"]]
        session = call("open_session")["structuredContent"]["id"]
        call("execute_code", session_id=session, code="x = 7")
        made = call("fork_session", session_id=session)["structuredContent"]
        assert made["id"] != session and "x" in made["carried"]
        done = call("execute_code", session_id=made["id"], code="print(x)")
        assert "7" in done["content"][0]["text"]
        assert call("fork_session", session_id="none")["isError"]
