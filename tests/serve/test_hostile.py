# SPDX-License-Identifier: Apache-2.0
"""Compromised roles: the messages that each can send to another, sent by the test on its
connection.

The connection is copied with pidfd_getfd(), which needs root. A role that receives a message that
is not in its table ends; the supervisor starts all anew, and no other message has been accepted.
"""

import array
import ctypes
import os
import select
import signal
import socket
import struct

import pytest

pytestmark = pytest.mark.root

GETFD = 438
FRONT_WARDEN, FRONT_LEDGER, WARDEN_FRONT, WARDEN_BROKER, LEDGER_FRONT = 5, 6, 5, 8, 5
MAP, DEVICES, WHOSE = 1, 2, 3


def steal(pid, number):
    """A copy of another process's descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    fd = libc.syscall(GETFD, pidfd, number, 0)
    os.close(pidfd)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return socket.socket(fileno=fd)


def said(kind, result=0, more=b"", fds=0):
    """A record of the warden to the broker, with this many descriptors."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * fds))] if fds else []
    return [struct.pack("=Ii", kind, result) + more], rights


def still_serves(server):
    answer = server.request("POST", "/v1/execute", {"code": "print(6 * 7)"})
    return answer.status == 200 and answer.json()["stdout"] == "42\n"


@pytest.fixture
def server(make_server):
    return make_server("--set", "restart.delay_max=50ms", "--set", "restart.limit=100").start()


def test_lines_of_sealed_roles_are_closed_to_others(server):
    """Control of the tests' own means: only root has them."""
    pid = os.fork()
    if pid == 0:
        os.setresgid(65533, 65533, 65533)
        os.setresuid(65533, 65533, 65533)
        try:
            steal(server.roles()["front"], FRONT_WARDEN)
        except (AssertionError, OSError):
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


LIES_TO_BROKER = {
    "map again": said(MAP), "unknown": said(9), "nothing": said(0), "with a result": said(DEVICES, 1),
    "longer": said(DEVICES, more=b"x"), "much longer": said(DEVICES, more=bytes(100000)),
    "short": ([b"\2"], []), "empty": ([b""], said(WHOSE, fds=1)[1]),
    "a descriptor too many": said(DEVICES, fds=1), "two": said(WHOSE, fds=2),
    "very many": said(WHOSE, fds=250), "none": said(WHOSE),
}


def test_the_warden_lies_to_the_broker(server):
    """The broker accepts three kinds of requests; a peer that sends another is dropped."""
    for times, (name, (parts, rights)) in enumerate(LIES_TO_BROKER.items(), 1):
        roles = server.roles()
        with steal(roles["warden"], WARDEN_BROKER) as line:
            line.sendmsg(parts, rights)
        server.wait_ready(times=times + 1)
        assert roles["broker"] not in server.roles().values(), name
    assert still_serves(server)
    assert server.log().count("role=broker event=failed") == len(LIES_TO_BROKER)


def test_the_warden_asks_the_broker_very_often(server):
    """Each request is over when it is answered: nothing accumulates in the broker."""
    roles = server.roles()
    fds = f"/proc/{roles['broker']}/fd"
    os.kill(roles["warden"], signal.SIGSTOP)
    with steal(roles["warden"], WARDEN_BROKER) as line:
        before = len(os.listdir(fds))
        for _ in range(1000):
            line.sendmsg(*said(DEVICES))
            select.select([line], [], [], 10)
            _, control, _, _ = line.recvmsg(8, 64)
            (made,) = array.array("i", control[0][2])
            nodes = sorted(os.listdir(f"/proc/self/fd/{made}"))
            os.close(made)
            line.sendmsg(*said(WHOSE, fds=1))
            select.select([line], [], [], 10)
            assert len(line.recv(8)) == 8
        assert nodes == ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout",
                         "urandom", "zero"]
        assert len(os.listdir(fds)) == before
    os.kill(roles["warden"], signal.SIGCONT)
    assert still_serves(server) and server.roles() == roles


def test_the_warden_does_not_listen_to_the_broker(server):
    """Answers that are not read: the broker does not wait, and so it ends."""
    roles = server.roles()
    os.kill(roles["warden"], signal.SIGSTOP)
    with steal(roles["warden"], WARDEN_BROKER) as line:
        try:
            for _ in range(100000):
                select.select([], [line], [], 10)
                line.sendmsg(*said(DEVICES))
        except OSError:
            pass
    os.kill(roles["warden"], signal.SIGCONT)
    server.wait_ready(times=2)
    assert still_serves(server)


NOISE = [b"\0", bytes(8), bytes(64), b"\xff" * 64, b"\xff" * 4096, os.urandom(64), bytes(60000)]


@pytest.mark.parametrize("liar, number, hearer", [
    ("front", FRONT_WARDEN, "warden"), ("front", FRONT_LEDGER, "ledger"),
    ("warden", WARDEN_FRONT, "front"), ("ledger", LEDGER_FRONT, "front"),
])
def test_noise_between_roles(server, liar, number, hearer):
    """An invalid record ends the role that sends it, and changes no data."""
    for times, noise in enumerate(NOISE, 1):
        roles = server.roles()
        with steal(roles[liar], number) as line:
            line.send(noise)
        server.wait_ready(times=times + 1)
        assert not set(roles.values()) & set(server.roles().values()), (hearer, noise[:8])
    assert still_serves(server)
    assert "Segmentation" not in server.log() and "signal=11" not in server.log()
    assert "signal=6" not in server.log() and "signal=31" not in server.log()
