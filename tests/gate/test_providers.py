# SPDX-License-Identifier: Apache-2.0
"""The gate with every provider that has a network: the core of the other tests in this folder."""

import json
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "host"))

import machines  # noqa: E402

PROVIDERS = {
    "oci-crun": {"provider": "oci", "oci": {"runtime": "crun"}},
    "oci-runc": {"provider": "oci", "oci": {"runtime": "runc"}},
    "launcher-bubblewrap": {"provider": "launcher", "launcher": {"name": "bubblewrap"}},
    "gvisor": {"provider": "gvisor"},
    "vm": {"provider": "vm", "limits": {"wall": "2m"}},
}
# In `make test` these have the tests of CORE, and every one with BRIG_ALL_PROVIDERS=1.
SLOW = ("gvisor", "vm")
CORE = {"gvisor": ("test_allowed_and_others", "test_special_addresses", "test_bytes",
                   "test_opened", "test_no_gate_no_network", "test_nothing_but_the_gate"),
        "vm": ("test_allowed_and_others", "test_nothing_but_the_gate")}
GET = """
import urllib.request as u
for url in {urls!r}:
    try: print(u.urlopen(url, timeout=10).read().decode()[:{most}])
    except OSError as error: print(type(error).__name__)
"""
TALK = """
import socket
kept = []
for i in range(6):
    try:
        s = socket.create_connection(("public.test", 7000), timeout=5)
        s.sendall(b"x")
        print(s.recv(1).decode() or "closed", end=" ")
        kept.append(s)
    except OSError as error:
        print(type(error).__name__, end=" ")
"""


def get(*urls, most=4000):
    return GET.format(urls=urls, most=most)


class Networked:
    """A policy of one provider, with these rules."""

    def __init__(self, name, run, directory):
        self.name, self.runner, self.directory = name, run, directory
        directory.chmod(0o755)
        (directory / "policies").mkdir()
        self.machine, self.slow = {}, name in SLOW
        if name == "vm":
            machines.write_languages(directory)
            self.machine = {"vm": {"accel": "tcg", "kernel": machines.kernel()}}

    def run(self, code, *hosts, network=None, options=(), **more):
        policy = {"extends": "default", **PROVIDERS[self.name], **self.machine}
        if network is not None:
            policy["network"] = network
        (self.directory / "policies" / "net.json").write_text(json.dumps(policy))
        more.setdefault("timeout", 300 if self.slow else 60)
        result = self.runner(code, *hosts, options=[
            "--config", str(self.directory), "--policy", "net", *options], **more)
        assert result.get("provider") == self.name.partition("-")[0], result
        return result


def pytest_generate_tests(metafunc):
    if "networked" not in metafunc.fixturenames:
        return
    name, every = metafunc.function.__name__, os.environ.get("BRIG_ALL_PROVIDERS")
    wanted = [one for one in PROVIDERS if every or name in CORE.get(one, (name,))]
    metafunc.parametrize("networked", wanted, indirect=True)


@pytest.fixture
def networked(request, run, tmp_path):
    return Networked(request.param, run, tmp_path)


def verdicts(result):
    return [(entry["host"], entry["verdict"]) for entry in result["network"]]


def test_allowed_and_others(networked, world):
    result = networked.run(get("http://public.test/x", "http://other.test/", "http://private.test/",
                               "http://93.184.216.35/"), "public.test")
    lines = result["stdout"].splitlines()
    assert json.loads(lines[0])["headers"]["Host"] == "public.test"
    assert all(line.endswith("Error") for line in lines[1:]) and len(lines) == 4, lines
    assert ("public.test", "allowed") in verdicts(result)
    assert any(one["kind"] == "connection.refused" for one in result["events"]), result["events"]
    assert {visit[0] for visit in world.visits()[0]} == {"::ffff:93.184.216.34"}


def test_special_addresses(networked, world):
    """Names that are allowed, with addresses that are not."""
    names = ["private.test", "loop.test", "meta.test", "mapped.test", "linklocal.test"]
    result = networked.run(get(*(f"http://{name}/" for name in names)), *names)
    assert result["stdout"].split() == ["HTTPError"] * len(names), result
    assert verdicts(result) == [(name, "refused_address") for name in names]
    assert world.visits()[0] == []


def test_no_gate_no_network(networked, world):
    result = networked.run(get("http://public.test/", "http://93.184.216.34/"))
    assert result["stdout"] == "URLError\nURLError\n" and "network" not in result
    assert result["means"]["net"] == "netns" and result["usage"]["net_bytes"] == 0
    assert world.visits() == ([], [])


def test_bytes(networked):
    code = get("http://public.test/bytes/3000000", most=5)
    result = networked.run(code, "public.test", options=["--net-bytes", "1M"])
    assert result["status"] == "network_limit", result
    assert result["verdict"]["limit"] == result["usage"]["net_bytes"] == 1 << 20
    result = networked.run(code, "public.test", options=["--net-bytes", "4M"])
    assert result["stdout"] == "xxxxx\n" and result["usage"]["net_bytes"] > 3000000


@pytest.mark.parametrize("rule, allowed", [("connections", 2), ("connections_total", 3), ("rate", 4)])
def test_connections(networked, rule, allowed):
    result = networked.run(TALK, network={"allow": ["public.test:7000"], rule: allowed})
    refused = [verdict for _, verdict in verdicts(result)].count("refused_count")
    assert result["stdout"].split().count("x") == 6 - refused
    # In a slow cell six connections take so long that one more is allowed meanwhile.
    assert refused == 6 - allowed or rule == "rate" and networked.slow and refused < 6 - allowed


def test_both_families(networked):
    result = networked.run(get("http://six.test/"), "six.test")
    assert json.loads(result["stdout"])["at"] == "2606:2800:220:1::34", result


def test_certificates(networked, world):
    """The host's list of authorities is in the cell, if the cell has a network."""
    code = "import os; print(os.path.getsize('/etc/ssl/certs/ca-certificates.crt') > 1000)"
    assert networked.run(code, "public.test")["stdout"] == "True\n"


def images_with(text):
    """Of the images that machines have: others may make some beside."""
    cache = pathlib.Path("/var/cache/brig/vm") if os.geteuid() == 0 else \
        pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.environ["HOME"] + "/.cache"), "brig", "vm")
    found = []
    for path in cache.glob("root-*"):
        try:
            found += [path] if text in path.read_bytes() else []
        except FileNotFoundError:
            continue
    return found


def test_opened(networked, world):
    """TLS that the gate opens: the cell trusts its authority, and never has the credential."""
    token = networked.directory / "token"
    token.write_text("Bearer of-the-operator\n")
    credential = {"host": "api.test", "header": "Authorization", "file": str(token),
                  "tls": "open", "authorities": str(world.directory / "ca.pem")}
    authority = "\nimport os; print(open(os.environ['SSL_CERT_FILE']).read().split()[-5])"
    result = networked.run(get("https://api.test/x") + authority,
                           network={"allow": ["api.test"], "credentials": [credential]})
    answer, line = result["stdout"].splitlines()
    assert json.loads(answer)["headers"]["Authorization"] == "Bearer of-the-operator"
    # The image of a machine has the authority of its run, and serves no other.
    assert len(line) == 64 and not images_with(line.encode()), line


def test_nothing_but_the_gate(networked):
    """No device but the loopback, no right to make one, and no socket of the gate's in the cell."""
    code = """
import os, socket
print([line.split(":")[0].strip() for line in open("/proc/self/net/dev")][2:3])
print([n for n in range(3, 100) if os.path.exists(f"/proc/self/fd/{n}")])
for kind in (socket.AF_PACKET, socket.AF_INET):
    try: socket.socket(kind, socket.SOCK_RAW, 1); print("raw")
    except OSError: print("refused")
"""
    result = networked.run(code, "public.test")
    assert result["stdout"] == "['lo']\n[]\nrefused\nrefused\n", result

