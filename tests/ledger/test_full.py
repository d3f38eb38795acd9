# SPDX-License-Identifier: Apache-2.0
"""No space on the disk: calls are answered with an error, and everything acknowledged is there."""

import os
import re
import sqlite3
import subprocess

import pytest


def counts(done):
    found = re.search(r"done=(\d+) errors=(\d+)", done.stdout)
    assert found and "role=0" in done.stdout, done
    return int(found[1]), int(found[2])


def intact(state, verify, good):
    db = sqlite3.connect(state / "ledger.db")
    assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    db.close()
    assert verify(state) == (True, [])
    assert good > 20


def complete(driver, state, verify, good):
    """With space again it continues, and what was acknowledged from the log alone is stored."""
    done = subprocess.run([driver, "pairs", state, "100"], capture_output=True, text=True,
                          timeout=60, check=True)
    assert counts(done) == (100, 0)
    db = sqlite3.connect(state / "ledger.db")
    ended = db.execute("SELECT count(*) FROM executions WHERE status = 'ok'").fetchone()[0]
    db.close()
    assert ended >= good + 100
    assert not list(state.glob("ledger.log*"))
    assert verify(state) == (True, [])


def test_file_size_limit(driver, tmp_path, verify):
    done = subprocess.run([driver, "full", tmp_path, "3000"], capture_output=True, text=True,
                          timeout=120, check=False)
    tried, errors = counts(done)
    assert 0 < errors < tried
    intact(tmp_path, verify, tried - errors)
    complete(driver, tmp_path, verify, tried - errors)


@pytest.mark.root
def test_tiny_file_system(driver, tmp_path, verify):
    """A tmpfs of two megabytes, in a mount namespace of its own."""
    out = tmp_path / "out"
    script = ('mount -t tmpfs -o size=2m none "$1" && "$2" stream "$1" 4000; '
              'cp -a "$1" "$3"')
    place = tmp_path / "place"
    place.mkdir()
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", place, driver, out],
                          capture_output=True, text=True, timeout=120, check=False)
    if "mount" in done.stderr and not out.exists():
        pytest.skip("this host does not let root mount a tmpfs in a namespace of its own")
    tried, errors = counts(done)
    assert 0 < errors < tried
    intact(out, verify, tried - errors)
    assert os.path.exists(out / "audit.head")
    complete(driver, out, verify, tried - errors)
