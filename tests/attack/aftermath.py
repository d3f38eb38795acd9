# SPDX-License-Identifier: Apache-2.0
"""Conditions around an attack: the neighbour's run continues, and nothing of the cell is left."""

import contextlib
import json
import pathlib
import subprocess

import harness
import pytest

MEMORY_GROUPS = ("cgroup", "systemd-scope")  # how "means" begins when the kernel itself counts


class Neighbour:
    """A cell that echoes lines, while an attack runs in another."""

    def __init__(self, directory):
        self.run = subprocess.Popen([harness.BRIG, "run", "--json", "--timeout", "5m", "--", "/bin/cat"],
                                    cwd=directory, text=True, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = ""
        self.say("before\n")

    def say(self, text):
        self.text += text
        self.run.stdin.write(text)
        self.run.stdin.flush()

    def leave(self):
        """The neighbour was not affected: every byte came back, in its own time."""
        self.say("after\n")
        out, err = self.run.communicate(timeout=harness.TIMEOUT)
        result = json.loads(out)
        assert (result["status"], result["stdout"]) == ("ok", self.text), (result, err)
        return result


@pytest.fixture
def neighbour(tmp_path):
    directory = tmp_path / "neighbour"
    directory.mkdir()
    next_door = Neighbour(directory)
    try:
        yield next_door
        next_door.leave()
    finally:
        if next_door.run.poll() is None:
            next_door.run.kill()
            next_door.run.communicate()


def group_dirs():
    """Control groups that brig made, for any user."""
    found = []
    for top in pathlib.Path("/sys/fs/cgroup").glob("*"):
        with contextlib.suppress(OSError):
            found += [path for path in top.glob("**/brig-*")] if top.is_dir() else []
    return found


def left_of(result):
    """Control groups of a run that has ended; their names hold its id."""
    return [str(path) for path in group_dirs() if result["id"] in path.name]


def gone(outcome):
    """Nothing of the run is left; host_unharmed checks processes and mounts."""
    assert left_of(outcome.result) == []
    return outcome


def counted(outcome, what):
    """Whether the kernel itself counts it for the whole cell, or brig uses a weaker means."""
    return outcome.result["means"][what].startswith(MEMORY_GROUPS)


def verdict(outcome):
    """status, cause, name of the limit, limit."""
    found = outcome.result["verdict"]
    return (outcome.result["status"], found["cause"], found["limit_name"], found["limit"])



def process_named(run, name):
    """The process of that name in a cell, once it exists."""
    def found():
        return [pid for pid in harness.descendants(run.pid)
                if harness.read(f"/proc/{pid}/comm") == f"{name}\n"]

    return harness.wait_for(found)[0]


def status_of(pid):
    """/proc/PID/status as a dictionary."""
    return dict(line.split(":\t", 1) for line in harness.read(f"/proc/{pid}/status").splitlines()
                if ":\t" in line)
