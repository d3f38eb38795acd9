# SPDX-License-Identifier: Apache-2.0
"""SIGTERM, a grace period, and SIGKILL: the program is notified, and cannot gain more by it."""

import pytest

TELLS = """
import os, signal, sys, time
def told(*_):
    os.write(1, b"told\\n")
    %s
signal.signal(signal.SIGTERM, told)
os.write(1, b"on\\n")
while True:
    %s
"""
STARTS = ["cold", "warm"]
TRIES = 5  # a busy host may not have printed "on" when the time is up
# Ends because of time, and their names.
TIMES = [("time.sleep(0.01)", "--timeout", "timeout"), ("pass", "--cpu-time", "cpu_limit")]


@pytest.fixture
def ended(result_of):
    """A run whose program had started when its time was up."""
    def run(*args):
        for _ in range(TRIES):
            result, _ = result_of(*args)
            if result["stdout"].startswith("on"):
                return result
        pytest.fail(f"it never came to its start: {result}")
    return run


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("loop, option, status", TIMES)
def test_the_program_is_told(ended, start, loop, option, status):
    code = TELLS % ("time.sleep(0.05); print('done', flush=True); sys.exit(0)", loop)
    result = ended("--start", start, option, "400ms", "--grace", "9s", "-c", code)
    assert (result["status"], result["exit_code"], result["stdout"]) == (status, None, "on\ntold\ndone\n")
    assert result["limits"]["grace_ms"] == 9000


@pytest.mark.parametrize("start", STARTS)
def test_without_a_time_of_grace_it_is_not(ended, start):
    result = ended("--start", start, "--timeout", "400ms", "-c", TELLS % ("pass", "time.sleep(0.01)"))
    assert (result["status"], result["stdout"]) == ("timeout", "on\n")
    assert result["limits"]["grace_ms"] == 0


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("wont", [
    "pass",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    # A child, a session of its own, another program in its place: none has more time.
    "os.fork() == 0 and os.setsid()",
    "os.execv('/bin/sh', ['sh', '-c', 'trap : TERM; while :; do :; done'])",
])
def test_it_cannot_have_more(ended, start, wont):
    code = TELLS % (wont, "time.sleep(0.01)")
    result = ended("--start", start, "--timeout", "400ms", "--grace", "300ms", "-c", code)
    assert (result["status"], result["exit_code"], result["signal"]) == ("timeout", None, None)
    assert result["stdout"].startswith("on\ntold\n")
    assert 700 <= result["usage"]["wall_ms"] < 8000


def test_the_rest_of_the_cell_ends_with_it(ended):
    code = TELLS % ("sys.exit(0)", "time.sleep(0.01)")
    orphan = "\nif os.fork() == 0:\n    os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(60)\n"
    code = code.replace("os.write(1, b\"on", orphan + "os.write(1, b\"on", 1)
    result = ended("--timeout", "400ms", "--grace", "9s", "-c", code)
    assert (result["status"], result["stdout"]) == ("timeout", "on\ntold\n")
    assert result["usage"]["wall_ms"] < 9000


def test_other_limits_hold_in_that_time(ended):
    """Output or usage above a limit during that time ends it at once; the verdict stays."""
    code = TELLS % ("print('x' * 100000, flush=True)", "time.sleep(0.01)")
    result = ended("--timeout", "400ms", "--grace", "9s", "--stdout", "1000", "-c", code)
    assert result["status"] == "timeout" and result["stdout_truncated"]
    assert result["usage"]["wall_ms"] < 9000
    code = TELLS % ("x = bytearray(200 << 20); time.sleep(60)", "time.sleep(0.01)")
    result = ended("--timeout", "400ms", "--grace", "9s", "--memory", "64M", "-c", code)
    assert result["status"] == "timeout" and result["usage"]["wall_ms"] < 9000


def test_any_program(ended):
    code = "trap 'echo told; exit 5' TERM; echo on; while :; do sleep 0.01; done"
    result = ended("--timeout", "400ms", "--grace", "9s", "--", "sh", "-c", code)
    assert (result["status"], result["stdout"], result["exit_code"]) == ("timeout", "on\ntold\n", None)


def test_a_default_action_ends_it(result_of):
    result, _ = result_of("--timeout", "400ms", "--grace", "9s", "-c", "import time; time.sleep(60)")
    assert (result["status"], result["signal"]) == ("timeout", None)
    assert result["usage"]["wall_ms"] < 9000


def test_the_policy_says_how_much(brig, result_of):
    refused = brig("run", "--grace", "11s", "-c", "print(1)")
    assert refused.returncode == 126 and b"above the ceiling of 10s" in refused.stderr
    result, _ = result_of("--grace", "11s", "--clamp", "-c", "print(1)")
    assert result["limits"]["grace_ms"] == 10000
    result, _ = result_of("--grace", "0", "-c", "print(1)")
    assert result["limits"]["grace_ms"] == 0


@pytest.mark.parametrize("given, got", [("400s", 300000), ("0.1ms", 1), ("20s", 20000)])
def test_clamp(result_of, given, got):
    result, _ = result_of("--timeout", given, "--clamp", "-c", "1")
    assert result["limits"]["wall_ms"] == got
