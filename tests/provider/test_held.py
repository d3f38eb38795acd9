# SPDX-License-Identifier: Apache-2.0
"""Containers that are made ahead: a run in one is as any other, and none of them is left."""

import json
import subprocess

import pytest

from conftest import BRIG

WARM = ("--start", "warm")


def test_the_same_result(provider):
    code = "import os, sys; print(input(), os.environ['A'], sys.argv[1:]); sys.exit(3)"
    seen = []
    for how in ("cold", "warm"):
        result = provider.python(code, "--start", how, "--env", "A=b", stdin=b"line\n")
        assert result["start"] == how
        seen.append([result[key] for key in ("status", "exit_code", "stdout", "stderr")])
    assert seen[0] == seen[1] == ["failed", 3, "line b []\n", ""]


def test_the_same_layers(held):
    """A waiting container has no wall less than one that is made for its run."""
    look = ("print([l for l in open('/proc/self/status') "
            "if l.startswith(('Cap', 'NoNew', 'Seccomp:'))]); import os, resource; "
            "print(os.getuid(), os.getgid(), sorted(os.listdir('/proc/self/fd')), "
            "os.sched_getaffinity(0), [resource.getrlimit(i) for i in range(16)])")
    cold, warm = (held.python(look, "--start", how) for how in ("cold", "warm"))
    assert cold["layers"] == warm["layers"] and cold["means"] == warm["means"]
    assert cold["stdout"] == warm["stdout"] and cold["status"] == warm["status"] == "ok"


def test_files_in_and_out(held, tmp_path):
    (tmp_path / "in.txt").write_text("abc" * 50000)
    result = held.python(""
                        "open('out/up', 'w').write(open('in.txt').read().upper())",
                        *WARM, "--in", tmp_path / "in.txt", "--out", "out/**")
    assert result["status"] == "ok" and result["start"] == "warm", result
    assert [(it["path"], it["size"]) for it in result["files"]] == [("out/up", 150000)]


def test_bytes_of_inputs_are_free(held, tmp_path):
    (tmp_path / "in.bin").write_bytes(b"x" * (3 << 20))
    result = held.python("open('a', 'wb').write(b'x' * 100)", *WARM, "--in", tmp_path / "in.bin")
    assert result["status"] == "ok" and result["usage"]["disk_bytes"] < 1 << 20


@pytest.mark.parametrize("code, options, status", [
    ("while True: pass", ("--timeout", "1s"), "timeout"),
    ("import time; time.sleep(100)", ("--timeout", "1s"), "timeout"),
    ("while True: pass", ("--cpu-time", "1s", "--timeout", "120s"), "cpu_limit"),
    ("while True: print('x' * 1000)", ("--stdout", "10K"), "output_limit"),
    ("import os; os.kill(os.getpid(), 9)", (), "failed"),
])
def test_limits_of_the_request(held, code, options, status):
    result = held.python(code, *WARM, *options, timeout=180)
    assert (result["status"], result["start"]) == (status, "warm"), result


def test_limits_differ_from_the_pool(held):
    """
    The container waits with the limits of its policy, and those of the request replace them; or, where they cannot,
    with those of the request.
    """
    result = held.python("import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE)[0]); "
                        "x = bytearray(1 << 30)", *WARM, "--open-files", "40", "--memory", "64M")
    assert result["stdout"] == "40\n" and result["status"] in ("memory_limit", "failed"), result
    assert result["start"] == "warm", result


def test_a_value_is_not_from_the_pool(held):
    """No driver waits in a container: a request that wants a value has a new one."""
    result = held.python("1 + 1", *WARM, "--value")
    assert (result["status"], result["start"], result["value"]) == ("ok", "cold", 2)


def bench(held, *options):
    return [BRIG, "bench", "--config", str(held.config), "--policy", held.name, "--json",
            *options, "-c", "print(1)", "--lang", "python"]


def test_a_pool(held):
    done = subprocess.run(bench(held, "--runs", "10", "--in-flight", "2"), capture_output=True,
                          timeout=600, check=True)
    rows = [row for row in json.loads(done.stdout)["rows"] if row["start"] == "warm"]
    assert rows and all(row["warm"] == row["runs"] for row in rows), rows
