# SPDX-License-Identifier: Apache-2.0
"""Jail escapes: refused or harmless in strict; and with the guard off the cell holds all of them."""

import collections
import os
import pathlib
import socket

import corpus
import pytest
from own import adopt_orphans, lasting, own_processes

SECRET = "SECRET-OF-THE-HOST"
ENDS = {"ok", "failed", "rejected", "timeout", "memory_limit", "output_limit", "process_limit",
        "disk_limit", "cpu_limit", "denied"}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """A file, a variable and a port of the host, which no payload may reach."""
    canary = tmp_path_factory.mktemp("host") / "canary"
    canary.write_text(SECRET)
    os.environ["BRIG_TEST_SECRET"] = SECRET
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield canary, listener
    del os.environ["BRIG_TEST_SECRET"]


@pytest.fixture(scope="module", autouse=True)
def orphans_are_ours():
    adopt_orphans()
    yield
    adopt_orphans(False)


def programs():
    """Programs in cells of ours."""
    found = set()
    for pid in own_processes():
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"/sandbox/code.py" in words:
            found.add(pid)
    return found


def run_all(many, host, guard):
    canary, listener = host
    payloads = list(corpus.payloads(canary, listener.getsockname()[1]))
    results = many.all([((text, guard), {"timeout_ms": 600}) for _, text in payloads])
    found = [(name, result) for (name, _), result in zip(payloads, results)]
    for name, result in found:
        assert "error" not in result, (name, result)
        assert result["status"] in ENDS, (name, result)
        assert SECRET not in result["stdout"] + result["stderr"], name
    assert canary.read_text() == SECRET
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert not lasting(15, programs)
    return found


def count(found):
    kinds = collections.Counter()
    for name, result in found:
        refusal = result["verdict"]["refusal"]
        kind = "refused before it ran" if result["status"] == "rejected" else \
            "refused while it ran" if refusal else \
            "ended by a limit" if result["verdict"]["limit_name"] else "came to nothing"
        kinds[name.split(":")[0], kind] += 1
        kinds["all", kind] += 1
    return kinds


def test_strict_lets_none_out(many, host):
    found = run_all(many, host, "strict")
    assert len(found) > 500
    out = [name for name, result in found if "ESCAPED" in result["stdout"]]
    assert not out
    kinds = count(found)
    for key, number in sorted(kinds.items()):
        print(*key, number, sep="\t")
    refused = kinds["all", "refused before it ran"] + kinds["all", "refused while it ran"]
    # Bombs are not handled by the guard: limits end them.
    tried = [name for name, _ in found if not name.startswith("bombs")]
    assert refused > 0.95 * len(tried)


def test_the_cell_holds_them_without_a_guard(many, host):
    found = run_all(many, host, "off")
    out = [name for name, result in found if "ESCAPED" in result["stdout"] + result["stderr"]]
    # They work: nearly all get out of the language. None has harmed the host.
    assert len(out) > 0.8 * len(found)
    print(len(out), "of", len(found), "get out of the language")


def test_cold_says_the_same(many, host):
    """A part of them, spread over all families."""
    canary, listener = host
    payloads = list(corpus.payloads(canary, listener.getsockname()[1]))
    for name, text in payloads[::23]:
        if name.startswith("bombs"):
            continue
        warm, cold = (many(text, "strict", timeout_ms=5000, cold=cold) for cold in (False, True))
        assert (warm["start"], cold["start"]) == ("warm", "cold")
        assert warm["status"] == cold["status"], name
        assert warm["verdict"]["refusal"] == cold["verdict"]["refusal"], name
