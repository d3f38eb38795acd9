# SPDX-License-Identifier: Apache-2.0
"""The guard by HTTP: the field of a request, of a session, and of the result."""


def test_a_refusal_is_a_result(unix):
    result = unix.run(code="x = 1\nimport os", guard="strict")
    assert result["status"] == "rejected" and result["exit_code"] is None
    assert result["verdict"]["refusal"]["line"] == 2
    assert unix.run(code="print(1)", guard="strict")["stdout"] == "1\n"


def test_a_check_runs_nothing(unix):
    result = unix.run(code="import os\nprint(1)", check=True)
    assert (result["status"], result["stdout"]) == ("ok", "")
    assert result["risk"]["score"] == 20
