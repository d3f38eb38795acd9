# SPDX-License-Identifier: Apache-2.0
"""brig policy learn from outside: its proposals, and what a program may do under them."""

import json
import os
import subprocess

import pytest

BRIG = os.environ.get("BRIG", "build/brig")


def run_brig(*args, stdin=b"", timeout=120, **options):
    return subprocess.run([BRIG, *map(str, args)], input=stdin, capture_output=True,
                          timeout=timeout, check=False, **options)


class Learned:
    """A proposal, in a configuration directory of its own."""

    def __init__(self, directory):
        self.config = directory / "config"
        (self.config / "policies").mkdir(parents=True)
        self.file = self.config / "policies" / "learned.json"

    def learn(self, *args, expect=0, **options):
        done = run_brig("policy", "learn", "--out", self.file, *args, **options)
        assert done.returncode == expect, done
        if self.file.exists():
            assert run_brig("policy", "check", self.file).returncode == 0
        return done

    @property
    def text(self):
        return self.file.read_text()

    def policy(self):
        done = run_brig("policy", "show", "learned", "--config", self.config, "--json")
        assert done.returncode == 0, done
        return json.loads(done.stdout)

    def run(self, *args, **options):
        done = run_brig("run", "--json", "--policy", "learned", "--config", self.config, *args,
                        **options)
        return json.loads(done.stdout)


@pytest.fixture
def learned(tmp_path):
    return Learned(tmp_path)


@pytest.fixture
def brig():
    return run_brig


@pytest.fixture
def record():
    def learn(*args, **options):
        done = run_brig("policy", "learn", "--json", *args, **options)
        assert done.returncode in (0, 1), done
        return json.loads(done.stdout)

    return learn
