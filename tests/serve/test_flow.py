# SPDX-License-Identifier: Apache-2.0
"""Programs that fill the connections between the roles: their own runs wait, and no role ends."""

import json
from pathlib import Path

import pytest
from conftest import wait_for

HOSTILE = Path(__file__).resolve().parent.parent / "programs" / "hostile"
LIMITS = {"wall_ms": 2000, "stdout_bytes": 1 << 20, "stderr_bytes": 1 << 20}


def hostile(name):
    return (HOSTILE / name).read_text()


def order(server, code, **more):
    answer = server.request("POST", "/v1/executions", {"code": code, "limits": LIMITS, **more})
    assert answer.status == 202, answer.body
    return answer.json()["id"]


def look(server, name):
    return server.request("GET", f"/v1/executions/{name}").json()


def ended(server, names):
    found = [look(server, name) for name in names]
    return None if any(one["status"] in ("queued", "running") for one in found) else found


def test_single_bytes_by_turns_end_no_role(server):
    """A record for each byte was more than the queue holds, which was taken for a death."""
    roles = server.roles()
    names = [order(server, hostile("packet_pipe.py")) for _ in range(8)]
    neighbour = server.request("POST", "/v1/execute", {"code": "print(6 * 7)"})
    assert neighbour.status == 200 and neighbour.json()["stdout"] == "42\n"
    for one in wait_for(lambda: ended(server, names), 120, "the runs' ends"):
        result = one["result"]
        assert one["status"] in ("ok", "timeout"), one
        assert set(result["stdout"]) == {"o"} and set(result["stderr"]) == {"e"}
        # Alternating: both streams have the same bytes.
        assert abs(len(result["stdout"]) - len(result["stderr"])) <= 1 or one["status"] == "timeout"
    assert server.roles() == roles and server.readies() == 1, server.log()


@pytest.mark.parametrize("reads", [True, False])
def test_single_bytes_all_come(server, reads):
    """Streamed or only in the result: none is missing."""
    roles = server.roles()
    code = hostile("packet_pipe.py").replace("200000", "3000")
    answer = server.request("POST", "/v1/execute", {"code": code, "stream": reads})
    if reads:
        told = [json.loads(line.removeprefix("data: "))
                for line in answer.body.decode().splitlines() if line.startswith("data: ")]
        assert told.pop()["status"] == "ok"
        text = "".join(one["data"] for one in told)
        # Pipes have no order between them, so only the counts are certain.
        assert (text.count("o"), text.count("e"), len(text)) == (3000, 3000, 6000)
    else:
        result = answer.json()
        assert result["status"] == "ok"
        assert (result["stdout"], result["stderr"]) == ("o" * 3000, "e" * 3000)
    assert server.roles() == roles, server.log()
