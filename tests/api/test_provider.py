# SPDX-License-Identifier: Apache-2.0
"""A request chooses a provider: of those that the policy names, by HTTP, by MCP and by the command line."""

import json
import os
import re
import shutil
import subprocess

import pytest
from conftest import BRIG, Service, serve

POLICIES = {
    "both": {"extends": "default", "provider": ["oci", "native"]},
    "turned": {"extends": "default", "provider": ["native", "oci"]},
    "gone": {"extends": "default", "provider": ["oci", "native"], "oci": {"runtime": "/nonexistent/crun"}},
}
# Its engine must be installed: scripts/get-wasmtime.sh
POLICIES["wasm"] = {"extends": "default", "provider": ["wasm", "native"]}
LOOP = '(module (memory (export "memory") 1) (func (export "_start") (loop (br 0))))'
OUTSIDE = ["local", "docker", "NATIVE"]
NO_NAMES = ["", "a b", "x" * 16, "x" * 100000, "oci\n", "../oci"]


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    place = tmp_path_factory.mktemp("config")
    (place / "policies").mkdir()
    for name, text in POLICIES.items():
        (place / "policies" / f"{name}.json").write_text(json.dumps(text))
    for path in (place, *place.parents):
        if path.stat().st_uid == os.geteuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o055)
    return place


@pytest.fixture(scope="module")
def service(config):
    made = []

    def make(*options, **kept):
        made.append(serve.Server(*options, **kept))
        return made[-1]

    yield Service(make, "--config", str(config), tokens=[("alice", "--policy", "both", "--policy", "default")])
    for server in made:
        started, status, log = server.readies(), server.stop(), server.log()
        server.close()
        assert started == 1 and status == 0, log


def refused(client, **fields):
    answer = client.ask("POST", "/v1/execute", {"code": "print(1)", **fields})
    assert answer.status != 200, answer.body
    return answer


def test_the_first_that_works(unix):
    assert unix.run(code="print(1)", policy="both")["provider"] == "oci"
    assert unix.run(code="print(1)", policy="turned")["provider"] == "native"
    assert unix.run(code="print(1)", policy="gone")["provider"] == "native"


def test_webassembly(unix):
    """The service, which is not root, trusts the engine's file by its owner."""
    result = unix.run(code=LOOP, language="wasm", policy="wasm", limits={"instructions": 1000})
    assert (result["provider"], result["status"]) == ("wasm", "cpu_limit")
    assert (result["verdict"]["cause"], result["usage"]["instructions"]) == ("instructions", 1000)


def test_a_request_chooses(unix):
    for policy in ("both", "turned"):
        for name in ("oci", "native"):
            result = unix.run(code="print(1)", policy=policy, provider=name)
            assert (result["provider"], result["stdout"]) == (name, "1\n"), result


@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_of_the_policy(unix, alice, name):
    for client in (unix, alice):
        for policy, allowed in (("both", "oci, native"), ("default", "native")):
            answer = refused(client, policy=policy, provider=name)
            assert answer.status == 403, answer.body
            assert f"does not allow the provider {name}" in answer.json()["detail"]
            assert f"it allows: {allowed}" in answer.json()["remedy"]


@pytest.mark.parametrize("name", NO_NAMES + [1, ["oci"], {}])
def test_no_name(unix, name):
    assert refused(unix, policy="both", provider=name).status == 400


@pytest.mark.parametrize("fields", [
    {"docker": {"socket": "/tmp/own"}}, {"podman": {"image": "own"}}, {"socket": "/tmp/own"}, {"image": "own"},
    {"runtime": "own"}, {"provider": {"docker": {"socket": "/tmp/own"}}}, {"provider": "docker:/tmp/own"},
])
def test_settings_are_the_operators(unix, alice, fields):
    """A request names neither a daemon's socket nor its images."""
    for client in (unix, alice):
        assert refused(client, policy="both", **fields).status == 400
        answer = client.ask("POST", "/v1/sessions", {"policy": "both", **fields})
        assert answer.status == 400, answer.body


def test_named_is_never_replaced(unix):
    assert refused(unix, policy="gone", provider="oci").status >= 500


def test_checked(unix):
    answer = unix.ask("POST", "/v1/policies/check", {"code": "1", "policy": "both", "provider": "native"})
    assert answer.json()["provider"] == "native"
    answer = unix.ask("POST", "/v1/policies/check", {"code": "1", "policy": "both", "provider": "local"})
    assert not answer.json()["allowed"]


def test_sessions(unix):
    """A session keeps the provider that it was opened with."""
    opened = unix.ask("POST", "/v1/sessions", {"policy": "turned"})
    assert opened.status == 201, opened.body
    where = f"/v1/sessions/{opened.json()['id']}/execute"
    assert unix.ask("POST", where, {"code": "1", "provider": "native"}).json()["provider"] == "native"
    answer = unix.ask("POST", where, {"code": "1", "provider": "oci"})
    assert answer.status == 400 and "opened with provider native" in answer.json()["detail"]
    fork = unix.ask("POST", f"/v1/sessions/{opened.json()['id']}/fork", {})
    assert fork.status == 201, fork.body
    other = unix.ask("POST", "/v1/sessions", {"policy": "both", "provider": "oci"})
    assert other.status == 201, other.body
    where = f"/v1/sessions/{other.json()['id']}/execute"
    assert unix.ask("POST", where, {"code": "1"}).json()["provider"] == "oci"
    assert unix.ask("POST", "/v1/sessions", {"policy": "both", "provider": "local"}).status == 403


def test_command_line(service):
    words = [BRIG, "run", "--service", f"unix:{service.server.socket}", "--policy", "turned", "--json",
             "--provider"]
    done = subprocess.run([*words, "oci", "-c", "print(1)"], capture_output=True, timeout=60, check=True)
    assert json.loads(done.stdout)["provider"] == "oci"
    done = subprocess.run([*words, "local", "-c", "print(1)"], capture_output=True, timeout=60, check=False)
    assert done.returncode != 0 and b"does not allow the provider local" in done.stdout + done.stderr


def test_metrics(service, unix):
    """Runs by provider: a label for each of the table, and no other, whatever requests name."""
    def counts():
        text = unix.ask("GET", "/metrics").body.decode()
        found = re.findall(r'^brig_engine_provider_runs_total\{provider="(.*)"\} (\d+)$', text, re.M)
        return {name: int(count) for name, count in found}

    before = counts()
    for name in ("oci", "native", "native"):
        unix.run(code="print(1)", policy="both", provider=name)
    for name in OUTSIDE:
        refused(unix, policy="both", provider=name)
    after = counts()
    assert set(after) == {"native", "local", "oci", "launcher", "gvisor", "vm", "wasm", "docker", "podman"}
    assert {name: after[name] - before[name] for name in after} == {
        "native": 2, "oci": 1, "local": 0, "launcher": 0, "gvisor": 0, "vm": 0,
        "wasm": 0, "docker": 0, "podman": 0}


def test_ceiling(make_service, config, tmp_path):
    """The operator's ceiling holds for every tenant, whatever the policy lists and the request names."""
    shutil.copytree(config, tmp_path / "config")
    (tmp_path / "config" / "ceiling.json").write_text('{"provider": ["native"]}')
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o055)
    tenant = make_service("--config", str(tmp_path / "config"), tokens=[("alice",)]).tcp("alice")
    assert tenant.run(code="print(1)", policy="both")["provider"] == "native"
    answer = refused(tenant, policy="both", provider="oci")
    assert answer.status == 403 and "is not in the operator's ceiling" in answer.json()["detail"]
    assert refused(tenant, policy="open", provider="local").status in (400, 403)


class Mcp:
    """A client of brig mcp."""

    def __init__(self, config, policy):
        self.process = subprocess.Popen([BRIG, "mcp", "--cold", "--config", config, "--policy", policy], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                "clientInfo": {"name": "test", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            message = json.loads(self.process.stdout.readline())
            if message.get("id") == self.number:
                return message

    def call(self, tool="execute_code", **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})


@pytest.fixture
def mcp(config):
    it = Mcp(config, "both")
    yield it
    it.process.stdin.close()
    assert it.process.wait(20) == 0


def test_mcp(mcp):
    for name in ("oci", "native"):
        answer = mcp.call(code="print(6 * 7)", provider=name)
        assert answer["result"]["structuredContent"]["stdout"] == "42\n", answer
    for name in [*OUTSIDE, *NO_NAMES, 1, ["oci"]]:
        for tool, more in (("execute_code", {"code": "print(6 * 7)"}), ("open_session", {})):
            answer = mcp.call(tool, provider=name, **more)
            assert "error" in answer or answer["result"]["isError"], (name, answer)
    text = json.dumps(mcp.call(code="print(1)", provider="local"))
    assert "does not allow the provider local" in text
    assert not mcp.call("open_session", provider="oci")["result"].get("isError")
    # A name opens a session with the provider of its first call.
    answer = mcp.call(code="print(6 * 7)", provider="native", session_id="mine")
    assert answer["result"]["structuredContent"]["stdout"] == "42\n", answer
    assert "keeps it" in json.dumps(mcp.call(code="print(1)", provider="oci", session_id="mine"))
