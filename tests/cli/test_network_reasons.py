# SPDX-License-Identifier: Apache-2.0
"""A reason beside each rule of the network, required where the operator demands it."""

import json
import os
import subprocess

import pytest

BRIG = os.environ.get("BRIG", "build/brig")
WITH = {"host": "pypi.org", "reason": "packages for the tests"}


@pytest.fixture
def brig(tmp_path):
    (tmp_path / "policies").mkdir()
    tmp_path.chmod(0o755)

    def run(allow, *args, ceiling=None, **network):
        (tmp_path / "policies/net.json").write_text(json.dumps(
            {"extends": "default", "network": {"allow": allow, **network}}))
        if ceiling is not None:
            (tmp_path / "ceiling.json").write_text(json.dumps(ceiling))
        return subprocess.run([BRIG, *args, "--config", tmp_path], capture_output=True, text=True,
                              timeout=60, check=False, stdin=subprocess.DEVNULL)

    return run


def test_reasons_are_shown(brig):
    done = brig([WITH, "example.org"], "policy", "show", "net")
    assert "packages for the tests" in done.stdout, done
    shown = json.loads(brig([WITH, "example.org"], "policy", "show", "net", "--json").stdout)["network"]
    assert shown["allow_reasons"] == ["packages for the tests", None], shown
    assert shown["reasons"] == "optional"


@pytest.mark.parametrize("reason", ["", "   ", "two\nlines", "\x1b[2J", "x" * 257, 7])
def test_what_is_no_reason(brig, reason):
    done = brig([{"host": "pypi.org", "reason": reason}], "policy", "show", "net")
    assert done.returncode != 0 and "reason" in done.stderr, done


@pytest.mark.parametrize("where", ["policy", "ceiling"])
def test_required(brig, where):
    more = {"reasons": "required"} if where == "policy" else {
        "ceiling": {"network": {"reasons": "required"}}}
    assert brig([WITH], "policy", "show", "net", **more).returncode == 0
    done = brig([WITH, "example.org:443"], "policy", "show", "net", **more)
    assert done.returncode != 0 and "network.allow[1] (example.org:443)" in done.stderr, done
    done = brig([WITH, "example.org"], "run", "--policy", "net", "-c", "print(1)", **more)
    assert done.returncode != 0 and done.stdout == "", done
    # A ceiling that requires reasons removes no rule that has one.
    done = brig([WITH], "run", "--policy", "net", "-c", "print(1)", **more)
    assert done.stdout == "1\n", done


def test_beyond_the_list_there_is_no_reason(brig):
    run = ["run", "--policy", "net", "--net", "example.org", "-c", "print(1)"]
    assert brig([WITH], *run, caller="public").stdout == "1\n"
    done = brig([WITH], *run, caller="public", reasons="required")
    assert done.returncode != 0 and "reason" in done.stderr, done
    done = brig([WITH], "run", "--policy", "net", "--net", "pypi.org:443", "-c", "print(1)",
                caller="public", reasons="required")
    assert done.stdout == "1\n", done


def test_a_ceiling_with_other_words_about_the_network_is_a_refusal(brig):
    done = brig([WITH], "run", "--policy", "net", "--net", "pypi.org", "-c", "print(1)",
                ceiling={"network": {"reasons": "required", "rate": 5}})
    assert done.returncode != 0, done
