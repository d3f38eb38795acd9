# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the attack tests: a place to run payloads, and a host that must stay as it was."""

import sys

import harness
import pytest

sys.dont_write_bytecode = True

# Those are warm anyway.
collect_ignore = ["test_warm.py"] if harness.WARM else []


@pytest.fixture(scope="session")
def payloads(tmp_path_factory):
    """Where compiled payloads go."""
    return tmp_path_factory.mktemp("payloads")


@pytest.fixture
def attack(payloads, tmp_path):
    return harness.Attack(payloads, tmp_path)


@pytest.fixture(scope="session", autouse=True)
def orphans():
    harness.adopt_orphans()


@pytest.fixture(autouse=True)
def host_unharmed(orphans):
    """Around every test: same files, settings and mounts afterwards, and no process left."""
    before = harness.host_state()
    yield
    harness.wait_for(lambda: not harness.children(), 10)
    after = harness.host_state()
    changed = {key: (before[key], after[key]) for key in before if before[key] != after[key]}
    assert not changed, "the host was changed"


def pytest_terminal_summary(terminalreporter):
    if harness.WARM:
        counts = ", ".join(f"{count} {start}" for start, count in sorted(harness.starts.items()))
        terminalreporter.write_line(f"cells: {counts}")
