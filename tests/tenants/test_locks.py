# SPDX-License-Identifier: Apache-2.0
"""X19: a program holds a kernel lock that the warden needs, and gets no processor to release it. The
others are served meanwhile; the cell is killed if the lock was met, which is a matter of luck."""

import json
import pathlib
import time

import pytest
from callers import timed

HOSTILE = pathlib.Path(__file__).resolve().parents[1] / "programs" / "hostile"
SECONDS = 5  # for which the locks are held
SOON = 2  # of which the watchdog takes 0.3, on a busy machine


def serve_others(alice, meanwhile=lambda: None):
    """Runs of the victim, one after the other: the longest is soon over."""
    end, longest = time.monotonic() + SECONDS, 0
    while time.monotonic() < end:
        meanwhile()
        result, seconds = timed(lambda: alice.run("print(1)"))
        assert result["stdout"] == "1\n"
        longest = max(longest, seconds)
    assert longest < SOON, f"a neighbour waited {longest:.1f} s"


def check(result):
    """Killed for the lock, or as if there were none."""
    verdict = result["verdict"]
    if verdict["cause"] == "kernel_lock":
        assert result["status"] == "denied" and "250 ms" in verdict["remedy"]
    else:
        assert result["status"] in ("ok", "timeout"), result


@pytest.mark.parametrize("burners", [1, 3])
def test_x19_memory(house, alice, mallory, burners):
    """By the lock of its memory, which the answer to sysinfo(2) is written to."""
    code = (HOSTILE / "hold_memory.py").read_text()
    name = mallory.order(code, args=[str(SECONDS), str(burners)], timeout_ms=(SECONDS + 2) * 1000)
    serve_others(alice)
    check(mallory.wait(name)["result"])


@pytest.mark.parametrize("burners", [1, 3])
def test_x19_files(house, alice, mallory, burners):
    """By the lock of its directory, which the warden reads at the end of a run, and for a list."""
    code = (HOSTILE / "hold_files.py").read_text()
    session = mallory.session()
    run = mallory.begin("POST", f"/v1/sessions/{session}/execute",
                        {"code": code, "args": [str(SECONDS), str(burners)]})
    lists = []
    start = time.monotonic()

    def ask_for_list():
        if time.monotonic() - start > len(lists) / 4:
            lists.append(mallory.begin("GET", f"/v1/sessions/{session}/files"))

    serve_others(alice, ask_for_list)
    check(json.loads(run.getresponse().read()))
    for one in lists:
        response = one.getresponse()
        assert response.status in (200, 404, 409, 410), response.read()
    found = mallory.ask("GET", f"/v1/sessions/{session}").json()
    assert found["state"] != "gone" or "kernel_lock" in found["reason"], found
    mallory.ask("DELETE", f"/v1/sessions/{session}")
