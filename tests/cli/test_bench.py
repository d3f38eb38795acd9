# SPDX-License-Identifier: Apache-2.0
"""brig bench: only a few runs; the figures must exist and be plausible."""

import json

import pytest


@pytest.fixture(scope="module")
def python_figures():
    # pylint: disable=import-outside-toplevel
    from conftest import run_brig
    done = run_brig("bench", "--json", "--runs", "10", "--in-flight", "3", "--cells", "4")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_rows(python_figures):
    rows = [(row["start"], row["in_flight"], row["pool_full"]) for row in python_figures["rows"]]
    assert rows == [("cold", 1, False), ("cold", 3, False), ("warm", 1, True), ("warm", 1, False),
                    ("warm", 3, False)]


def test_figures(python_figures):
    for row in python_figures["rows"]:
        assert 0 < row["p50_ms"] <= row["p90_ms"] <= row["p99_ms"]
        assert row["runs"] == 10
        assert row["warm"] == (10 if row["start"] == "warm" else 0)
        assert row["pool_full"] == (row["runs_per_second"] is None)
    assert python_figures["runtime"].startswith("python")
    assert python_figures["policy"] == "default"
    assert python_figures["cold_to_warm"] > 0
    assert python_figures["not_warm"] is None


def test_memory(python_figures):
    memory = python_figures["memory"]
    if memory is None:
        pytest.skip("the memory of cells cannot be seen by an ordinary user here")
    assert memory["cells"] == 4
    assert memory["processes"] >= 4
    assert 0 < memory["private_bytes"] <= memory["proportional_bytes"] * memory["processes"]


def test_text(brig):
    done = brig("bench", "--runs", "5", "--in-flight", "1")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert [line.split(",")[0] for line in lines if "in flight" in line] == ["cold", "warm", "warm"]
    assert "p50 ms" in lines[2]


def test_what_has_no_pool(brig):
    done = brig("bench", "--json", "--runs", "5", "--lang", "c", "-c", "int main(void){return 0;}")
    figures = json.loads(done.stdout)
    assert {row["start"] for row in figures["rows"]} == {"cold"}
    assert "compiled" in figures["not_warm"]
    assert figures["memory"] is None


@pytest.mark.parametrize(("args", "part", "status"), [
    (["--runs", "0"], "--runs: '0' is out of range", 2),
    (["--in-flight", "65"], "out of range", 2),
    (["--cells", "x"], "out of range", 2),
    (["--lang", "bash"], "missing code or command", 2),
    (["-c", "1", "file.py"], "given twice", 2),
    (["-c", "raise SystemExit(3)"], "ended with failed", 125),
    (["nonesuch.py"], "nonesuch.py", 125)])
def test_errors(error_of, args, part, status):
    error, got = error_of("bench", *args)
    assert part in error["message"]
    assert got == status
