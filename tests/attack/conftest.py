# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the attack tests: a place to run payloads, and a host that must stay as it was."""

import os
import sys

import harness
import pytest
from own import lasting
from warmth import warm, warm_host  # noqa: F401 # fixtures

sys.dont_write_bytecode = True

# These are warm in any case.
collect_ignore_glob = ["test_warm*.py"] if harness.WARM else []


@pytest.fixture(scope="session")
def payloads(tmp_path_factory):
    """The directory of compiled payloads."""
    return tmp_path_factory.mktemp("payloads")


@pytest.fixture
def attack(payloads, tmp_path):
    return harness.Attack(payloads, tmp_path)


@pytest.fixture(scope="session", autouse=True)
def orphans():
    harness.adopt_orphans()


@pytest.fixture(scope="session")
def canary_key():
    """The key as the kernel lists it; None where no keys are available."""
    name = f"brig-attack-{os.getpid()}"
    if harness.add_key(name) < 0:
        return None
    return next(key for key in harness.user_keys() if key[0].startswith(name))


def left_keys(before):
    """
    The new keys, without the canaries of other passes that run in parallel with this one, maybe in another
    process namespace. No program of an attack makes a key of such a name.
    """
    return {key for key in harness.user_keys() - before if not key[0].startswith("brig-attack-")}


@pytest.fixture(autouse=True)
def host_unharmed(orphans, canary_key):
    """Around every test: the same files, settings and mounts afterwards, and no process left."""
    before = harness.host_state()
    keys = harness.user_keys()
    yield
    harness.wait_for(lambda: not harness.children(), 10)
    after = harness.host_state()
    changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
    assert not changed, "the host was changed"
    assert not lasting(10, lambda: left_keys(keys)), "keys are left"
    assert canary_key is None or canary_key in harness.user_keys(), "a key is gone"


def pytest_terminal_summary(terminalreporter):
    if harness.WARM:
        counts = ", ".join(f"{count} {start}" for start, count in sorted(harness.starts.items()))
        terminalreporter.write_line(f"cells: {counts}")
