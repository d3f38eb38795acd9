# SPDX-License-Identifier: Apache-2.0
"""A warm service of its own for a test, and runs with it and without."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))


class Service:
    """`brig warm start` below a runtime directory that nobody else has."""

    def __init__(self, *options, start=True):
        self.runtime = tempfile.mkdtemp(prefix="brig-warm-")
        self.env = {name: value for name, value in os.environ.items()
                    if name not in ("BRIG_WARM", "BRIG_START", "BRIG_AUDIT")}
        self.env["XDG_RUNTIME_DIR"] = self.runtime
        self.cold_env = {**self.env, "BRIG_WARM": "off"}
        self.env["BRIG_WARM"] = "wait"  # however busy the host is
        self.socket = os.path.join(self.runtime, "brig", "warm.sock")
        self.pid = 0
        if start:
            self.start(*options)

    def warm(self, *words, **options):
        return subprocess.run([BRIG, "warm", *words], env=self.env, capture_output=True,
                              timeout=60, check=False, text=True, **options)

    def start(self, *options):
        done = self.warm("start", *options)
        assert done.returncode == 0, done
        self.pid = int(re.match(r"pid (\d+):", self.status())[1])

    def status(self):
        done = self.warm("status")
        assert done.returncode == 0, done
        return done.stdout

    def counts(self):
        """How many runs were warm, and how many were sent back."""
        return tuple(map(int, re.search(r"(\d+) warm runs, (\d+) sent back",
                                        self.status()).groups()))

    def run(self, *words, env=None, stdin=b"", prefix=(), **options):
        """As a `brig run` of the user: with the service, if that takes it."""
        return subprocess.run([*prefix, BRIG, "run", *words], input=stdin, env=env or self.env,
                              capture_output=True, timeout=120, check=False, **options)

    def open(self, *words, env=None, prefix=(), **options):
        given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                 "stderr": subprocess.PIPE, **options}
        return subprocess.Popen([*prefix, BRIG, "run", *words], env=env or self.env, **given)

    @contextlib.contextmanager
    def taken(self, runs=1):
        """The service takes each of the runs in this block."""
        before = self.counts()
        yield
        after = self.counts()
        assert (after[0] - before[0], after[1] - before[1]) == (runs, 0), self.status()

    @contextlib.contextmanager
    def sent_back(self, why=None):
        """It refuses the one run in this block."""
        before = self.counts()
        yield
        after = self.counts()
        assert (after[0] - before[0], after[1] - before[1]) == (0, 1), self.status()
        if why:
            assert f"(last: {why}" in self.status()

    def workers(self):
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="ascii") as file:
                return [int(pid) for pid in file.read().split()]
        except FileNotFoundError:
            return []

    def stop(self):
        if self.pid and os.path.exists(self.socket):
            done = self.warm("stop")
            assert done.returncode == 0, done
            assert not os.path.exists(f"/proc/{self.pid}") or is_zombie(self.pid)
            assert not os.path.exists(self.socket)
        shutil.rmtree(self.runtime)


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
