# SPDX-License-Identifier: Apache-2.0
"""A provider that does not hold something says so before anything starts."""

import json
import subprocess

import pytest

from conftest import BRIG, POLICIES


@pytest.mark.root
def test_every_layer(one_kernel, of):
    """The policy strict waives none of them, and can be combined with each provider that shares the kernel."""
    strict = of(f"strict-{one_kernel.runtime}", {**POLICIES[one_kernel.name], "extends": "strict"})
    result = strict.python("print(1)")
    assert result["stdout"] == "1\n" and len(result["layers"]) == 21


@pytest.mark.parametrize("key, value, words", [
    ("syscalls", [], "list of system calls"),
])
def test_policies(of, key, value, words):
    wrong = of(f"wrong-{key}", {"extends": "default", "provider": "oci", key: value})
    assert words in wrong.refused("-c", "1")["message"]


def test_explained(oci, config):
    done = subprocess.run([BRIG, "explain", "--config", config, "--policy", oci.name, "--json",
                           "--lang", "python", "-c", "1"], capture_output=True, text=True,
                          timeout=60, check=True)
    answer = json.loads(done.stdout)
    bundle = answer["program"]["bundle"]
    assert bundle["process"]["noNewPrivileges"] and bundle["root"]["readonly"]
    assert bundle["process"]["capabilities"]["bounding"] == []
    assert {one["type"] for one in bundle["linux"]["namespaces"]} >= {"user", "network", "pid"}
    assert answer["program"]["runtime"].endswith(oci.runtime)


def test_filter_is_the_policys(held, of):
    """A call that the policy refuses is refused; without that line it is not."""
    code = "import os\ntry: os.sched_yield(); print('done')\nexcept OSError as e: print(e.errno)"
    assert held.python(code)["stdout"] == "done\n"
    tight = of(f"tight-{held.runtime}", {**POLICIES[held.name], "syscalls": [
        "@basic", "@file", "@process", "@thread", "@socket", "@ipc", "@dangerous",
        "-sched_yield"]})
    assert tight.python(code)["stdout"] == "1\n"


def test_killing_call(held, of):
    deadly = of(f"deadly-{held.runtime}", {**POLICIES[held.name], "syscalls": [
        "@basic", "@file", "@process", "@thread", "@socket", "@ipc", "@dangerous",
        "kill:sched_yield"]})
    result = deadly.python("import os; os.sched_yield()")
    assert result["status"] == "denied" and "sched_yield" in result["verdict"]["remedy"]
