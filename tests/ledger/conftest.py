# SPDX-License-Identifier: Apache-2.0
"""A ledger from outside: its role and a client (driver.c), and states that it has written."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", "build")).absolute()
TREE = pathlib.Path(os.environ.get("BRIG_TREE", ".")).absolute()
HERE = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    program = tmp_path_factory.mktemp("driver") / "driver"
    sources = [HERE / "driver.c", *sorted((TREE / "src/ledger").rglob("*.c")),
               TREE / "src/loop/loop.c", TREE / "src/role/message.c",
               TREE / "src/role/message_block.c", TREE / "src/role/message_queue.c"]
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-I", TREE / "include",
                    "-I", TREE / "src", "-o", program, *sources, BUILD / "libbrig.a",
                    "-lsqlite3", "-lm", "-ljansson", "-lsodium"], check=True, timeout=300)
    return program


@pytest.fixture(scope="session")
def written(driver, tmp_path_factory):
    """A state directory with some hundred entries, signed every twenty."""
    state = tmp_path_factory.mktemp("written")
    done = subprocess.run([driver, "pairs", state, "100"], capture_output=True, text=True, errors="replace",
                          timeout=60, env={**os.environ, "DRIVER_CHECKPOINT": "20"}, check=True)
    assert "errors=0" in done.stdout and "role=0" in done.stdout, done
    return state


@pytest.fixture
def state(written, tmp_path):
    copy = tmp_path / "state"
    shutil.copytree(written, copy)
    return copy


def run_audit(*args, timeout=60):
    return subprocess.run([BRIG, "audit", *map(str, args)], capture_output=True, text=True, errors="replace",
                          timeout=timeout, check=False, stdin=subprocess.DEVNULL)


@pytest.fixture
def audit():
    return run_audit


@pytest.fixture
def verify():
    """Verifies; returns whether the chain is whole, and the findings."""
    def run(state, *args):
        done = run_audit("verify", "--json", "--state", state, *args)
        answer = json.loads(done.stdout)
        if "error" in answer:
            assert done.returncode != 0
            return False, [answer["error"]["message"]]
        assert done.returncode == (0 if answer["valid"] else 1), done
        assert answer["valid"] == (not answer["findings"])
        return answer["valid"], [finding["what"] for finding in answer["findings"]]
    return run
