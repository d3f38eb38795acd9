# SPDX-License-Identifier: Apache-2.0
"""brig runtimes, and the commands that only print."""

import json
import re
import subprocess

import pytest

from conftest import BRIG

EXPECTED = {
    "python", "javascript", "bash", "c", "cpp", "go", "rust", "java", "perl", "lua", "ruby", "php",
}


def test_text(brig):
    done = brig("runtimes")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0
    assert lines[0].split() == ["LANGUAGE", "VERSION", "PROGRAM"]
    assert {line.split()[0] for line in lines[1:]} >= EXPECTED


def test_json(brig):
    runtimes = {r["name"]: r for r in json.loads(brig("runtimes", "--json").stdout)["runtimes"]}
    assert set(runtimes) >= EXPECTED
    python = runtimes["python"]
    assert python["installed"] and not python["compiled"]
    assert re.match(r"3\.\d+", python["version"])
    assert python["program"].startswith("/usr/")
    assert "py" in python["extensions"]
    assert runtimes["c"]["compiled"]
    for runtime in runtimes.values():
        assert runtime["installed"] == (runtime["program"] is not None)
        assert runtime["package"]


def test_missing_language_says_how_to_install(brig, tmp_path):
    (tmp_path / "runtimes").mkdir()
    (tmp_path / "runtimes" / "klingon.json").write_text(
        json.dumps(
            {
                "extensions": ["tlh"],
                "source": "code.tlh",
                "program": ["/usr/bin/no-such-klingon"],
                "package": "klingon-interpreter",
                "run": {"argv": ["{program}", "{source}", "{args}"]},
                "closure": ["@libs"],
            }
        )
    )
    done = brig("runtimes", "--config", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert b"apt-get install klingon-interpreter" in done.stdout
    done = brig("run", "--config", str(tmp_path), "--lang", "klingon", "-c", "Qapla'")
    assert done.returncode == 127
    assert b"klingon-interpreter" in done.stderr


@pytest.mark.parametrize("args", [["--version"], ["version"]])
def test_version(brig, args):
    done = brig(*args)
    assert done.returncode == 0
    assert re.fullmatch(rb"brig \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize("command", ["run", "explain", "doctor", "runtimes", "policy"])
def test_help(brig, command):
    done = brig(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: brig {command}".encode())
    assert brig("help", command).stdout == done.stdout
    assert max(len(line) for line in done.stdout.decode().splitlines()) <= 90
    assert command.encode() in brig("--help").stdout


def test_streams_that_are_closed():
    """No file that brig opens may become its stdout."""
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" run -c "print(1)" >&- 2>&-', BRIG], check=False, timeout=60
    )
    assert done.returncode == 0
