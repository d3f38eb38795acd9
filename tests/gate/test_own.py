# SPDX-License-Identifier: Apache-2.0
"""Every address of brig's own host is local, even if it is a public one."""

import pytest

OWN = ["first", "second", "whole", "mapped", "broadcast", "first6", "second6", "whole6"]
GET = """
import socket
try:
    s = socket.create_connection(({!r}, 8099), timeout=5)
    s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print(s.makefile().read().splitlines()[-1])
except (OSError, IndexError) as error:
    print(type(error).__name__)
"""


def verdicts(result):
    return [entry["verdict"] for entry in result["network"]]


@pytest.mark.parametrize("name", OWN)
def test_no_address_of_the_host_is_public(run, name):
    result = run(GET.format(f"{name}.own.test"), "*:8099")
    assert verdicts(result) == ["refused_address"], result
    assert "of this host" not in result["stdout"]


@pytest.mark.parametrize("rule", ["93.184.217.11:8099", "93.184.217.0/24:8099", "93.184.218.77:8099"])
def test_rules_for_addresses_need_the_word_as_well(run, rule):
    address = "93.184.218.77" if "218" in rule else "93.184.217.11"
    result = run(GET.format(address), rule)
    assert verdicts(result) == ["refused_address"], result
    result = run(GET.format(address), "local:" + rule)
    assert result["stdout"] == "of this host\n", result


@pytest.mark.parametrize("name", [name for name in OWN if name != "broadcast"])
def test_local_rule_reaches_them(run, name):
    result = run(GET.format(f"{name}.own.test"), f"local:{name}.own.test:8099")
    assert result["stdout"] == "of this host\n", result


def test_address_that_the_host_gets_later(run, world):
    world.name("later.test", ["93.184.217.40"])
    assert verdicts(run(GET.format("later.test"), "*:8099")) != ["refused_address"]
    world.host("ip addr add 93.184.217.40/24 dev w0")
    try:
        assert verdicts(run(GET.format("later.test"), "*:8099")) == ["refused_address"]
    finally:
        world.host("ip addr del 93.184.217.40/24 dev w0")


def test_where_there_is_no_way_nothing_is_refused(run, world):
    """The kernel's own refusals stay unchanged."""
    world.host("ip route add unreachable 93.184.219.0/24")
    world.host("ip route add prohibit 93.184.220.0/24")
    world.host("ip route add blackhole 93.184.221.0/24")
    try:
        for third in (219, 220, 221):
            world.name("noway.test", [f"93.184.{third}.1"])
            result = run(GET.format("noway.test"), "*:8099")
            assert verdicts(result) == ["unreachable"], (third, result)
    finally:
        for third in (219, 220, 221):
            world.host(f"ip route del 93.184.{third}.0/24")
