# SPDX-License-Identifier: Apache-2.0
"""A service with a victim and an attacker. After every test the victim's state is unchanged."""

import hashlib
from pathlib import Path

import pytest
from callers import House, quiet, serve

make_server = serve.make_server
TENANTS = [("alice",), ("mallory",)]


@pytest.fixture
def make_house(make_server):
    """make_house(*options, tokens=..., started=True)"""

    def make(*options, tokens=TENANTS, started=True, **kept):
        house = House(make_server, *options, tokens=tokens, **kept)
        return house.start() if started else house

    return make


@pytest.fixture(scope="module")
def house():
    """One for all tests of a file."""
    made = []

    def make(*options, **kept):
        made.append(serve.Server(*options, **kept))
        return made[-1]

    house = House(make, tokens=TENANTS).start()
    yield house
    server = house.server
    started, status, log = server.readies(), server.stop(), server.log()
    server.close()
    # After all attempts: no role has died, and all end in good order.
    assert started == 1 and status == 0, log


class Belongings:
    """The victim's belongings: a session with a secret in memory and in a file, and a result."""

    SECRET = "s3cr3t-of-alice"

    def __init__(self, client):
        self.client = client
        self.session = client.session()
        client.run_in(self.session, f"secret = {self.SECRET!r}")
        assert self.put().status == 204
        self.execution = client.run(f"print({self.SECRET!r} * 2000)")["id"]

    def put(self):
        return self.client.ask(
            "PUT", f"/v1/sessions/{self.session}/files/secret.txt", self.SECRET.encode()
        )

    def check(self):
        client = self.client
        assert client.run_in(self.session, "print(secret)")["stdout"] == self.SECRET + "\n"
        base = f"/v1/sessions/{self.session}/files"
        assert client.ask("GET", base + "/secret.txt").body == self.SECRET.encode()
        assert [f["path"] for f in client.ask("GET", base).json()["files"]] == ["secret.txt"]
        found = client.ask("GET", f"/v1/executions/{self.execution}").json()
        assert found["status"] == "ok" and found["result"]["stdout"].startswith(self.SECRET)


@pytest.fixture(scope="module")
def belongings(house):
    return Belongings(house.tcp("alice"))


@pytest.fixture
def alice(house):
    return house.tcp("alice")


@pytest.fixture
def mallory(house):
    return house.tcp("mallory")


@pytest.fixture(params=["token", "uid"])
def attacker(request, house):
    """Once with a token by TCP, once as a user of the unix socket."""
    return house.tcp("mallory") if request.param == "token" else house.unix()


@pytest.fixture(params=["tcp", "unix"])
def stranger(request, house):
    """A tenant who is no operator, by either way: it does not find executions of others."""
    return house.tcp("mallory") if request.param == "tcp" else house.unix("mallory")


@pytest.fixture(autouse=True)
def unharmed(request):
    """Around every test of a shared house."""
    host = {p: hashlib.sha256(Path(p).read_bytes()).digest() for p in ("/etc/passwd", "/etc/hosts")}
    shared = "house" in request.fixturenames
    house = request.getfixturevalue("house") if shared else None
    belongings = request.getfixturevalue("belongings") if shared else None
    roles = house.server.roles() if shared else None
    yield
    assert host == {p: hashlib.sha256(Path(p).read_bytes()).digest() for p in host}
    if shared:
        quiet(house.unix())
        assert house.server.roles() == roles, house.server.log()
        belongings.check()
