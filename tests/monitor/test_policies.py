# SPDX-License-Identifier: Apache-2.0
"""Events in policies: errors with line and column, inheritance, the ceiling."""

import json
import re
import subprocess

import pytest
from conftest import BRIG

WRONG = [
    ('{ "monitor": 3 }', "monitor", "must be an object"),
    ('{ "monitor": { "call": [] } }', "monitor.call", "calls"),
    ('{ "monitor": { "calls": ["execv"] } }', "monitor.calls[0]", "not a system call"),
    ('{ "monitor": { "calls": ["@basic"] } }', "monitor.calls[0]", "not a system call"),
    ('{ "monitor": { "calls": ["openat", "write"] } }', "monitor.calls[1]", "cannot be watched"),
    ('{ "monitor": { "calls": ["exit_group"] } }', "monitor.calls[0]", "cannot be watched"),
    ('{ "monitor": { "files": ["etc/shadow"] } }', "monitor.files[0]", "absolute"),
    ('{ "monitor": { "files": ["/a/../b"] } }', "monitor.files[0]", '".."'),
    ('{ "monitor": { "files": ["/a\\u0007"] } }', "monitor.files[0]", "control character"),
    ('{ "monitor": { "files": ["/' + "a" * 255 + '"] } }', "monitor.files[0]", "255"),
    ('{ "monitor": { "files": [' + ", ".join(f'"/{i}"' for i in range(65)) + '] } }',
     "monitor.files", "64"),
    ('{ "monitor": { "end_after": { "watched": -1 } } }', "monitor.end_after.watched", ""),
    ('{ "monitor": { "end_after": { "denied": 1 } } }', "monitor.end_after.denied",
     "denied_calls"),
    ('{ "denials_max": 5,\n "monitor": { "end_after": { "denied_calls": 5 } } }', "denials_max",
     "remove one of the two"),
]


def check(tmp_path, text):
    file = tmp_path / "x.json"
    file.write_text(text)
    return subprocess.run([BRIG, "policy", "check", file], capture_output=True, text=True,
                          check=False)


@pytest.mark.parametrize("text,path,words", WRONG, ids=range(len(WRONG)))
def test_mistakes(tmp_path, text, path, words):
    done = check(tmp_path, text.replace("{", '{ "extends": "default",', 1))
    said = done.stdout + done.stderr
    assert done.returncode != 0 and path in said and words in said, said
    assert re.search(r"\bx\.json:1:\d+: ", said), said


def show(config, name):
    done = subprocess.run([BRIG, "policy", "show", name, "--json", "--config", config],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def own(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "policies").mkdir()

    def make(**files):
        for name, value in files.items():
            at = tmp_path / (f"{name}.json" if name == "ceiling" else f"policies/{name}.json")
            at.write_text(json.dumps(value))
        return tmp_path

    return make


def test_two_names_of_one_threshold(own):
    """The later file wins, by either name; nothing else changes."""
    config = own(new={"extends": "default", "monitor": {"end_after": {"denied_calls": 7}}},
                 old={"extends": "default", "denials_max": 8},
                 none={"extends": "default"})
    assert show(config, "new")["monitor"]["end_after"]["denied_calls"] == 7
    assert show(config, "new")["denials_max"] == 7
    assert show(config, "old")["monitor"]["end_after"]["denied_calls"] == 8
    assert show(config, "none")["denials_max"] == 10000
    assert show(config, "new")["monitor"]["end_after"]["refused_connections"] == 1000


def test_the_ceiling_only_adds(own):
    config = own(
        ceiling={"monitor": {"calls": ["socket"], "files": ["/etc/shadow"],
                             "end_after": {"denied_calls": 50, "watched": 10}}},
        a={"extends": "default", "monitor": {"calls": ["execve"], "files": ["/x"],
                                             "end_after": {"denied_calls": 9, "watched": 99}}})
    found = show(config, "a")["monitor"]
    assert found["calls"] == ["execve", "socket"] and found["files"] == ["/x", "/etc/shadow"]
    assert found["end_after"] == {"denied_calls": 9, "refused_connections": 1000, "watched": 10}
    # The trusted local mode has no filter that could watch; its policy stays valid.
    assert show(config, "open")["monitor"]["calls"] == []


def test_a_request_cannot_turn_it_off(own):
    """The option does not exist, and the ceiling holds for every policy that can be named."""
    config = own(ceiling={"monitor": {"files": ["/etc/shadow"]}})
    done = subprocess.run(
        [BRIG, "run", "--json", "--config", config, "--policy", "strict", "-c",
         "try: open('/etc/shadow')\nexcept OSError: pass"],
        capture_output=True, check=False)
    result = json.loads(done.stdout)
    if "error" in result:
        assert result["error"]["code"] == "host" # this user's host lacks a layer of `strict`
        return
    assert [e["subject"] for e in result["events"]] == ["/etc/shadow"]


def test_what_cannot_be_watched(own):
    """The calls of a program that may change waiting calls cannot be watched."""
    config = own(a={"extends": "default", "monitor": {"calls": ["socket"]},
                    "syscalls": ["@basic", "@file", "@process", "@thread", "@dangerous", "ptrace"]})
    done = subprocess.run([BRIG, "run", "--config", config, "--policy", "a", "-c", "1"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 126 and "ptrace" in done.stderr, done.stderr


def test_local_has_nothing_to_watch(own):
    done = subprocess.run(
        [BRIG, "policy", "check", own(l={
            "extends": "open", "monitor": {"calls": ["socket"]}}) / "policies" / "l.json"],
        capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "provider local cannot watch system calls" in done.stderr + done.stdout
