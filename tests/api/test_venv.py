# SPDX-License-Identifier: Apache-2.0
"""Virtualenvs by HTTP and MCP: only by names that the operator lists, and never by a path."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest
from conftest import BRIG, Service, serve
from test_provider import Mcp

PYTHON = pathlib.Path("/usr/bin/python3").resolve()
CODE = "import sys, ownpackage\nprint(sys.prefix, ownpackage.WHO)"
NO_NAMES = ["", "a b", "../tools", "/etc", "x" * 65, "tools\n", "./tools", 1, ["tools"], {}]


def make(place, who):
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", place], check=True, umask=0o022)
    module = place / "lib" / PYTHON.name / "site-packages/ownpackage.py"
    module.write_text(f"WHO = {who!r}\n")
    module.chmod(0o644)


@pytest.fixture(scope="module")
def place():
    # Not in /tmp, which every cell has for itself.
    place = pathlib.Path(tempfile.mkdtemp(prefix="brig-test-", dir="/var/tmp"))
    place.chmod(0o755)
    make(place / "tools", "tools")
    make(place / "other", "other")
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def config(place, tmp_path_factory):
    config = tmp_path_factory.mktemp("config")
    (config / "policies").mkdir()
    policies = {
        "listed": {"venvs": {"tools": f"{place}/tools", "other": f"{place}/other",
                             "broken": f"{place}/secret-name"}},
        "usual": {"venv": f"{place}/tools"},
    }
    for name, keys in policies.items():
        (config / "policies" / f"{name}.json").write_text(json.dumps({"extends": "default", **keys}))
    for path in (config, *config.parents):
        if path.stat().st_uid == os.geteuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o055)
    return config


@pytest.fixture(scope="module")
def service(config):
    made = []

    def start(*options, **kept):
        made.append(serve.Server(*options, **kept))
        return made[-1]

    yield Service(start, "--config", str(config), tokens=[("alice",)])
    for server in made:
        started, status, log = server.readies(), server.stop(), server.log()
        server.close()
        assert started == 1 and status == 0, log


def refused(client, **fields):
    answer = client.ask("POST", "/v1/execute", {"code": "print(1)", **fields})
    assert answer.status != 200, answer.body
    return answer


def test_by_name(unix, alice, place):
    for client in (unix, alice):
        for name in ("tools", "other"):
            result = client.run(code=CODE, policy="listed", venv=name)
            assert result["stdout"] == f"{place}/{name} {name}\n", result
        # The pools of one are not those of another.
        result = client.run(code=CODE, policy="listed")
        assert "ModuleNotFoundError" in result["stderr"], result
    assert unix.run(code=CODE, policy="usual")["stdout"] == f"{place}/tools tools\n"


def test_later(unix, place):
    """Also when the request was stored first."""
    found = unix.wait(unix.begin(code=CODE, policy="listed", venv="other"))
    assert found["result"]["stdout"] == f"{place}/other other\n", found


def test_made_ahead(unix, place):
    """Its interpreter is warmed and cloned like any other."""
    end, start = time.monotonic() + 60, None
    while start != "warm" and time.monotonic() < end:
        result = unix.run(code=CODE, policy="listed", venv="tools")
        assert result["stdout"] == f"{place}/tools tools\n", result
        start = result["start"]
    assert start == "warm"


@pytest.mark.parametrize("name", NO_NAMES)
def test_no_name(unix, alice, name):
    for client in (unix, alice):
        assert refused(client, policy="listed", venv=name).status == 400


def test_a_path_is_never_taken(unix, alice, place):
    """Neither of one that is listed, nor of one that the caller could use on the command line."""
    for client in (unix, alice):
        for policy in ("listed", "usual", "default"):
            assert refused(client, policy=policy, venv=f"{place}/tools").status == 400


def test_names_of_others(unix, alice):
    """The policy's names are known to its callers; paths and the service's own store are not."""
    for client in (unix, alice):
        answer = refused(client, policy="listed", venv="nothing")
        assert answer.status == 403 and "lists no virtualenv named nothing" in answer.json()["detail"]
        assert "tools, other, broken" in answer.json()["remedy"]
        assert refused(client, policy="default", venv="tools").status == 403
        answer = refused(client, policy="listed", venv="broken")
        assert "cannot be used" in answer.json()["detail"]
        assert "secret-name" not in answer.body.decode() and "/var/tmp" not in answer.body.decode()


def test_checked(unix):
    ask = {"code": "1", "policy": "listed"}
    assert unix.ask("POST", "/v1/policies/check", {**ask, "venv": "tools"}).json()["allowed"]
    assert not unix.ask("POST", "/v1/policies/check", {**ask, "venv": "nothing"}).json()["allowed"]


def test_sessions(unix, place):
    opened = unix.ask("POST", "/v1/sessions", {"policy": "listed", "venv": "tools"})
    assert opened.status == 201, opened.body
    where = f"/v1/sessions/{opened.json()['id']}/execute"
    answer = unix.ask("POST", where, {"code": CODE, "venv": "tools"})
    assert answer.json()["stdout"] == f"{place}/tools tools\n", answer.body
    answer = unix.ask("POST", where, {"code": CODE, "venv": "other"})
    assert answer.status == 400 and "keeps it" in answer.json()["detail"]
    fork = unix.ask("POST", f"/v1/sessions/{opened.json()['id']}/fork", {})
    assert fork.status == 201, fork.body
    answer = unix.ask("POST", f"/v1/sessions/{fork.json()['id']}/execute", {"code": CODE})
    assert answer.json()["stdout"] == f"{place}/tools tools\n", answer.body
    for policy, venv, status in (("listed", "nothing", 403), ("listed", f"{place}/tools", 400)):
        assert unix.ask("POST", "/v1/sessions", {"policy": policy, "venv": venv}).status == status


def test_command_line(service, place):
    words = [BRIG, "run", "--service", f"unix:{service.server.socket}", "--policy", "listed", "--venv"]
    done = subprocess.run([*words, "tools", "-c", CODE], capture_output=True, timeout=60, check=True)
    assert done.stdout.decode() == f"{place}/tools tools\n"
    done = subprocess.run([*words, place / "tools", "-c", CODE], capture_output=True, timeout=60, check=False)
    assert done.returncode != 0 and b"not a name" in done.stderr, done


@pytest.fixture
def mcp(config):
    it = Mcp(config, "listed")
    yield it
    it.process.stdin.close()
    assert it.process.wait(20) == 0


def test_mcp(mcp, place):
    wanted = f"{place}/tools tools\n"
    answer = mcp.call(code=CODE, venv="tools")
    assert answer["result"]["structuredContent"]["stdout"] == wanted, answer
    for name in (f"{place}/tools", "nothing", "", 1, ["tools"], "../tools"):
        for tool, more in (("execute_code", {"code": CODE}), ("open_session", {})):
            answer = mcp.call(tool, venv=name, **more)
            assert "error" in answer or answer["result"]["isError"], (name, answer)
    # A name opens a session with the virtualenv of its first call.
    answer = mcp.call(code=CODE, venv="tools", session_id="mine")
    assert answer["result"]["structuredContent"]["stdout"] == wanted, answer
    assert mcp.call(code=CODE, session_id="mine")["result"]["structuredContent"]["stdout"] == wanted
    assert "keeps it" in json.dumps(mcp.call(code=CODE, venv="other", session_id="mine"))
