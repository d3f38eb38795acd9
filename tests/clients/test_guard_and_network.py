# SPDX-License-Identifier: Apache-2.0
"""guard and network, typed in and typed out, by every way of access and for asyncio."""

import asyncio
import socket
import threading

import brig
import pytest
from brig.request import RunOptions, SessionOptions
from conftest import DOORS


@pytest.fixture
def listener():
    """A port of this host that sends hello to each client."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            connection.sendall(b"hello")
            connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)


def test_guard(client):
    result = client.execute("x = 1\nimport socket", guard="imports")
    assert result.status == "rejected"
    refusal = result.verdict.refusal
    assert isinstance(refusal, brig.Refusal) and (refusal.rule, refusal.line) == ("import", 2)
    assert "socket" in refusal.reason and refusal.reason in result.why
    plain = client.execute("import socket")
    assert plain.ok and plain.verdict.refusal is None and plain.network == []
    with pytest.raises(brig.Problem, match="guard"):
        client.execute("1", guard="bogus")


def test_risk(unix):
    risk = unix.execute("import subprocess", more={"check": True}).risk
    assert isinstance(risk, brig.Risk) and risk.score > 0 and risk.reasons


def test_provider(client):
    """One that the policy names is taken; any other is refused."""
    assert client.execute("1", provider="native").provider == "native"
    with pytest.raises(brig.Problem, match="does not allow the provider local"):
        client.execute("1", provider="local")


def test_venv(client):
    """One that does not exist, or that the policy does not list."""
    with pytest.raises(brig.Problem, match="virtualenv .*no-such"):
        client.execute("1", venv="no-such")


def test_guard_of_a_session(served):
    with served.session(guard="strict", idle_timeout=60) as session:
        assert session.run("import os").status == "rejected"
        assert session.run("n = 2").ok and session.run("n").value == 2
    with pytest.raises(TypeError, match="stdin"):
        served.session(stdin="x")


def test_network_is_the_policys(served):
    """Runs of the service get the hosts that the policy lists, and the default lists none."""
    with pytest.raises(brig.Problem, match="policy_forbids"):
        served.execute("1", network=["example.org"])
    assert served.execute("1", network=[]).ok
    with pytest.raises(TypeError, match="list"):
        served.execute("1", network="example.org")


def test_network_of_the_caller(services, listener):
    client = brig.Client(**services.doors["spawn"])
    code = (f"import socket\ns = socket.create_connection(('127.0.0.1', {listener}))\n"
            "print(s.recv(9).decode())")
    result = client.execute(code, network=[f"local:127.0.0.1:{listener}"],
                            limits={"net_bytes": 1 << 20})
    assert (result.status, result.stdout) == ("ok", "hello\n")
    (connection,) = result.network
    assert isinstance(connection, brig.Connection)
    assert (connection.host, connection.port, connection.verdict) == (
        "127.0.0.1", listener, "allowed")
    assert connection.bytes_down == 5
    assert not client.execute(code).ok
    with pytest.raises(brig.NeedsService):
        client.execute(code, network=[])
    with pytest.raises(TypeError, match="list"):
        client.execute(code, network="example.org")


@pytest.mark.parametrize("door", DOORS)
def test_asyncio(services, door):
    async def work():
        client = brig.AsyncClient(**services.doors[door])
        result = await client.execute("import socket", guard="imports")
        assert result.verdict.refusal.rule == "import"
        if door != "spawn":
            async with await client.session(guard="imports") as session:
                assert (await session.run("import socket")).status == "rejected"
                fork = await session.fork()
                assert (await fork.run("import socket")).status == "rejected"
                await fork.close()

    asyncio.run(asyncio.wait_for(work(), 60))


def test_sandbox_takes_them(services):
    sandbox = brig.SecureSandbox(brig.Client(**services.doors["unix"]), guard="imports")
    done = sandbox.execute("import subprocess")
    assert done.status == "error" and "subprocess" in done.error
    assert sandbox.execute("print(1)").output == "1\n"


def test_types():
    for options in (RunOptions, SessionOptions):
        assert {"guard", "network", "policy", "limits"} <= set(options.__annotations__)
