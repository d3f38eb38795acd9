# SPDX-License-Identifier: Apache-2.0
"""The gate beneath the service: sessions, compromised gates, and the processes left at the end."""

import ctypes
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from conftest import BRIG, http_unix

POLICY = ('{"extends": "default", "network": {"allow": ["public.test:80,7000", "*.wild.test"],'
          ' "rate": 10000}}')


class Service:
    """`brig serve` on the host of the world; its socket is a file that all users can open."""

    def __init__(self, world):
        self.directory = tempfile.TemporaryDirectory(prefix="brig-gate-", dir="/tmp")
        base = self.base = Path(self.directory.name)
        base.chmod(0o711)
        (base / "config" / "policies").mkdir(parents=True)
        (base / "config").chmod(0o755)
        policy = base / "config" / "policies" / "net.json"
        policy.write_text(POLICY)
        policy.chmod(0o644)
        with open(base / "log", "wb") as log:
            self.process = subprocess.Popen(
                [*world.entering(), BRIG, "serve", "--listen", f"unix:{base}/s", "--state",
                 f"{base}/state", "--config", f"{base}/config", "--log-level", "info"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.wait(lambda: "role=supervisor event=ready" in self.log())

    def wait(self, condition, seconds=30):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end and self.process.poll() is None, self.log()
            time.sleep(0.05)

    def log(self):
        return (self.base / "log").read_text(errors="replace")

    def ask(self, method, path, body=None):
        return http_unix(f"{self.base}/s", method, path, body)

    def session(self, **fields):
        answer = self.ask("POST", "/v1/sessions", {"language": "python", "policy": "net", **fields})
        return answer["id"]

    def run(self, session, code):
        return self.ask("POST", f"/v1/sessions/{session}/execute", {"code": code})

    def gates(self):
        """Pids of the gates beneath it."""
        found, queue = [], [self.process.pid]
        while queue:
            pid = queue.pop()
            try:
                queue += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
                if Path(f"/proc/{pid}/comm").read_text() == "brig-gate\n":
                    found.append(pid)
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)
        self.directory.cleanup()


@pytest.fixture(scope="module")
def service(world):
    service = Service(world)
    yield service
    service.close()


CONNECT = """
import socket
for i in range({count}):
    try:
        s = socket.create_connection(("public.test", {port}), timeout=5)
        s.sendall(b"x"); s.recv(1); s.close()
    except OSError:
        pass
"""


def test_later_runs_of_a_session_are_told(service, world):
    """The gate cannot be silenced: after a flood, events are reported again."""
    session = service.session()
    first = service.run(session, CONNECT.format(count=300, port=7000))
    assert len(first["network"]) <= 128
    time.sleep(1)
    service.run(session, CONNECT.format(count=1, port=7000))
    time.sleep(0.5)
    told = service.run(session, "import socket\ntry: socket.gethostbyname('exfil.test')\nexcept OSError: pass")
    later = service.run(session, "print(1)")
    entries = told["network"] + later["network"]
    assert "exfil.test" in [entry["host"] for entry in entries], entries
    service.ask("DELETE", f"/v1/sessions/{session}")


# --- compromised gates ----------------------------------------------------------------------------

HOST, ADDRESS = 254, 48


def kinds():
    """The numbers of the records, from the header itself: a forged record must match today's
    warden."""
    header = (Path(__file__).parents[2] / "src/net/gate_messages.h").read_text()
    body = re.search(r"enum gate_kind \{(.*?)\};", header, re.S).group(1)
    return {name: number for number, name in enumerate(re.findall(r"\bGATE_(\w+)", body), 1)}


KINDS = kinds()


def connection(host=b"public.test", verdict=0, port=80, cause=0, address=b"1.2.3.4", end=b""):
    return struct.pack(f"=IIIIQQQQ{HOST}s{ADDRESS}s", KINDS["CONNECTION"], verdict, port, cause, 1, 2, 0,
                       3, host, address) + bytes(2) + end


def steal(pid, number):
    """A copy of another process's descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    fd = libc.syscall(438, pidfd, number, 0)
    os.close(pidfd)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    return socket.socket(fileno=fd)


LIES = {
    "short": connection()[:3], "unknown": struct.pack("=II", 99, 0), "size": connection(end=b"x"),
    "verdict": connection(verdict=77), "port": connection(port=65536),
    "newline": connection(host=b"a\nlevel=error role=warden event=forged"),
    "escape": connection(host=b"\x1b]0;x"), "space": connection(host=b"a b"),
    "endless": connection(host=b"a" * HOST), "address": connection(address=b"9" * ADDRESS),
    "bytes": connection(host=b"a\xff"), "orders": struct.pack("=II", KINDS["BEGIN"], 0),
    "early": struct.pack("=IIQQQ", KINDS["TOTAL"], 0, 0, 0, 0), "cause": connection(cause=77),
    "authority": struct.pack("=II", KINDS["AUTHORITY"], 0),
}


@pytest.mark.root
@pytest.mark.parametrize("lie", LIES, ids=list(LIES))
def test_a_gate_that_lies_ends_its_run_alone(service, lie):
    """As its gate, compromised from inside of the cell: the run is over, the next one is not
    affected."""
    bystander = service.session()
    before = set(service.gates())
    session = service.session()
    (gate,) = set(service.gates()) - before
    with steal(gate, 3) as line:
        line.send(LIES[lie])
    service.wait(lambda: service.ask("GET", f"/v1/sessions/{session}").get("state") != "idle")
    gone = service.run(session, "print(1)")
    assert gone.get("code") == "session_gone", gone
    assert service.run(bystander, "print(2)")["stdout"] == "2\n"
    assert "forged" not in service.log()
    service.wait(lambda: gate not in service.gates())
    service.ask("DELETE", f"/v1/sessions/{bystander}")


@pytest.mark.root
def test_a_gate_that_tells_the_truth_is_believed(service):
    """Control: the same connection, a correct record."""
    before = set(service.gates())
    session = service.session()
    (gate,) = set(service.gates()) - before
    with steal(gate, 3) as line:
        line.send(connection(host=b"control.test"))
    result = service.run(session, "print(1)")
    assert [entry["host"] for entry in result["network"]] == ["control.test"], result
    service.ask("DELETE", f"/v1/sessions/{session}")


# --- remaining processes --------------------------------------------------------------------------


def test_gates_go_with_their_sessions(service):
    service.wait(lambda: not service.gates())  # those of the earlier tests are on their way
    sessions = [service.session() for _ in range(3)]
    assert len(service.gates()) == 3
    for session in sessions:
        service.ask("DELETE", f"/v1/sessions/{session}")
    service.wait(lambda: not service.gates())


def test_gates_go_with_the_warden(world):
    service = Service(world)
    try:
        service.session()
        (gate,) = service.gates()
        (warden,) = [pid for pid in children_of(service.process.pid)
                     if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"brig-warden")]
        os.kill(warden, signal.SIGKILL)
        service.wait(lambda: not Path(f"/proc/{gate}").exists() or
                     Path(f"/proc/{gate}/stat").read_text().split()[2] == "Z")
    finally:
        service.close()


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_o4_names_do_not_write_the_log(service):
    """For any queries of a cell: one record for each event, and no name in more than one line."""
    session = service.session()
    code = """
import socket, struct
for name in (b"a\\nlevel=error event=forged", b"a\\x1b[2J", b"a event=forged x", b"a\\r\\nevent=forged",
             b"forged" + b"\\xff" * 40, b"=" * 60):
    query = b"\\1\\2\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + bytes([len(name)]) + name + b"\\4test\\0\\0\\1\\0\\1"
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(2)
    s.sendto(query, ("127.0.0.53", 53))
    try: s.recv(600)
    except OSError: pass
"""
    result = service.run(session, code)
    assert result["status"] == "ok" and "forged" not in json.dumps(result["network"]), result
    assert "forged" not in service.log()
    for line in service.log().splitlines():
        assert line.startswith("time=") and " role=" in line, line
    service.ask("DELETE", f"/v1/sessions/{session}")
