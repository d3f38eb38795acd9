# SPDX-License-Identifier: Apache-2.0
"""SecureSandbox and the older execute_code(): never an exception, always the same words."""

import brig
import pytest
from brig import legacy


@pytest.fixture(params=["unix", "spawn"])
def either(request, services):
    return brig.Client(**services.doors[request.param])


KEYS = {"stdout", "stderr", "exit_code", "execution_time", "status", "error_message"}


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
    # One second is the least that it waits.
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
    # Its state is lost, and that is told once; then there is a new one.
    assert run("1", "mine")["status"] == "setup_error"
    assert run("print('x' in globals())", "mine")["stdout"] == "False\n"
    legacy.close_session("mine")
    legacy.close_session("other")
