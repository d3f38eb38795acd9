# SPDX-License-Identifier: Apache-2.0
"""`brig audit` from outside: its output, on a running service's state and on copies."""

import json
import os
import shutil
import subprocess
import time

import pytest


def lines(done):
    assert done.returncode == 0, done
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_list(state, audit):
    entries = lines(audit("list", "--json", "--state", state))
    assert [entry["sequence"] for entry in entries] == list(range(1, len(entries) + 1))
    assert entries[0]["kind"] == "ledger.started" and entries[-1]["kind"] == "ledger.stopped"
    ended = [entry for entry in entries if entry["kind"] == "execution.ended"]
    assert len(ended) == 101
    facts = ended[0]["facts"]
    for key in ("caller", "code_sha256", "language", "policy", "limits", "verdict", "denial",
                "usage", "status"):
        assert key in facts, key
    text = json.dumps(entries)
    assert "stdout\"" not in text and "42\\n" not in text


def test_filters(state, audit):
    where = ("--json", "--state", state)
    assert {e["kind"] for e in lines(audit("list", "--kind", "execution", *where))} == {
        "execution.accepted", "execution.ended"}
    assert lines(audit("list", "--kind", "exec", *where)) == []
    assert len(lines(audit("list", "--limit", "3", *where))) == 3
    assert len(lines(audit("tail", *where))) == 20
    assert lines(audit("tail", "--limit", "1", *where))[0]["kind"] == "ledger.stopped"
    assert len(lines(audit("list", "--tenant", "tenant", *where))) == 202
    assert lines(audit("list", "--since", "2100-01-01", *where)) == []
    assert len(lines(audit("list", "--since", "2020-01-31T12:00:00Z", *where))) > 200
    assert len(lines(audit("list", "--since", "60m", *where))) > 200


def test_show(state, audit):
    entry = lines(audit("show", "3", "--json", "--state", state))[0]
    assert entry["sequence"] == 3
    both = lines(audit("show", entry["facts"]["execution"], "--json", "--state", state))
    assert [e["kind"] for e in both] == ["execution.accepted", "execution.ended"]
    assert audit("show", "99999", "--state", state).returncode == 1
    assert "code_sha256" in audit("show", "3", "--state", state).stdout


@pytest.mark.parametrize("args", [["show"], ["show", "x"], ["lost"], ["list", "--since", "soon"],
                                  ["list", "--limit", "0"], ["list", "5"], ["--nonsense"]])
def test_usage(state, audit, args):
    assert audit(*args, "--state", state).returncode == 2


def test_no_ledger(tmp_path, audit):
    done = audit("verify", "--state", tmp_path)
    assert done.returncode not in (0, 1) and "no ledger" in done.stderr
    (tmp_path / "ledger.db").write_text("this is no database, however long it may be " * 200)
    assert audit("verify", "--state", tmp_path, "--key", "00" * 32).returncode != 0


def test_a_copied_file(written, tmp_path, audit):
    shutil.copy(written / "ledger.db", tmp_path / "copy?.db")
    copy = tmp_path / "copy?.db"
    assert audit("verify", "--file", copy).returncode not in (0, 1)  # no key there
    done = audit("verify", "--file", copy, "--key", written / "audit.pub")
    assert done.returncode == 0 and done.stdout.startswith("ok: "), done


@pytest.mark.user
def test_a_directory_that_cannot_be_written(state, audit):
    for path in state.iterdir():
        path.chmod(0o400)
    state.chmod(0o500)
    try:
        assert audit("verify", "--state", state).returncode == 0
    finally:
        state.chmod(0o700)


def test_while_it_runs(tmp_path, driver, audit, verify):
    state = tmp_path / "state"
    state.mkdir()
    writer = subprocess.Popen([driver, "write", state, tmp_path / "acks"],
                              env={**os.environ, "DRIVER_CHECKPOINT": "50"})
    try:
        while not (tmp_path / "acks").exists() or not (tmp_path / "acks").stat().st_size:
            assert writer.poll() is None
        counts = []
        for _ in range(10):
            assert verify(state) == (True, [])
            counts.append(lines(audit("tail", "--limit", "1", "--json", "--state", state)))
            time.sleep(0.02)
        assert counts[-1][0]["sequence"] > counts[0][0]["sequence"]
        follow = subprocess.Popen([os.environ.get("BRIG", "build/brig"), "audit", "tail",
                                   "--follow", "--limit", "1", "--state", state],
                                  stdout=subprocess.PIPE, text=True)
        seen = [int(follow.stdout.readline().split()[0]) for _ in range(50)]
        assert seen == list(range(seen[0], seen[0] + 50))
        follow.kill()
        follow.wait()
    finally:
        writer.kill()
        writer.wait()
