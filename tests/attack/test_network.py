# SPDX-License-Identifier: Apache-2.0
"""T1 to T8, T12: a cell has a loopback of its own and nothing else. tests/gate covers the rest."""

import contextlib
import json
import os
import select
import socket
import subprocess

import harness
import pytest
from aftermath import gone


@contextlib.contextmanager
def listeners():
    """TCP and UDP on every address of the host, on one port."""
    tcp = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    udp.bind(("::", port))
    with tcp, udp:
        yield port, lambda: len(select.select([tcp, udp], [], [], 0.2)[0])


def test_t1_host_loopback(attack):
    with listeners() as (port, visits):
        ways = [f"{kind}:{address}:{port}" for kind in ("tcp", "udp")
                for address in ("127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1", "::")]
        run = gone(attack.cell("t_reach", *ways))
        for way in ways:
            # A datagram goes to the cell's own loopback, where no socket listens.
            assert run[way] in ("ECONNREFUSED", "OK" if way.startswith("udp") else ""), way
        assert visits() == 0
        control = attack.bare("t_reach", *ways)
        assert [control[way] for way in ways] == ["OK"] * len(ways)
        assert visits() == 2


PLACES = ["1.1.1.1", "192.0.2.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
          "100.64.0.1", "fd00::1", "fd00:ec2::254", "2606:4700:4700::1111", "64:ff9b::a9fe:a9fe"]


def test_t2_routes(attack):
    ways = [f"route:{place}" for place in PLACES]
    run = gone(attack.cell("t_reach", *ways))
    assert [run[way] for way in ways] == ["ENETUNREACH"] * len(ways)
    # Control: where there is a loopback there is a route to it, outside and inside.
    assert attack.bare("t_reach", "route:127.0.0.1")["route:127.0.0.1"] == "OK"
    assert attack.cell("t_reach", "route:127.0.0.1")["route:127.0.0.1"] == "OK"


def test_t2_control(attack):
    """The address of the host, if it has one; a cell cannot see it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return  # a host without any route: there is no route that a cell could use
        own = probe.getsockname()[0]
    with listeners() as (port, visits):
        way = f"tcp:{own}:{port}"
        assert gone(attack.cell("t_reach", way))[way] == "ENETUNREACH"
        assert visits() == 0
        assert attack.bare("t_reach", way)[way] == "OK"
        assert visits() == 1


def test_t3_unix_sockets(attack, tmp_path):
    name = f"brig-t3-{os.getpid()}"
    short = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as abstract, socket.socket(socket.AF_UNIX) as path:
        abstract.bind("\0" + name)
        abstract.listen()
        os.chdir(tmp_path)
        path.bind("s")
        path.listen()
        os.chmod("s", 0o777)
        ways = [f"abstract:{name}", f"path:{short}", "path:/run/dbus/system_bus_socket",
                "path:/run/systemd/notify", "path:/var/run/docker.sock", "path:/dev/log"]
        run = gone(attack.cell("t_reach", *ways))
        assert run[ways[0]] in ("ECONNREFUSED", "EPERM")
        assert [run[way] for way in ways[1:]] == ["ENOENT"] * (len(ways) - 1)
        assert select.select([abstract, path], [], [], 0)[0] == []
        control = attack.bare("t_reach", ways[0], "path:s" if len(str(short)) > 100 else ways[1],
                              prefix=["env", "-C", tmp_path])
        assert list(control.said.values()) == ["OK", "OK"]


def test_t4_netlink(attack):
    run = gone(attack.cell("t4_netlink"))
    families = ["uevent", "audit", "netfilter", "diag", "xfrm", "connector", "generic"]
    for name in ["route", "interfaces", *families]:
        assert run[name] == "EAFNOSUPPORT", name
    assert run.denial["meaning"] == "socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)"
    control = attack.bare("t4_netlink")
    assert control["uevent"] == "OK" and control["generic"] == "OK"


def test_t4_netlink_by_policy(attack):
    """A policy may allow programs to list interfaces: the cell's own, and no others."""
    groups = ["@basic", "@file", "@process", "@thread", "@netlink", "@socket", "@ipc", "@dangerous"]
    run = gone(attack.cell("t4_netlink", options=attack.policy("links", syscalls=groups)))
    assert (run["route"], run["uevent"]) == ("OK", "EAFNOSUPPORT")
    assert (run["interfaces"], run["links"], run["neighbours"]) == ("lo", "1", "0")


def test_t4_programs_go_on(attack):
    """Names, servers and clients need no netlink; buffers that cannot grow are no error."""
    code = """
import asyncio, socket, urllib.request, http.server, threading
assert socket.getaddrinfo("localhost", 80, flags=socket.AI_ADDRCONFIG)
assert socket.if_nametoindex("lo") == 1
server = http.server.ThreadingHTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert urllib.request.urlopen(f"http://localhost:{server.server_port}/").status == 200
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    s = socket.socket(socket.AF_INET, kind)
    for name in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        before = s.getsockopt(socket.SOL_SOCKET, name)
        s.setsockopt(socket.SOL_SOCKET, name, 1 << 22)
        assert s.getsockopt(socket.SOL_SOCKET, name) == before
print("fine")
"""
    run = gone(attack.brig("--lang", "python", "-c", code))
    assert (run.result["status"], run.stdout, run.denial) == ("ok", "fine\n", {}), run


def test_t5_families(attack):
    run = gone(attack.cell("t5_families"))
    assert run.said == {"raw": "EPERM", "raw6": "EPERM", "ping": "EPERM", "sctp": "EPERM",
                        "packet": "EAFNOSUPPORT", "packet_dgram": "EAFNOSUPPORT",
                        "vsock": "EAFNOSUPPORT", "mptcp": "EPROTONOSUPPORT", "tcp": "OK"}
    control = attack.namespaced("t5_families")
    assert [control[name] for name in ("raw", "raw6", "packet")] == ["OK"] * 3


def test_t6_nothing_leaves(attack):
    group, port = "224.0.0.251", 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
        heard.bind(("", 0))
        port = heard.getsockname()[1]
        heard.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                         socket.inet_aton(group) + socket.inet_aton("127.0.0.1"))
        ways = [f"udp:{group}:{port}", f"udp:255.255.255.255:{port}", f"udp:192.0.2.255:{port}",
                f"udp:ff02::1:{port}", f"udp:fe80::1:{port}", f"udp:ff05::2:{port}"]
        run = gone(attack.cell("t_reach", *ways))
        assert {run[way] for way in ways} <= {"ENETUNREACH", "EINVAL", "EADDRNOTAVAIL"}, run
        assert select.select([heard], [], [], 0.1)[0] == []
        # Control: a plain process reaches the same listener through the group.
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
            out.sendto(b"hello", (group, port))
        assert select.select([heard], [], [], 2)[0] == [heard]


def test_t7_names(attack):
    """The only configured resolver, the cell's own, does not answer; and no query leaves."""
    servers = [line.split()[1] for line in harness.read("/etc/resolv.conf").splitlines()
               if line.startswith("nameserver") and "%" not in line]
    ways = [f"{kind}:{server}:53" for kind in ("udp", "tcp")
            for server in [*servers, "8.8.8.8"] if not server.startswith("127.")]
    run = gone(attack.cell("t_reach", "name:example.com", "name:_gateway", "name:host.local",
                           "name:metadata.google.internal", "name:localhost",
                           "tcp:127.0.0.53:53", "udp:127.0.0.53:53", *ways))
    assert run["name:localhost"] == "OK"
    for name in ("example.com", "_gateway", "host.local", "metadata.google.internal"):
        assert run[f"name:{name}"] == "no such name"
    assert {run[way] for way in ways} == {"ENETUNREACH"}
    assert run["tcp:127.0.0.53:53"] == "ECONNREFUSED"
    seen = attack.brig("--lang", "bash", "-c", "grep nameserver /etc/resolv.conf")
    assert (seen.result["status"], seen.stdout) == ("ok", "nameserver 127.0.0.53\n")
    # Control: the same query where the name is known.
    assert attack.bare("t_reach", "name:localhost")["name:localhost"] == "OK"


def test_t8_listening(attack, tmp_path):
    """A server in a cell is reachable neither for the host nor for a neighbour."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    meet = tmp_path / "meet"
    meet.mkdir()
    meet.chmod(0o777)
    ways = [f"tcp:127.0.0.1:{port}", f"tcp:::1:{port}", f"abstract:brig-t8-{port}"]
    server = attack.spawn("t8_listen", port, "1.5", options=["--rw", meet])
    harness.wait_for((meet / "up").exists)
    here = attack.bare("t_reach", *ways, f"udp:127.0.0.1:{port}")
    next_door = attack.cell("t_reach", *ways, f"udp:127.0.0.1:{port}")
    for run in (here, next_door):
        assert [run[way] for way in ways] == ["ECONNREFUSED"] * 3
    result = json.loads(server.communicate(timeout=20)[0])
    assert (result["status"], result["stdout"]) == ("ok", "listening=yes\nvisits=0\n")
    # Control: the same server outside gets a connection.
    (meet / "up").unlink()
    server = subprocess.Popen([harness.PYTHON, attack.program("t8_listen"), str(port), "3"],
                              env={**os.environ, "MEET": str(meet)}, text=True,
                              stdout=subprocess.PIPE)
    harness.wait_for((meet / "up").exists)
    assert attack.bare("t_reach", ways[0])[ways[0]] == "OK"
    assert server.communicate(timeout=10)[0] == "listening=yes\nvisits=1\n"


@pytest.mark.parametrize("value", ["all", "", "NONE", "none ", "*", [], ["example.com:443"],
                                   {"allow": "*"}, {"allow": [""]}, {"allow": ["a b"]},
                                   {"allow": ["10.0.0.1/8"]}, {"alow": []}, {"caller": "all"},
                                   None, True, 0, "host"])
def test_t12_malformed_network(attack, value):
    """A value that is neither "none" nor a list of hosts is an error, never a wider reading."""
    options = attack.policy("net", network=value)
    run = attack.brig(*options, "--", "/bin/true", check=False)
    assert run.result["error"]["code"] == "policy"
    assert "network" in run.result["error"]["message"]
    assert run.status != 0
    # Control: valid values.
    for good in ("none", {"allow": []}, {"allow": ["example.org:443"]}):
        assert attack.brig(*attack.policy("net", network=good), "--", "/bin/true").status == 0
