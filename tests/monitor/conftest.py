# SPDX-License-Identifier: Apache-2.0
"""Runs whose events are checked: by the program, in a network of the tests, and by a service."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

HERE = Path(__file__).resolve().parent
BRIG = os.environ.get("BRIG", "build/brig")
KINDS = ("call.denied", "call.watched", "file.watched", "connection.refused", "guard.refused",
         "limit.touched")
POLICIES = {
    "watching": {"monitor": {
        "calls": ["execve", "socket"],
        "files": ["/etc/shadow", "/etc/pass*", "/proc/*/mem", "/sandbox/**"],
    }},
    "patient": {"monitor": {"files": ["/etc/shadow"], "calls": ["socket"],
                            "end_after": {"denied_calls": 5, "watched": 5}}},
    "older": {"denials_max": 5},
    "guarded": {"guard": "strict"},
    "small": {"limits": {"processes": 8, "stdout": "1K"}, "on_output_limit": "cut"},
}


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


api = _load("api_conftest", HERE.parent / "api" / "conftest.py")
gate = _load("gate_conftest", HERE.parent / "gate" / "conftest.py")
world = gate.world


def write_policies(directory, policies):
    (directory / "policies").mkdir(exist_ok=True)
    for name, policy in policies.items():
        file = directory / "policies" / f"{name}.json"
        file.write_text(json.dumps({"extends": "default", **policy}))


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    directory = tmp_path_factory.mktemp("monitor")
    directory.chmod(0o755)
    write_policies(directory, POLICIES)
    return directory


@pytest.fixture(scope="session")
def schema():
    text = subprocess.run([BRIG, "run", "--json-schema"], capture_output=True, check=True).stdout
    return jsonschema.Draft202012Validator(json.loads(text))


def check_sums(result):
    """The listed and the dropped events together are the counted ones."""
    told = sum(event["count"] for event in result["events"])
    assert told + result["events_dropped"] == sum(result["event_counts"].values()), result
    assert set(result["event_counts"]) == set(KINDS)


def of_kind(result, kind):
    return [event for event in result["events"] if event["kind"] == kind]


@pytest.fixture(params=["cold", "warm"])
def start(request):
    return request.param


@pytest.fixture
def run(config, schema, start):
    """Runs Python code under a policy; the result matches the schema, and its counts add up."""

    def run(code, policy="default", *options):
        done = subprocess.run(
            [BRIG, "run", "--json", "--config", config, "--policy", policy, "--start", start,
             *options, "-c", code], capture_output=True, timeout=120, check=False)
        result = json.loads(done.stdout)
        wrong = [error.message for error in schema.iter_errors(result)]
        assert not wrong, (wrong, result)
        check_sums(result)
        return result

    return run


@pytest.fixture(scope="module")
def service():
    """A server with these policies, and tokens for two tenants."""
    made = []

    def make(*options, **kept):
        server = api.serve.Server(*options, **kept)
        write_policies(server.config, POLICIES)
        made.append(server)
        return server

    yield api.Service(make, tokens=[("alice",), ("bob",)])
    for server in made:
        started, status, log = server.readies(), server.stop(), server.log()
        server.close()
        assert started == 1 and status == 0, log
