# SPDX-License-Identifier: Apache-2.0
"""The front of the chain in files of its own: verified, with the ledger, as one chain."""

import json
import os
import sqlite3
import subprocess
import time

import pytest


def entries(state):
    with sqlite3.connect(f"file:{state}/ledger.db?mode=ro", uri=True) as db:
        return [row[0] for row in db.execute("SELECT sequence FROM audit ORDER BY sequence")]


def sweep(driver, state, **env):
    """The ledger runs for a while: long enough to delete old entries, and it writes some more."""
    for _ in range(20):
        done = subprocess.run([driver, "pairs", state, "5"], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "DRIVER_SWEEP_MS": "1", "DRIVER_LINGER_MS": "300",
                                   **{key: str(value) for key, value in env.items()}}, check=False)
        assert done.returncode == 0 and "role=0" in done.stdout, done
        if not (state / "audit.archived").exists():
            return
    raise AssertionError("the ledger does not take what was archived")


def archive(audit, state, name, *args):
    done = audit("archive", name, "--state", state, "--json", *args)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def report(audit, state, *args):
    done = audit("verify", "--json", "--state", state, *args)
    return done.returncode, json.loads(done.stdout)


def test_archive_and_go_on(state, audit, driver, tmp_path):
    before = len(entries(state))
    one = archive(audit, state, tmp_path / "one")
    assert one["first"] == 1 and 0 < one["last"] < before
    assert (tmp_path / "one").stat().st_mode & 0o777 == 0o600
    # Until the ledger has read it, everything is there; and the two overlap.
    assert entries(state)[0] == 1
    assert report(audit, state, "--archive", tmp_path / "one")[0] == 0
    sweep(driver, state)
    assert entries(state)[0] == one["last"] + 1
    status, alone = report(audit, state)
    assert status == 0 and alone["archived_entries"] == one["last"], alone
    status, both = report(audit, state, "--archive", tmp_path / "one")
    assert status == 0 and both["archived_entries"] == 0 and both["entries"] > before, both
    assert both["head"] == alone["head"]
    # The chain itself records where its front is.
    listed = audit("list", "--state", state, "--kind", "ledger.archived", "--json").stdout
    assert json.loads(listed)["facts"]["last"] == one["last"]
    # And again, in any order on the command line.
    two = archive(audit, state, tmp_path / "two")
    assert two["first"] == one["last"] + 1
    sweep(driver, state)
    status, whole = report(audit, state, "--archive", tmp_path / "two", "--archive", tmp_path / "one")
    assert status == 0 and whole["archived_entries"] == 0, whole
    # Without the one in the middle, or with that of another ledger, it is no chain.
    status, gap = report(audit, state, "--archive", tmp_path / "one")
    assert status == 1 and "archives end at" in gap["findings"][0]["what"], gap


def test_an_archive_is_read_as_a_ledger(state, audit, tmp_path):
    archive(audit, state, tmp_path / "one", "--keep")
    assert not (state / "audit.archived").exists()
    listed = audit("list", "--file", tmp_path / "one", "--kind", "execution", "--limit", "5", "--json").stdout
    assert listed == audit("list", "--state", state, "--kind", "execution", "--limit", "5", "--json").stdout
    done = audit("verify", "--file", tmp_path / "one", "--key", state / "audit.pub")
    assert done.returncode == 0 and done.stdout.startswith("ok"), done
    # It is signed: without the key it is neither right nor broken.
    done = audit("verify", "--file", tmp_path / "one")
    assert done.returncode not in (0, 1) and "no public key" in done.stderr and "--key" in done.stderr, done
    assert "BROKEN" not in done.stdout, done
    first = json.loads((tmp_path / "one").read_text().splitlines()[0])
    assert first["sequence"] == 1 and first["kind"] == "ledger.started"


@pytest.mark.parametrize("change", ["text", "line", "cut", "swap", "signature", "junk"])
def test_an_archive_that_was_changed(state, audit, driver, tmp_path, change):
    archive(audit, state, tmp_path / "one")
    sweep(driver, state)
    lines = (tmp_path / "one").read_text().splitlines(keepends=True)
    if change == "text":
        lines[5] = lines[5].replace("execution.", "execution-", 1)
    elif change == "line":
        del lines[5]
    elif change == "cut":
        del lines[60:]
    elif change == "swap":
        six, seven = ([i for i, line in enumerate(lines) if f'"sequence":{n},' in line][0] for n in (6, 7))
        lines[six], lines[seven] = (lines[seven].replace('"sequence":7', '"sequence":6'),
                                    lines[six].replace('"sequence":6', '"sequence":7'))
    elif change == "signature":
        at = next(i for i, line in enumerate(lines) if line.startswith("brig-audit-1"))
        lines[at] = lines[at][:-5] + "0000\n"
    else:
        lines[5] = "junk\n"
    (tmp_path / "one").write_text("".join(lines))
    assert audit("verify", "--state", state, "--archive", tmp_path / "one").returncode == 1


def test_nothing_is_written_over_and_little_is_left(state, audit, tmp_path):
    (tmp_path / "one").write_text("mine")
    done = audit("archive", tmp_path / "one", "--state", state)
    assert done.returncode != 0 and (tmp_path / "one").read_text() == "mine"
    assert not (tmp_path / "one.partial").exists() and not (state / "audit.archived").exists()
    done = audit("archive", tmp_path / "old", "--state", state, "--before", "2001-01-01")
    assert done.returncode != 0 and "nothing to archive" in done.stderr, done
    assert not (tmp_path / "old").exists()


def test_a_broken_chain_is_not_archived(state, audit, tmp_path):
    with sqlite3.connect(state / "ledger.db") as db:
        trigger = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'audit_stays'").fetchone()[0]
        db.execute("DROP TRIGGER audit_stays")
        db.execute("UPDATE audit SET tenant = 'x' WHERE sequence = 9")
        db.execute(trigger)
    done = audit("archive", tmp_path / "one", "--state", state)
    assert done.returncode != 0 and not (tmp_path / "one").exists(), done
    assert not (state / "audit.archived").exists()


@pytest.mark.parametrize("word", ["forged", "other", "junk"])
def test_the_ledger_believes_no_word_that_it_has_not_signed(state, audit, driver, word):
    """A user who can write a file there, and has no key, cannot cause a deletion."""
    head = (state / "audit.head").read_text().strip()
    fields = head.split()
    text = {"forged": " ".join([*fields[:2], "40", *fields[3:]]),
            "other": " ".join([*fields[:5], "0" * 128]), "junk": "x" * 5000}[word]
    (state / "audit.archived").write_text(text)
    sweep(driver, state)
    assert entries(state)[0] == 1
    assert report(audit, state)[0] == 0


def test_retention(state, audit, driver):
    """Entries older than the operator's maximum age are deleted without an archive; the rest still
    verifies."""
    time.sleep(0.05)
    sweep(driver, state, DRIVER_AUDIT_AGE_MS=20)
    left = entries(state)
    assert left[0] > 100, left[:3]
    status, alone = report(audit, state)
    assert status == 0 and alone["archived_entries"] == left[0] - 1, alone
    assert audit("list", "--state", state, "--kind", "ledger.dropped").stdout
    # Its own restart continues from the rest.
    sweep(driver, state)
    assert report(audit, state)[0] == 0


def test_a_ledger_of_old_verifies_and_goes_on(state, audit, driver):
    """Made before there were anchors: as a copy, and when it is opened again."""
    with sqlite3.connect(state / "ledger.db") as db:
        for name in ("audit_remains", "checkpoints_remain"):
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DROP TABLE anchor")
        db.execute("DROP TABLE usage")
        db.execute("DROP TABLE result_parts")
        db.execute("DROP TABLE long_requests")
        db.execute("DROP TABLE request_parts")
        for name in ("results_come", "results_go"):
            db.execute(f"DROP TRIGGER {name}")
        db.execute("DROP TABLE result_owners")
        db.execute("DROP TABLE result_sums")
        db.execute("DROP INDEX results_half_gone")
        db.execute("DROP TABLE logged")
        for name, table, words in (("audit_remains", "audit", "the audit chain only grows"),
                                   ("checkpoints_remain", "checkpoints", "checkpoints only grow")):
            db.execute(f"CREATE TRIGGER {name} BEFORE DELETE ON {table}"
                       f" BEGIN SELECT RAISE(ABORT, '{words}'); END")
        db.execute("PRAGMA user_version = 2")
    assert report(audit, state)[0] == 0
    sweep(driver, state)
    assert report(audit, state)[0] == 0
