# SPDX-License-Identifier: Apache-2.0
"""SecureSandbox and the older execute_code(): never an exception, always the same texts."""

import os
import subprocess

import brig
import pytest
from brig import legacy


@pytest.fixture(params=["unix", "spawn"])
def either(request, services):
    return brig.Client(**services.doors[request.param])


KEYS = {"stdout", "stderr", "exit_code", "execution_time", "status", "error_message", "error_code",
        "resource_usage", "limits_applied"}


def test_secure_sandbox(either):
    sandbox = brig.SecureSandbox(either)
    done = sandbox.execute("print('hi')")
    assert (done.status, done.output, done.error) == ("success", "hi\n", None)
    assert done["status"] == "success" and done.result.ok
    done = sandbox.execute("print('hi'); 1 / 0")
    assert (done.status, done.output) == ("error", "hi\n")
    assert done.error.endswith("ZeroDivisionError: division by zero")
    done = sandbox.execute("import time; time.sleep(60)", timeout=0.5)
    assert done.status == "timeout" and "did not end in time" in done.error
    done = brig.SecureSandbox(either, policy="none-such").execute("1")
    assert done.status == "error" and "none-such" in done.error
    with pytest.raises(KeyError):
        done["result"]


@pytest.mark.parametrize("code, stdin, status, exit_code, stdout", [
    ("print(input())", "in", "success", 0, "in\n"),
    ("import sys; sys.exit(4)", None, "execution_error", 4, ""),
    ("import os; os.kill(os.getpid(), 15)", None, "execution_error", 143, ""),
    ("import time; time.sleep(60)", None, "timeout", -1, ""),
])
def test_execute_code(either, code, stdin, status, exit_code, stdout):
    # It waits at least one second.
    timeout = 0.01 if "sleep" in code else 20
    done = legacy.execute_code("python", code, stdin, timeout, client=either)
    assert set(done) == KEYS
    assert (done["status"], done["exit_code"], done["stdout"]) == (status, exit_code, stdout)
    assert (done["error_message"] is None) == (status == "success")
    assert done["execution_time"] > (0.9 if status == "timeout" else 0)


def test_execute_code_that_cannot(either):
    done = legacy.execute_code("cobol", "x", client=either)
    assert set(done) == KEYS and (done["status"], done["exit_code"]) == ("setup_error", -1)
    assert "cobol" in done["error_message"]
    assert legacy.execute_code("c", "int main(", client=either)["status"] == "execution_error"


def test_execute_code_in_a_session(unix):
    def run(code, name):
        return legacy.execute_code("python", code, session_id=name, client=unix)

    assert run("x = 1", "mine")["status"] == "success"
    assert run("print(x)", "mine")["stdout"] == "1\n"
    other = run("print(x)", "other")
    assert other["status"] == "execution_error" and "NameError" in other["stderr"]
    run("import os; os._exit(0)", "mine")
    # Its state is lost, which is reported once; then there is a new one.
    assert run("1", "mine")["status"] == "setup_error"
    assert run("print('x' in globals())", "mine")["stdout"] == "False\n"
    legacy.close_session("mine")
    legacy.close_session("other")


EXAMPLE = """
import math
x = math.sqrt(16)
print(x)
"""


def test_as_its_document_has_it(services, monkeypatch):
    """By the class, with a dict."""
    monkeypatch.setenv("BRIG_URL", services.doors["unix"]["url"])
    result = brig.SecureSandbox.execute(EXAMPLE, timeout=2.0)
    assert isinstance(result, dict) and result == {"status": "success", "output": "4.0\n", "error": None}
    result = brig.SecureSandbox.execute("1 / 0")
    assert result["status"] == "error" and "ZeroDivisionError" in result["error"]
    assert legacy.execute_python_sandbox("print(6 * 7)") == "42\n"
    assert legacy.execute_python_sandbox("1 / 0").startswith("Error: ")


def has_strict():
    """It requires layers that a user without a group of their own lacks; root has them."""
    line = [os.environ["BRIG"], "run", "--policy", "strict", "-c", "1"]
    done = subprocess.run(line, capture_output=True, check=False)
    assert done.returncode == 0 or (os.geteuid() != 0 and b"wants the layer" in done.stderr), done
    return done.returncode == 0


def test_times_are_clamped(either):
    """Limited to the operator's maximum; SIGTERM comes first, and half a second later SIGKILL."""
    assert brig.SecureSandbox(either).execute("print(1)").result.limits["wall_ms"] == 5000
    done = brig.SecureSandbox(either).execute("print(1)", timeout=7)
    assert done.result.limits["wall_ms"] == 7000
    done = brig.SecureSandbox(either).execute("print(1)", timeout=1e6)
    assert done.status == "success" and done.result.limits["wall_ms"] == 300000
    assert done.result.limits["grace_ms"] == 500
    done = brig.SecureSandbox(either).execute("print(1)", timeout=-5)
    assert done.status in ("timeout", "success")  # a millisecond, the minimum
    done = brig.SecureSandbox(either, policy="strict").execute("print(1)", timeout=1e6)
    if has_strict():
        assert done.status == "success" and done.result.limits["wall_ms"] == 60000, done
    else:
        assert done.status == "error" and "layer" in done.error, done
    assert brig.SecureSandbox(either).execute("print(1)", timeout=float("nan")).status == "error"


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "a/b", "ü", "a\n"])
def test_names_of_sessions_are_checked(unix, name):
    done = legacy.execute_code("python", "print(1)", session_id=name, client=unix)
    assert (done["status"], done["error_code"]) == ("setup_error", "SANDBOX_SETUP_FAILED")
    assert "session_id" in done["error_message"]


def test_codes_and_figures(either):
    done = legacy.execute_code("cobol", "x", client=either)
    assert done["error_code"] == "UNSUPPORTED_LANGUAGE" and "python" in done["error_message"]
    assert done["error_message"].count("javascript") == 1, done
    assert done["resource_usage"] is None and done["limits_applied"] is None
    done = legacy.execute_code("python", "1 / 0", client=either)
    assert done["error_code"] == "RUNTIME_ERROR"
    done = legacy.execute_code("python", "while True: pass", timeout=1, client=either)
    assert done["error_code"] == "EXECUTION_TIMEOUT" and done["resource_usage"]["cpu_time"] > 0
    assert done["limits_applied"]["timeout_seconds"] == 1
    assert legacy.execute_code("python", " \n", client=either)["status"] == "setup_error"


def test_execution_limits(either):
    limits = legacy.ExecutionLimits(max_output_chars=10)
    assert (limits.timeout_seconds, limits.memory_mb, limits.cpu_cores) == (30, 256, 0.5)
    done = legacy.execute_code("python", "print('x' * 100)", limits=limits, client=either)
    assert done["stdout"] == "x" * 10 + "\n[output truncated]"
    assert done["limits_applied"] == {"timeout_seconds": 30, "memory_mb": 256, "cpu_cores": 0.5,
                                      "max_output_chars": 10}
    done = legacy.execute_code("python", "print('x' * 100001)", limits=legacy.ExecutionLimits(),
                               client=either)
    assert done["limits_applied"]["max_output_chars"] == 100000
    assert done["stdout"] == "x" * 100000 + "\n[output truncated]"
    for wrong in ({"timeout_seconds": 0}, {"timeout_seconds": 301}, {"memory_mb": 0},
                  {"cpu_cores": -1}, {"max_output_chars": 0}):
        with pytest.raises(ValueError):
            legacy.ExecutionLimits(**wrong)
    with pytest.raises(TypeError):
        legacy.ExecutionLimits(memory_mb="256")


def test_output_that_brig_cut_is_marked(either):
    done = legacy.execute_code("python", "print('x' * (2 << 20))", client=either)
    assert done["stdout"].endswith("x\n[output truncated]")
