# SPDX-License-Identifier: Apache-2.0
"""A policy with several providers: the first that works here, and never one that it does not name."""

import json
import os
import re
import subprocess
import time

import pytest

from conftest import BRIG, Provider, write_policy

BOTH = {"extends": "default", "provider": ["oci", "native"]}
# The first of them has no guard.
UNGUARDED = {"extends": "default", "provider": ["wasm", "native"]}


class Chosen(Provider):
    """A policy with a list: the result tells which of them it was."""

    def provider_of(self, *args):
        done = self.plain("--json", "--lang", "python", *args, "-c", "print(1)")
        result = json.loads(done.stdout)
        assert result.get("stdout") == "1\n", result
        return result["provider"]


@pytest.fixture
def listed(tmp_path, schema):
    """A configuration of its own, with this policy and perhaps a ceiling."""
    (tmp_path / "policies").mkdir()

    def make(policy, ceiling=None):
        write_policy(tmp_path, "listed", policy)
        if ceiling is not None:
            (tmp_path / "ceiling.json").write_text(json.dumps(ceiling))
        return Chosen("listed", tmp_path, schema)

    return make


def test_first_that_works(listed):
    assert listed(BOTH).provider_of() == "oci"
    assert listed({**BOTH, "provider": ["native", "oci"]}).provider_of() == "native"


def test_one_name_in_a_list(listed):
    assert listed({**BOTH, "provider": ["oci"]}).provider_of() == "oci"


def test_missing_runtime(listed):
    gone = {**BOTH, "oci": {"runtime": "/nonexistent/crun"}}
    assert listed(gone).provider_of() == "native"
    error = listed({**gone, "provider": ["oci", "local"], "auto_run": "ask"}).refused(
        "--yes", "-c", "1")
    assert "/nonexistent/crun" in error["message"] and "oci: " in error["message"]
    assert "local: does not filter system calls" in error["message"]


def test_runtime_that_hangs(listed, tmp_path):
    """The deadline of a probe, and then the next."""
    slow = tmp_path / "crun"
    slow.write_text("#!/bin/sh\nexec sleep 1000\n")
    slow.chmod(0o755)
    for above in (tmp_path, *tmp_path.parents):
        if above.stat().st_uid == os.geteuid() and str(above) != "/":
            above.chmod(above.stat().st_mode | 0o055)
    began = time.monotonic()
    assert listed({**BOTH, "oci": {"runtime": str(slow)}}).provider_of() == "native"
    assert time.monotonic() - began < 40


def test_request_chooses(listed):
    both = listed(BOTH)
    assert both.provider_of("--provider", "native") == "native"
    assert both.provider_of("--provider", "oci") == "oci"


@pytest.mark.parametrize("name", ["local", "docker", "", "NATIVE", "oci,native", "x" * 5000])
def test_request_outside_of_the_list(listed, name, tmp_path):
    both = listed(BOTH)
    error = both.refused("--provider", name, "--yes", "--rw", f"m={tmp_path}", "--", "/bin/touch",
                         "/mnt/m/ran")
    assert "does not allow the provider" in error["message"], error
    assert "oci, native" in error["remedy"] and error["code"] == "policy"
    assert not (tmp_path / "ran").exists()


def test_request_outside_of_one_name(listed):
    for policy in ({"extends": "default"}, {"extends": "default", "provider": "oci"}):
        error = listed(policy).refused("--provider", "local", "--yes", "-c", "1")
        assert "does not allow the provider local" in error["message"]


def test_named_is_never_replaced(listed):
    """A request that names one gets that one or nothing."""
    gone = listed({**BOTH, "oci": {"runtime": "/nonexistent/crun"}})
    assert "/nonexistent/crun" in gone.refused("--provider", "oci", "-c", "1")["message"]
    guarded = listed({**UNGUARDED, "guard": "strict"})
    assert guarded.provider_of() == "native"
    error = guarded.refused("--provider", "wasm", "--lang", "python", "-c", "1")
    assert "cannot use the provider wasm: it cannot guard code" in error["message"]


@pytest.mark.parametrize("args", [["--guard", "strict"], ["--check"]])
def test_request_that_needs_more(listed, args):
    done = listed(UNGUARDED).plain("--json", "--lang", "python", *args, "-c", "print(1)")
    assert json.loads(done.stdout)["provider"] == "native"


def test_layers_decide(listed, tmp_path):
    """A launcher that makes no cgroupns is passed over, and alone it is refused."""
    file = tmp_path / "launchers" / "less.json"
    file.parent.mkdir()
    file.write_text(json.dumps({
        "program": "bwrap", "arguments": ["--dev-bind", "{root}", "/", "--", "{agent}"],
        "layers": ["userns", "pidns", "mntns", "netns", "ipcns", "utsns", "rootfs", "caps"]}))
    file.chmod(0o600)
    less = {"extends": "default", "launcher": {"name": "less"}}
    assert listed({**less, "provider": ["launcher", "native"]}).provider_of() == "native"
    error = listed({**less, "provider": "launcher"}).refused("-c", "1")
    assert "wants the layer cgroupns" in error["message"]
    assert "launcher less lacks" in error["message"]


@pytest.mark.parametrize("value, words", [
    ([], "empty list"),
    (["oci", "oci"], "twice"),
    (["oci", "kata"], "unknown value"),
    ([f"p{i}" for i in range(10000)], "10000 items"),
    (["native", "local"], "person's consent"),
    (["native", 1], "must be a text"),
])
def test_bad_lists(listed, value, words):
    assert words in listed({**BOTH, "provider": value}).refused("-c", "1")["message"]


def test_ceiling(listed):
    narrow = listed(BOTH, {"provider": "native"})
    assert narrow.provider_of() == "native"
    error = narrow.refused("--provider", "oci", "-c", "1")
    assert "not in the operator's ceiling" in error["message"]
    error = listed({"extends": "default", "provider": "oci"}).refused("-c", "1")
    assert "the ceiling allows no provider" in error["message"]
    open_policy = Chosen("open", narrow.config, narrow.schema)
    assert "the ceiling allows" in open_policy.refused("--yes", "-c", "1")["message"]


def test_compiled(listed):
    """The compiler's cell and the program's: both choose."""
    code = '#include <stdio.h>\nint main(void) { puts("1"); }'
    both = listed(BOTH)
    for name in ("oci", "native"):
        done = both.plain("--json", "--no-cache", "--provider", name, "--lang", "c", "-c", code)
        result = json.loads(done.stdout)
        assert result["stdout"] == "1\n" and result["provider"] == name, result


def test_shown(listed):
    both = listed({**UNGUARDED, "guard": "strict"})
    done = subprocess.run([BRIG, "policy", "show", "--config", both.config, "--json", "listed"],
                          capture_output=True, check=True)
    shown = json.loads(done.stdout)
    assert shown["provider"] == ["wasm", "native"]
    assert shown["providers_unusable"] == {"wasm": "cannot guard code"}
    done = subprocess.run([BRIG, "explain", "--config", both.config, "--policy", "listed",
                           "--json", "--lang", "python", "-c", "1"], capture_output=True,
                          check=True)
    assert json.loads(done.stdout)["provider"] == "native"


def test_audited(listed, tmp_path):
    """The record of a run names the provider that held it."""
    chain = tmp_path / "audit.jsonl"
    for name in ("oci", "native"):
        assert listed(BOTH).provider_of("--audit", chain, "--provider", name) == name
    ended = [json.loads(line) for line in chain.read_text().splitlines() if "execution.ended" in line]
    assert [one["facts"]["provider"] for one in ended] == ["oci", "native"]


def test_learned(listed):
    """A policy is learned with each provider that can watch calls, and with no other."""
    def learn(policy, *words):
        made = listed(policy)
        done = subprocess.run([BRIG, "policy", "learn", "--config", made.config, "--policy", "listed", *words,
                               "--no-verify", "--lang", "bash", "-c", "true"], capture_output=True, text=True,
                              timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    status, proposal, told = learn(BOTH)
    assert status == 0 and "execve" in proposal or "@process" in proposal, (proposal, told)
    for policy, words in ((BOTH, ["--provider", "oci"]), ({**BOTH, "provider": "oci"}, [])):
        status, other, told = learn(policy, *words)
        calls = [re.sub("//.*", "", text[text.index('"syscalls"'):]) for text in (proposal, other)]
        assert status == 0 and calls[0] == calls[1], told
