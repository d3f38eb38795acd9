# SPDX-License-Identifier: Apache-2.0
"""Changes of the database are detected: by a link, by a signature, or by a copy kept elsewhere.

The hash of an entry is computed here a second time, as docs/audit.md describes it.
"""

import hashlib
import os
import shutil
import sqlite3
import struct
import subprocess

import pytest


def field(data):
    return struct.pack("<Q", len(data)) + data


def entry_hash(previous, sequence, time_ms, kind, tenant, facts):
    return hashlib.sha256(field(b"brig-audit-1") + previous + struct.pack("<QQ", sequence, time_ms)
                          + field(kind.encode()) + field(tenant.encode())
                          + field(facts.encode())).digest()


class Tamper:
    """The database without its triggers; they are restored at the end, so that only the rows
    differ."""

    def __init__(self, state):
        self.path = state / "ledger.db"

    def __enter__(self):
        self.db = sqlite3.connect(self.path)
        self.triggers = self.db.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid").fetchall()
        for name, _ in self.triggers:
            self.db.execute(f"DROP TRIGGER {name}")
        return self.db

    def unstrict(self, sql):
        """Runs this with tables that accept values of any type."""
        tables = self.db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        for names in ([(name, sql.replace(") STRICT", ")")) for name, sql in tables], tables):
            self.db.execute("PRAGMA writable_schema = 1")
            for name, text in names:
                self.db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (text, name))
            self.db.commit()
            self.db.close()
            self.db = sqlite3.connect(self.path)
            if names is not tables:
                self.db.execute(sql)

    def __exit__(self, *_):
        for _, sql in self.triggers:
            self.db.execute(sql)
        self.db.commit()
        self.db.close()


def rehash(db, first=1):
    """Makes every link right again, as anyone without the key can."""
    previous = db.execute("SELECT hash FROM audit WHERE sequence < ? ORDER BY sequence DESC LIMIT 1",
                          (first,)).fetchone()
    previous = previous[0] if previous else bytes(32)
    rows = db.execute("SELECT sequence, time_ms, kind, tenant, facts FROM audit "
                      "WHERE sequence >= ? ORDER BY sequence", (first,)).fetchall()
    for row in rows:
        previous = entry_hash(previous, *row)
        db.execute("UPDATE audit SET hash = ? WHERE sequence = ?", (previous, row[0]))


def last(db):
    return db.execute("SELECT max(sequence) FROM audit").fetchone()[0]


def test_untouched(state, verify):
    assert verify(state) == (True, [])


def test_hash_is_as_documented(state, verify):
    with Tamper(state) as db:
        before = db.execute("SELECT sequence, hash FROM audit").fetchall()
        rehash(db)
        assert db.execute("SELECT sequence, hash FROM audit").fetchall() == before
        assert len(before) > 200
    assert verify(state) == (True, [])


def test_signature_is_as_documented(state, tmp_path):
    line = (state / "audit.head").read_text().strip()
    text, _, signature = line.rpartition(" ")
    public = bytes.fromhex((state / "audit.pub").read_text().strip())
    # SubjectPublicKeyInfo of Ed25519 is this, and the key.
    (tmp_path / "key.der").write_bytes(bytes.fromhex("302a300506032b6570032100") + public)
    (tmp_path / "signature").write_bytes(bytes.fromhex(signature))
    (tmp_path / "text").write_bytes(text.encode())
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey",
                           tmp_path / "key.der", "-rawin", "-in", tmp_path / "text", "-sigfile",
                           tmp_path / "signature"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


@pytest.mark.parametrize("column, value", [
    ("time_ms", 12345), ("kind", "execution.accepted2"), ("tenant", "another"),
    ("facts", '{"status":"ok"}'), ("hash", bytes(32)),
])
@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_changed(state, verify, column, value, where):
    with Tamper(state) as db:
        sequence = {"first": 1, "middle": 77, "last": last(db)}[where]
        db.execute(f"UPDATE audit SET {column} = ? WHERE sequence = ?", (value, sequence))
    valid, findings = verify(state)
    assert not valid and findings


@pytest.mark.parametrize("column, value", [("time_ms", 12345), ("tenant", "another"),
                                           ("facts", '{"status":"ok"}')])
def test_changed_and_rehashed(state, verify, column, value):
    """All links are right again, but the signatures are not."""
    with Tamper(state) as db:
        db.execute(f"UPDATE audit SET {column} = ? WHERE sequence = 77", (value,))
        rehash(db, 77)
    valid, findings = verify(state)
    assert not valid and "differs from the entry that checkpoint" in findings[0]


@pytest.mark.parametrize("where", ["first", "middle", "last"])
def test_deleted(state, verify, where):
    with Tamper(state) as db:
        sequence = {"first": 1, "middle": 77, "last": last(db)}[where]
        db.execute("DELETE FROM audit WHERE sequence = ?", (sequence,))
    assert not verify(state)[0]


def test_deleted_renumbered_and_rehashed(state, verify):
    with Tamper(state) as db:
        db.execute("DELETE FROM audit WHERE sequence = 77")
        for sequence in range(78, last(db) + 1):
            db.execute("UPDATE audit SET sequence = ? WHERE sequence = ?", (sequence - 1, sequence))
        rehash(db, 77)
    assert not verify(state)[0]


def test_inserted(state, verify):
    with Tamper(state) as db:
        end = last(db)
        row = db.execute("SELECT time_ms, kind, tenant, facts FROM audit WHERE sequence = 5")
        row = row.fetchone()
        for sequence in range(end, 76, -1):
            db.execute("UPDATE audit SET sequence = ? WHERE sequence = ?", (sequence + 1, sequence))
        db.execute("INSERT INTO audit VALUES (77, ?, ?, ?, ?, ?)", (*row, bytes(32)))
        rehash(db, 77)
    assert not verify(state)[0]


@pytest.mark.parametrize("sequence", [0, -5])
def test_inserted_in_front(state, verify, sequence):
    with Tamper(state) as db:
        db.execute("INSERT INTO audit VALUES (?, 1, 'x', '', '{}', ?)", (sequence, bytes(32)))
    assert not verify(state)[0]


@pytest.mark.parametrize("fix", [False, True])
def test_reordered(state, verify, fix):
    with Tamper(state) as db:
        for a, b in ((77, -1), (78, 77), (-1, 78)):
            db.execute("UPDATE audit SET sequence = ? WHERE sequence = ?", (b, a))
        if fix:
            rehash(db, 77)
    assert not verify(state)[0]


def test_truncated(state, verify):
    """With its checkpoints, so that the rest is whole: the head file contradicts it."""
    with Tamper(state) as db:
        keep = db.execute("SELECT line FROM checkpoints WHERE number = 5").fetchone()[0].split()[2]
        db.execute("DELETE FROM checkpoints WHERE number > 5")
        db.execute("DELETE FROM audit WHERE sequence > ?", (int(keep),))
    valid, findings = verify(state)
    assert not valid and "audit.head" in findings[0]


def test_truncated_with_its_head(state, verify, written):
    """A change that nothing in the directory shows is detected by a line that was kept
    elsewhere."""
    line = (state / "audit.head").read_text().strip()
    with Tamper(state) as db:
        kept = db.execute("SELECT line FROM checkpoints WHERE number = 5").fetchone()[0]
        db.execute("DELETE FROM checkpoints WHERE number > 5")
        db.execute("DELETE FROM audit WHERE sequence > ?", (int(kept.split()[2]),))
    (state / "audit.head").write_text(kept + "\n")
    assert verify(state) == (True, [])  # this is the limit that docs/audit.md describes
    assert not verify(state, "--expect", line)[0]
    assert verify(written, "--expect", line) == (True, [])
    log = state / "service.log"
    log.write_text(f'event=checkpoint text="{kept}"\nevent=checkpoint text="{line}"\n')
    assert not verify(state, "--expect", log)[0]
    assert verify(written, "--expect", log) == (True, [])


def test_all_of_a_log_is_read(state, verify, written):
    """A checkpoint counts at any place in the log, in any number."""
    line = (state / "audit.head").read_text().strip()
    with Tamper(state) as db:
        lines = [row[0] for row in db.execute("SELECT line FROM checkpoints ORDER BY number")]
        kept = lines[4]
        db.execute("DELETE FROM checkpoints WHERE number > 5")
        db.execute("DELETE FROM audit WHERE sequence > ?", (int(kept.split()[2]),))
    (state / "audit.head").write_text(kept + "\n")
    log = state / "service.log"
    noise = "time=1 level=error role=front event=engine.failed why=x\n"
    log.write_text(f'event=checkpoint text="{kept}"\n' * 100 + noise * 5000
                   + f'event=checkpoint text="{line}"\n')
    assert log.stat().st_size > 4 * (64 << 10)
    assert not verify(state, "--expect", log)[0]
    assert verify(written, "--expect", log) == (True, [])
    # As the journal exports it, and with a last line that is still being written.
    log.write_text('{"MESSAGE": "event=checkpoint text=\\"%s\\""}\n' % line
                   + f'event=checkpoint text="{line[:50]}')
    assert not verify(state, "--expect", log)[0]
    assert verify(written, "--expect", log) == (True, [])


def test_words_of_strangers_in_a_log_are_no_checkpoints(written, verify, state):
    line = (state / "audit.head").read_text().strip()
    forged = line[:-4] + "0000"
    log = state / "service.log"
    log.write_text(f'role=front event=run.failed why="brig-audit-1 1 2 event=checkpoint {forged}"\n'
                   f'role=ledger event=checkpoint text="{line}"\n')
    assert verify(written, "--expect", log) == (True, [])
    log.write_text(f'role=front event=run.failed why="{line}"\n')
    valid, findings = verify(written, "--expect", log)
    assert not valid and "no checkpoint" in findings[0]


@pytest.mark.parametrize("change", [
    "UPDATE audit SET kind = CAST(kind AS BLOB) WHERE sequence = 7",
    "UPDATE audit SET tenant = CAST(tenant AS BLOB) WHERE sequence = 7",
    "UPDATE audit SET facts = CAST(facts AS BLOB) WHERE sequence = 7",
    "UPDATE audit SET time_ms = CAST(time_ms AS BLOB) WHERE sequence = 7",
    "UPDATE checkpoints SET line = CAST(line AS BLOB) WHERE number = 3",
])
def test_the_same_bytes_as_another_type(state, verify, audit, change):
    """The hash is over bytes; a filtered list compares values."""
    before = audit("list", "--state", state, "--kind", "execution", "--limit", "1000").stdout
    tamper = Tamper(state)
    with tamper:
        tamper.unstrict(change)
    valid, findings = verify(state)
    assert not valid and any("stored as the ledger" in finding for finding in findings), findings
    if "kind" in change:
        shown = audit("list", "--state", state, "--kind", "execution", "--limit", "1000").stdout
        assert shown == before


def test_truncated_behind_the_last_checkpoint(state, verify):
    """Unsigned entries can be cut without a trace: that is the window."""
    with Tamper(state) as db:
        end = last(db)
        previous = db.execute("SELECT hash FROM audit WHERE sequence = ?", (end,)).fetchone()[0]
        row = (end + 1, 1, "session.open", "", "{}")
        db.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)",
                   (*row, entry_hash(previous, *row)))
    assert verify(state) == (True, [])
    with Tamper(state) as db:
        db.execute("DELETE FROM audit WHERE sequence > ?", (end,))
    assert verify(state) == (True, [])


@pytest.mark.parametrize("change", [
    "DELETE FROM checkpoints", "DELETE FROM checkpoints WHERE number = 4",
    "DELETE FROM checkpoints WHERE number > 4 AND number < 8",
    "UPDATE checkpoints SET line = replace(line, 'brig-audit-1 4 ', 'brig-audit-1 4  ')",
    # The last digit, changed.
    "UPDATE checkpoints SET line = substr(line, 1, length(line) - 1) ||"
    " CASE substr(line, -1) WHEN '0' THEN '1' ELSE '0' END WHERE number = 4",
    "UPDATE checkpoints SET line = (SELECT line FROM checkpoints WHERE number = 3) WHERE number = 4",
    "UPDATE checkpoints SET number = number + 1 WHERE number = (SELECT max(number) FROM checkpoints)",
])
def test_checkpoints(state, verify, change):
    with Tamper(state) as db:
        db.execute(change)
    assert not verify(state)[0]


def test_another_key(state, verify, tmp_path):
    assert not verify(state, "--key", "00" * 32)[0]
    (tmp_path / "pub").write_text("11" * 32 + "\n")
    assert not verify(state, "--key", tmp_path / "pub")[0]
    assert verify(state, "--key", state / "audit.pub")[0]


@pytest.mark.parametrize("sql", [
    "CREATE TRIGGER extra AFTER INSERT ON audit BEGIN SELECT 1; END",
    "DROP TRIGGER audit_stays",
    "CREATE TABLE more (a)",
    "CREATE INDEX by_kind ON audit (kind)",
    "CREATE VIEW looks AS SELECT * FROM audit",
])
def test_schema(state, verify, sql, driver):
    db = sqlite3.connect(state / "ledger.db")
    db.execute(sql)
    db.commit()
    db.close()
    assert not verify(state)[0]
    # The ledger itself does not continue with such a file either.
    done = subprocess.run([driver, "pairs", state, "1"], capture_output=True, text=True, timeout=30,
                          check=False)
    assert "role=4" in done.stdout and "other tables" in done.stderr, done


def test_a_view_in_its_place(state, audit):
    db = sqlite3.connect(state / "ledger.db")
    db.executescript("ALTER TABLE audit RENAME TO old; DROP TRIGGER audit_stays;"
                     "DROP TRIGGER audit_remains; CREATE VIEW audit AS WITH RECURSIVE c(x) AS "
                     "(SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS sequence FROM c;")
    db.close()
    for action in ("verify", "list", "tail"):
        assert audit(action, "--state", state, timeout=20).returncode != 0


@pytest.mark.parametrize("seed", range(20))
def test_damaged_pages(state, audit, seed):
    """Any bytes may be there: it never crashes, and never hangs."""
    import random
    chance = random.Random(seed)
    data = bytearray((state / "ledger.db").read_bytes())
    for _ in range(40):
        data[chance.randrange(100, len(data))] = chance.randrange(256)
    (state / "ledger.db").write_bytes(data)
    for action in ("verify", "list"):
        assert audit(action, "--state", state).returncode in (0, 1, 125, 2)


def test_the_ledger_notices_a_rollback(state, driver, tmp_path):
    """An older copy of the database beside a newer head file: it does not start."""
    with Tamper(state) as db:
        keep = db.execute("SELECT line FROM checkpoints WHERE number = 5").fetchone()[0].split()[2]
        db.execute("DELETE FROM checkpoints WHERE number > 5")
        db.execute("DELETE FROM audit WHERE sequence > ?", (int(keep),))
    done = subprocess.run([driver, "pairs", state, "1"], capture_output=True, text=True, timeout=30,
                          check=False)
    assert "role=4" in done.stdout and "audit.head" in done.stderr, done


def test_the_ledger_wants_its_key(state, driver):
    os.unlink(state / "audit.key")
    done = subprocess.run([driver, "pairs", state, "1"], capture_output=True, text=True, timeout=30,
                          check=False)
    assert "role=4" in done.stdout and "audit.key" in done.stderr, done
    assert not (state / "audit.key").exists()


def test_one_at_a_time(state, driver):
    first = subprocess.Popen([driver, "write", state, state / "acks"])
    try:
        while not (state / "acks").exists() or not (state / "acks").stat().st_size:
            assert first.poll() is None
        done = subprocess.run([driver, "pairs", state, "1"], capture_output=True, text=True,
                              timeout=30, check=False)
        assert "role=4" in done.stdout and "in use" in done.stderr, done
    finally:
        first.kill()
        first.wait()


def test_files_are_private(written):
    for name in ("ledger.db", "ledger.lock", "audit.key", "audit.pub", "audit.head"):
        assert (written / name).stat().st_mode & 0o777 == 0o600, name
    assert not list(written.glob("*.new"))
    assert shutil.which("openssl")
