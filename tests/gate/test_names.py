# SPDX-License-Identifier: Apache-2.0
"""T7, T10, T11: a name server of the attacker. For any reply, addresses are checked."""

import time

import pytest

PUBLIC, PRIVATE, METADATA = "93.184.216.34", "192.168.7.7", "169.254.169.254"
A, CNAME, AAAA = 1, 5, 28
NAME = "evil.test"

CODE = """
import socket
try:
    s = socket.create_connection(("evil.test", 7000), timeout=20)
    s.sendall(b"ping")
    print(s.recv(100).decode() or "closed")
except OSError as error:
    print(type(error).__name__)
"""


def chain(length, end):
    """evil.test is an alias of 1.test, that of 2.test, and so on."""
    names = [NAME, *(f"{i}.test" for i in range(1, length + 1))]
    return [[one, CNAME, 60, other] for one, other in zip(names, names[1:])] + [[names[-1], *end]]


REACHED = {
    "control": {"records": [[NAME, A, 60, PUBLIC]]},
    "alias": {"records": chain(1, [A, 60, PUBLIC])},
    "seven aliases": {"records": chain(7, [A, 60, PUBLIC])},
    "for ever": {"records": [[NAME, A, 0xffffffff, PUBLIC]]},
    "not at all": {"records": [[NAME, A, 0, PUBLIC]]},
    "private one first": {"records": [[NAME, A, 60, PRIVATE], [NAME, A, 60, PUBLIC]]},
}
REFUSED = {
    "alias of private": ({"records": chain(1, [A, 60, PRIVATE])}, "refused_address"),
    "alias of metadata": ({"records": chain(7, [A, 0, METADATA])}, "refused_address"),
    "alias of localhost": ({"records": chain(1, [A, 60, "127.0.0.1"])}, "refused_address"),
    "the gate's own": ({"records": [[NAME, A, 60, "198.18.0.1"]]}, "refused_address"),
    "any": ({"records": [[NAME, A, 60, "0.0.0.0"]]}, "refused_address"),
    "broadcast": ({"records": [[NAME, A, 60, "255.255.255.255"]]}, "refused_address"),
    "multicast": ({"records": [[NAME, A, 60, "224.0.0.1"], [NAME, AAAA, 60, "ff02::1"]]},
                  "refused_address"),
    "mapped": ({"records": [[NAME, AAAA, 60, "::ffff:192.168.7.7"]]}, "refused_address"),
    "compatible": ({"records": [[NAME, AAAA, 60, "::192.168.7.7"]]}, "refused_address"),
    "loopback": ({"records": [[NAME, AAAA, 60, "::1"]]}, "refused_address"),
    "somebody else's": ({"records": [["other.test", A, 60, PRIVATE], ["test", A, 60, PUBLIC]]},
                        "unresolved"),
    "itself": ({"records": [[NAME, CNAME, 60, NAME]]}, "unresolved"),
    "in a circle": ({"records": chain(1, [CNAME, 60, NAME])}, "unresolved"),
    "too many aliases": ({"records": chain(30, [A, 60, PUBLIC])}, "unresolved"),
    "more than there is": ({"records": [], "claims": 60000}, "unresolved"),
    "pointer to itself": ({"records": [], "claims": 1, "tail": "c01b" * 8}, "unresolved"),
    "pointer beyond": ({"records": [], "claims": 1, "tail": "ffff" * 8}, "unresolved"),
    "half a record": ({"records": [], "claims": 1, "tail": "c00c0001000100"}, "unresolved"),
    "long data": ({"records": [], "claims": 1, "tail": "c00c000100010000003cffff5db8d822"},
                  "unresolved"),
    "wide address": ({"records": [], "claims": 1, "tail": "c00c000100010000003c00055db8d82200"},
                     "unresolved"),
    "cut for ever": ({"records": [[NAME, A, 60, PUBLIC]], "cut": True}, "unresolved"),
}


@pytest.mark.parametrize("said", REACHED, ids=list(REACHED))
def test_names_that_are_reached(run, world, said):
    world.name(NAME, REACHED[said])
    assert run(CODE, f"{NAME}:7000")["stdout"] == "ping\n"
    assert [visit[0] for visit in world.visits()[0]] == ["::ffff:" + PUBLIC]


@pytest.mark.parametrize("said", REFUSED, ids=list(REFUSED))
def test_t11_names_that_are_not(run, world, said):
    answer, verdict = REFUSED[said]
    world.name(NAME, answer)
    begin = time.monotonic()
    result = run(CODE, f"{NAME}:7000")
    assert result["stdout"].strip() in ("closed", "ConnectionResetError"), result
    assert [entry["verdict"] for entry in result["network"]] == [verdict]
    assert world.visits()[0] == []
    assert time.monotonic() - begin < 30


def test_ttl_is_not_believed(run, world):
    """Nothing is cached: each connection goes to the current address of the name."""
    for address, reached in ((PUBLIC, "ping"), (PRIVATE, ""), (PUBLIC, "ping")):
        world.name(NAME, {"records": [[NAME, A, 0x7fffffff, address]]})
        assert ("ping" in run(CODE, f"{NAME}:7000")["stdout"]) == bool(reached)


def test_t10_one_name_however_it_is_written(run, world):
    """A dot at the end and capitals are the same name to DNS: the rule for it applies, and no
    other."""
    code = CODE.replace("evil.test", "{}")
    for spelling in ("PUBLIC.test", "public.test.", "Public.TEST."):
        result = run(code.format(spelling), "public.test:7000")
        assert result["stdout"] == "ping\n" and result["network"][0]["host"] == "public.test"
    result = run(code.format("public.test."), "other.test:7000")
    assert "ping" not in result["stdout"]
    assert result["network"][0]["verdict"] == "refused_name"
