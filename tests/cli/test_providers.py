# SPDX-License-Identifier: Apache-2.0
"""`brig providers`: every provider, whether this host can do it, and what it enforces."""

import json
import os
import subprocess

BRIG = os.environ.get("BRIG", "build/brig")


def ask(*words, **env):
    done = subprocess.run([BRIG, *words], capture_output=True, text=True, timeout=90, check=False,
                          env={**os.environ, **env})
    return done.returncode, done.stdout


def test_json():
    status, text = ask("providers", "--json")
    found = {one["name"]: one for one in json.loads(text)["providers"]}
    assert status == 0 and list(found) == ["native", "local", "oci", "launcher", "gvisor", "vm", "wasm",
                                               "docker", "podman"]
    assert {"walls", "sessions"} <= set(found["native"]["abilities"])
    assert "walls" not in found["local"]["abilities"]
    means = {one["name"]: one["means"] for one in found["oci"]["layers"]}
    assert means["seccomp"] == "brig's agent" and means["pidns"] == "the OCI runtime"
    assert means["landlock"] == "brig's agent"
    assert not {one["name"] for one in found["local"]["layers"]} - {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}


def test_layers_are_those_of_a_run():
    found = {one["name"]: one for one in json.loads(ask("providers", "--json")[1])["providers"]}
    result = json.loads(ask("run", "--json", "--lang", "bash", "-c", "true")[1])
    assert {one["name"] for one in found["native"]["layers"]} == set(result["layers"])


def test_missing(tmp_path):
    """Without a runtime in the path: the cause and the repair."""
    status, text = ask("providers", "--json", PATH=str(tmp_path))
    oci = json.loads(text)["providers"][2]
    assert status == 0 and oci["state"] == "missing" and oci["layers"] == []
    assert "crun" in oci["repair"] and oci["detail"]
    text = ask("providers", PATH=str(tmp_path))[1]
    assert "oci      missing" in text and "  cause      " in text and "  repair     " in text


def test_text():
    status, text = ask("providers")
    assert status == 0 and text.startswith("native ") and "(by the OCI runtime)" in text
    assert all(len(line) < 130 for line in text.splitlines())


def test_doctor_has_the_same():
    doctor = json.loads(ask("doctor", "--json")[1])["providers"]
    assert doctor == json.loads(ask("providers", "--json")[1])["providers"]


def test_wrong_words():
    assert ask("providers", "--policy", "x")[0] == 2
    assert ask("providers", "native")[0] == 2
