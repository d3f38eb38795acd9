# SPDX-License-Identifier: Apache-2.0
"""The log in front of the database: what is only there counts, and is stored at the next start."""

import json
import os
import signal
import sqlite3
import subprocess
import time

import pytest

from test_kill import child_of

NEVER = {"DRIVER_FILL_MS": "3600000"}


def write_and_kill(driver, state, acks, count, more):
    """Kills a ledger and its client after `count` ends were acknowledged."""
    writer = subprocess.Popen([driver, "write", state, acks], env={**os.environ, **more},
                              stdout=subprocess.DEVNULL)
    while not acks.exists() or acks.read_text().count("e ") < count:
        assert writer.poll() is None
        time.sleep(0.001)
    kill_both(writer)


def kill_both(writer):
    for victim in (child_of(writer.pid), writer.pid):
        os.kill(victim, signal.SIGKILL)
    writer.wait(20)


def ended(acks):
    return {line[2:] for line in acks.read_text().splitlines() if line.startswith("e ")}


def stored(state):
    db = sqlite3.connect(state / "ledger.db")
    found = {name for name, in db.execute("SELECT id FROM executions WHERE status = 'ok'")}
    db.close()
    return found


def restart(driver, state, **more):
    """A killed role may hold the lock for a moment."""
    for _ in range(100):
        done = subprocess.run([driver, "pairs", state, "1"], capture_output=True, text=True,
                              env={**os.environ, **more}, timeout=60, check=False)
        if "role=4" not in done.stdout or "in use" not in done.stderr:
            return done
        time.sleep(0.05)
    return done


@pytest.mark.parametrize("more", [NEVER, {"DRIVER_FILL_MS": "1"},
                                  {**NEVER, "DRIVER_DURABLE": "1"}], ids=str)
def test_log_is_stored_after_a_death(driver, tmp_path, verify, more):
    state, acks = tmp_path / "state", tmp_path / "acks"
    state.mkdir()
    write_and_kill(driver, state, acks, 60, more)
    assert verify(state) == (True, [])
    done = restart(driver, state)
    assert "errors=0" in done.stdout and "role=0" in done.stdout, done
    assert ended(acks) <= stored(state)
    assert verify(state) == (True, [])
    assert not list(state.glob("ledger.log*"))


def test_what_only_the_log_has(driver, tmp_path, audit, verify):
    """A copy of a dead service's state: valid, and the auditor is told what is missing in it."""
    writer = subprocess.Popen([driver, "pairs", tmp_path, "20"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, **NEVER, "DRIVER_LINGER_MS": "60000"})
    assert "done=20 errors=0" in writer.stdout.readline()
    kill_both(writer)
    assert not stored(tmp_path)
    told = json.loads(audit("verify", "--json", "--state", tmp_path).stdout)
    assert told["valid"] and told["in_log"] == 42, told
    text = audit("verify", "--state", tmp_path).stdout
    assert "42 calls in the ledger's log have no entries yet" in text
    assert "role=0" in restart(driver, tmp_path).stdout
    assert len(stored(tmp_path)) == 23
    assert verify(tmp_path) == (True, [])


def test_damage_is_told(driver, tmp_path):
    """A changed byte in the middle: the ledger does not start, and says what can be done."""
    state, acks = tmp_path / "state", tmp_path / "acks"
    state.mkdir()
    write_and_kill(driver, state, acks, 60, NEVER)
    log = max(state.glob("ledger.log*"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    done = restart(driver, state)
    assert "role=4" in done.stdout, done
    assert f"{log.name} is damaged at byte" in done.stderr and "restore" in done.stderr, done
    assert log.read_bytes() == data
    # Repaired, nothing is lost.
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    assert "errors=0" in restart(driver, state).stdout
    assert ended(acks) <= stored(state)


def test_audit_waits_for_a_ledger_that_runs(driver, tmp_path, audit):
    """The answer has all acknowledged runs, though the database gets them later."""
    state, acks = tmp_path / "state", tmp_path / "acks"
    state.mkdir()
    writer = subprocess.Popen([driver, "pairs", state, "50"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "DRIVER_FILL_MS": "700",
                                   "DRIVER_LINGER_MS": "3000"})
    assert "errors=0" in writer.stdout.readline()
    told = json.loads(audit("verify", "--json", "--state", state).stdout)
    assert told["valid"] and told["in_log"] == 0 and told["entries"] >= 100, told
    writer.communicate(timeout=60)
