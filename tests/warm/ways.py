# SPDX-License-Identifier: Apache-2.0
"""Runs one request in a cell made now and in one made ahead, and compares the results."""

import json
import os
import subprocess

BRIG = os.environ.get("BRIG", "build/brig")
# Longer than the longest time limit of a run: only a hang reaches it.
WAIT_SECONDS = 330 * int(os.environ.get("BRIG_TEST_SLOW", "1"))

# Fields in which two runs of the same program may differ.
OWN = ("id", "duration_ms", "usage", "start")


def run(start, *options, stdin=b"", args=()):
    """The result object of one run."""
    words = [BRIG, "run", "--json", "--start", start, *map(str, options), "--", *args]
    done = subprocess.run(words if args else words[:-1], input=stdin, capture_output=True,
                          timeout=WAIT_SECONDS, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def shown(result):
    found = {key: value for key, value in result.items() if key not in OWN}
    if "verdict" in found:
        found["verdict"] = dict(found["verdict"], peak=None)
        found["events"] = [dict(event, first_ms=None) for event in found["events"]]
    return found


def same(*options, start="warm", **more):
    """Both ways give the same; returns the result of the cell made ahead."""
    cold = run("cold", *options, **more)
    warm = run("warm", *options, **more)
    found, wanted = shown(warm), shown(cold)
    different = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
    assert not different, [(key, found.get(key), wanted.get(key)) for key in different]
    if "error" not in warm:
        assert (cold["start"], warm["start"]) == ("cold", start)
    return warm


def ended_by_memory(result):
    """Without a group of its own the program is refused more, and may end by itself."""
    grouped = "cgroup-memory" in result["layers"]
    return result["status"] == "memory_limit" or (not grouped and result["status"] == "failed")
