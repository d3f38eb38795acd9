# SPDX-License-Identifier: Apache-2.0
"""The file of tokens: revoked tokens stay revoked, and its readers can still read it."""

import json
import os
import subprocess
import threading

import pytest

BRIG = os.environ.get("BRIG", "build/brig")


def token(file, *args):
    return subprocess.run([BRIG, "token", *args, "--file", str(file)], capture_output=True,
                          text=True, check=False)


def names(file):
    return [entry["name"] for entry in json.loads(file.read_text())["tokens"]]


def insist(file, *args):
    """A process that finds the file locked gets an error, and tries again."""
    for _ in range(1000):
        done = token(file, *args)
        if done.returncode == 0:
            return
        assert "is locked by another process" in done.stderr, done
    raise AssertionError("never had a turn")


def test_nobody_loses_what_another_one_changes(tmp_path):
    """The lock is on a file that the process before may have replaced: a stale one
    restores tokens."""
    file = tmp_path / "tokens"
    for i in range(12):
        assert token(file, "new", f"old{i}").returncode == 0
    work = [lambda i=i: insist(file, "revoke", f"old{i}") for i in range(12)]
    work += [lambda i=i: insist(file, "new", f"new{i}") for i in range(12)]

    def some(turn):
        for one in work[turn::4]:
            one()

    threads = [threading.Thread(target=some, args=(turn,)) for turn in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(names(file)) == sorted(f"new{i}" for i in range(12))


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_who_could_read_it_still_can(tmp_path, mode):
    """Otherwise a service of another user cannot read the revocation, and continues with the old
    list."""
    file = tmp_path / "tokens"
    assert token(file, "new", "a").returncode == 0
    group = 65532 if os.geteuid() == 0 else os.getegid()
    os.chown(file, -1, group)
    file.chmod(mode)
    for words in (("new", "b"), ("revoke", "a")):
        assert token(file, *words).returncode == 0
        facts = file.stat()
        assert (facts.st_mode & 0o777, facts.st_gid) == (mode, group)


def test_all_of_a_name_are_revoked(tmp_path):
    file = tmp_path / "tokens"
    for name in ("a", "b"):
        assert token(file, "new", name).returncode == 0
    listed = json.loads(file.read_text())["tokens"]
    file.write_text(json.dumps({"tokens": [*listed, dict(listed[0])]}))
    assert token(file, "revoke", "a").returncode == 0
    assert names(file) == ["b"]


@pytest.mark.parametrize("make", [
    lambda path: path.symlink_to(path.with_name("other")),
    lambda path: os.mkfifo(path),
    lambda path: path.mkdir(),
    lambda path: (path.write_text('{"tokens":[]}'), path.chmod(0o666)),
    lambda path: path.write_bytes(b'{"tokens":[]}' + b" " * (1 << 20)),
    lambda path: path.write_bytes(b'{"tokens":[{"name":"a\\u0000b"}]}'),
    lambda path: path.write_text('{"tokens":[], "tokens":[]}'),
    lambda path: path.write_text('{"tokens":['),
])
def test_files_that_are_none(tmp_path, make):
    file = tmp_path / "tokens"
    (tmp_path / "other").write_text('{"tokens":[]}')
    make(file)
    for words in (("new", "x"), ("revoke", "x"), ("list",)):
        done = token(file, *words)
        assert done.returncode > 1 and done.stderr.startswith("brig: "), (words, done)
    assert (tmp_path / "other").read_text() == '{"tokens":[]}'
