# SPDX-License-Identifier: Apache-2.0
"""Cells that die slowly: the verdict is in time, and no other run waits for them."""

import threading
import time
from pathlib import Path

import pytest

HOSTILE = Path(__file__).resolve().parent.parent / "programs" / "hostile"
WALL_MS = 4000
LATE_MS = 4000  # before: 8 to 10 seconds


@pytest.mark.root
@pytest.mark.parametrize("warm", ["true", "false"])
def test_a_small_cpu_share_does_not_hold_up_the_end(make_server, warm):
    """The quota also applies to dying processes, unless it is lifted."""
    server = make_server("--set", f"warm.enabled={warm}").start()
    results, waits = [], []

    def attack():
        answer = server.request("POST", "/v1/execute", {
            "language": "bash", "code": (HOSTILE / "quota_spinners.sh").read_text(),
            "limits": {"wall_ms": WALL_MS, "cpu_millicores": 10}})
        results.append(answer.json())

    thread = threading.Thread(target=attack)
    thread.start()
    while thread.is_alive():
        before = time.monotonic()
        answer = server.request("GET", "/v1/policies")
        waits.append(time.monotonic() - before)
        assert answer.status == 200
        time.sleep(0.05)
    thread.join()
    result = results[0]
    assert result["status"] == "timeout", result
    # The control: there were enough of them.
    assert result["usage"]["processes_peak"] > 1, result["usage"]
    assert result["usage"]["wall_ms"] < WALL_MS + LATE_MS, result["usage"]
    assert max(waits) < 5, max(waits)
