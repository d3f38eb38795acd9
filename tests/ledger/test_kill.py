# SPDX-License-Identifier: Apache-2.0
"""SIGKILL of the ledger at any moment: nothing that was acknowledged is lost, nothing is stuck.

Each round kills the role while a client has thirty calls in progress; the next round's start is the
recovery. At the end every acknowledged execution is in the database, those whose end was
acknowledged with that end, all others as `lost`; and the chain verifies.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import time

import jsonschema

ROUNDS = int(os.environ.get("LEDGER_KILLS", "200"))


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return int(children.read().split()[0])
    except (OSError, IndexError):
        return None


def test_kill(driver, tmp_path, verify):
    state, acks = tmp_path / "state", tmp_path / "acks"
    state.mkdir()
    chance = random.Random(4)
    for number in range(ROUNDS):
        # Calls are in the log for a moment, for long, or until the backlog is full.
        environment = {**os.environ, "DRIVER_CHECKPOINT": "100",
                       "DRIVER_FILL_MS": chance.choice(("0", "1", "10000"))}
        size = acks.stat().st_size if acks.exists() else 0
        writer = subprocess.Popen([driver, "write", state, acks], env=environment,
                                  stdout=subprocess.DEVNULL)
        # Also while it starts and recovers.
        if chance.random() < 0.8:
            while not acks.exists() or acks.stat().st_size == size:
                assert writer.poll() is None
                time.sleep(0.001)
        time.sleep(chance.random() * 0.03)
        victim = child_of(writer.pid) if chance.random() < 0.8 else writer.pid
        os.kill(victim or writer.pid, signal.SIGKILL)
        writer.wait(20)
        if number % 40 == 0:
            assert verify(state) == (True, [])
    # A writer's end is its role's as well; it may still hold the lock for a moment.
    for _ in range(100):
        done = subprocess.run([driver, "pairs", state, "1"], capture_output=True, text=True,
                              timeout=30, check=False)
        if "role=0" in done.stdout:
            break
        time.sleep(0.05)
    assert "errors=0" in done.stdout and "role=0" in done.stdout, done
    check(state, acks)
    assert verify(state) == (True, [])


def check(state, acks):
    db = sqlite3.connect(state / "ledger.db")
    rows = dict(db.execute("SELECT id, status FROM executions").fetchall())
    begun, ended = set(), set()
    for line in acks.read_text().splitlines():
        kind, _, identity = line.partition(" ")
        (begun if kind == "b" else ended).add(identity)
    assert len(ended) > ROUNDS
    assert begun <= rows.keys()
    assert {rows[identity] for identity in ended} == {"ok"}
    # Nothing is stuck: the end of the others was in progress, and was recorded or not.
    assert set(rows.values()) <= {"ok", "lost"}
    lost = [identity for identity, status in rows.items() if status == "lost"]
    assert lost
    # Each has its entry, once.
    kinds = db.execute("SELECT kind, json_extract(facts, '$.execution') FROM audit "
                       "WHERE kind LIKE 'execution.%'").fetchall()
    assert len(kinds) == len(set(kinds))
    assert {identity for kind, identity in kinds if kind == "execution.ended"} == rows.keys()
    schema = json.loads(subprocess.run([os.environ.get("BRIG", "build/brig"), "run",
                                        "--json-schema"], capture_output=True, check=True).stdout)
    validator = jsonschema.Draft202012Validator(schema)
    for identity in lost[:5]:
        data = db.execute("SELECT data FROM results JOIN executions USING (n) WHERE id = ?",
                          (identity,)).fetchone()[0]
        wrong = [error.message for error in validator.iter_errors(json.loads(data))]
        assert not wrong, wrong
    db.close()
