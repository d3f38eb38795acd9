# SPDX-License-Identifier: Apache-2.0
"""Where the cell of a run comes from: --start, --tenant, --value, BRIG_START."""

import os

import pytest

WARM = {**os.environ, "BRIG_START": "warm"}


@pytest.mark.parametrize(("start", "seen"), [("auto", "cold"), ("cold", "cold"), ("warm", "warm")])
def test_start(result_of, start, seen):
    result, status = result_of("--start", start, "-c", "print(6 * 7)")
    assert (result["start"], result["stdout"], status) == (seen, "42\n", 0)


def test_the_variable_is_the_default(result_of):
    assert result_of("-c", "pass", env=WARM)[0]["start"] == "warm"
    assert result_of("--start", "cold", "-c", "pass", env=WARM)[0]["start"] == "cold"
    assert result_of("-c", "pass", env={**WARM, "BRIG_START": ""})[0]["start"] == "cold"


def test_wrong_words(error_of):
    error, status = error_of("run", "--start", "tepid", "-c", "1")
    assert status == 2
    assert "--start: 'tepid'" in error["message"]
    assert "auto, cold or warm" in error["remedy"]
    error, status = error_of("run", "-c", "1", env={**os.environ, "BRIG_START": "hot"})
    assert status == 2
    assert "BRIG_START" in error["message"]


def test_what_has_no_pool_starts_cold(result_of):
    assert result_of("--start", "warm", "--", "/bin/true")[0]["start"] == "cold"
    assert result_of("--start", "warm", "--ro", "/usr/share", "-c", "pass")[0]["start"] == "cold"


def test_streams_of_a_warm_run(brig):
    code = "import sys; print(input(), sys.argv[1:]); print('e', file=sys.stderr); sys.exit(5)"
    done = brig("run", "--start", "warm", "-c", code, "--", "a", "b c", stdin="hello\n")
    assert (done.stdout, done.stderr) == (b"hello ['a', 'b c']\n", b"e\n")
    assert done.returncode == 5


def test_files_of_a_warm_run(result_of, tmp_path):
    (tmp_path / "data").write_text("x" * 1000)
    code = "open('out/size', 'w').write(str(len(open('data').read())))"
    result, _ = result_of("--start", "warm", "--tenant", "ada", "--in", str(tmp_path / "data"),
                          "-c", code)
    assert (result["start"], [file["size"] for file in result["files"]]) == ("warm", [4])


def test_limits_of_a_warm_run(result_of):
    result, status = result_of("--start", "warm", "--timeout", "300ms", "-c", "while True: pass")
    assert (result["start"], result["status"], status) == ("warm", "timeout", 124)
    result, status = result_of("--start", "warm", "--memory", "64M", "-c", "x = bytearray(10**9)")
    assert result["start"] == "warm"
    if "cgroup-memory" in result["layers"]:
        assert (result["status"], status) == ("memory_limit", 122)
    else:  # the program is refused the memory, and ends by itself
        assert (result["status"], status) == ("failed", 1)


@pytest.mark.parametrize(("code", "value"), [
    ("40 + 2", 42), ("[1, 'a', None]", [1, "a", None]), ("print(1)", None), ("x = 1", None),
    ("result = {'n': 1}", {"n": 1})])
def test_value(result_of, code, value):
    assert result_of("--start", "warm", "--value", "-c", code)[0]["value"] == value


def test_no_value_unasked(result_of):
    assert result_of("--start", "warm", "-c", "40 + 2")[0]["value"] is None


def test_value_as_text(brig):
    done = brig("run", "--start", "warm", "--value", "-c", "print('out'); 40 + 2")
    assert (done.stdout, done.stderr) == (b"out\n", b"brig: value: 42\n")
