# SPDX-License-Identifier: Apache-2.0
"""`brig serve` in the guest: as the installed unit, in a shell, in a scope of its own."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time

BRIG = os.environ["BRIG"]
AS = os.environ["BRIG_VM_AS"]
TREE = pathlib.Path(os.environ["BRIG_TREE"])
SLOW = int(os.environ.get("BRIG_TEST_SLOW", "10"))
IS_ROOT = os.geteuid() == 0
GROUPS = pathlib.Path("/sys/fs/cgroup")
ROLES = ("front", "warden", "ledger") + (("broker",) if IS_ROOT else ())
PATIENCE_S = 12 * SLOW


def wait_for(condition, what, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"{what}: not within {seconds} s")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def ask(path, method, target, body=None):
    """(status, answer): one request on a connection of its own."""
    connection = UnixConnection(path)
    headers = {} if body is None else {"Content-Type": "application/json"}
    try:
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    return response.status, json.loads(text) if text else None


def groups():
    """Groups that brig has made, anywhere in the tree, except one that contains this process."""
    own = pathlib.Path("/proc/self/cgroup").read_text().strip().removeprefix("0::/")
    return sorted(path for path in GROUPS.rglob("brig*") if path.is_dir() and path != GROUPS / own
                  and path.name not in ("brig.service", "brig.socket"))


def read(path):
    """Its contents; nothing, when it is gone meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""


def children_of(pid):
    return [int(word) for word in read(pathlib.Path(f"/proc/{pid}/task/{pid}/children")).split()]


def is_alive(pid):
    words = read(pathlib.Path(f"/proc/{pid}/stat")).rsplit(")", 1)[-1].split()
    return bool(words) and words[0] not in "ZX"


class Service:
    """Common parts of all ways: .socket, .pid, ask(), run(), roles()."""

    socket = None
    means = "cgroup2"

    @property
    def pid(self):
        raise NotImplementedError

    def ask(self, method, target, body=None):
        return ask(self.socket, method, target, body)

    def run(self, code, language="python", **more):
        status, result = self.ask("POST", "/v1/execute",
                                  {"language": language, "code": code, **more})
        assert status == 200, result
        return result

    def roles(self):
        found = {}
        for pid in children_of(self.pid):
            words = read(pathlib.Path(f"/proc/{pid}/cmdline")).split("\0")
            if words[1:2] == ["--role"]:
                found[words[0].removeprefix("brig-")] = pid
        return found

    def wait_ready(self, other_than=()):
        """All roles are there, none of the old ones among them, and they answer."""

        def ready():
            roles = self.roles()
            return (sorted(roles) == sorted(ROLES) and not set(roles.values()) & set(other_than)
                    and self.ask("GET", "/v1/health")[0] == 200)

        wait_for(ready, "ready")

    def check_gone(self):
        wait_for(lambda: not groups(), f"no groups left {groups()}", 2 * SLOW)


class Shell(Service):
    """brig serve, started by hand; `prefix` puts it into a scope or similar."""

    def __init__(self, prefix=(), means=None):
        self.prefix = list(prefix)
        if means:
            self.means = means
        self.scratch = tempfile.TemporaryDirectory(prefix="brig-", dir="/tmp")
        self.dir = pathlib.Path(self.scratch.name)
        self.dir.chmod(0o711)
        self.socket = str(self.dir / "brig.sock")
        self.process = None

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return (self.dir / "log").read_text()

    def start(self):
        with open(self.dir / "log", "ab") as log:
            times = self.times_ready()
            self.process = subprocess.Popen(
                [*self.prefix, BRIG, "serve", "--listen", f"unix:{self.socket}",
                 "--state", self.dir / "state", "--log-level", "info"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for(lambda: self.times_ready() > times, "ready")
        return self

    def times_ready(self):
        return self.log().count("role=supervisor event=ready")

    def complaints(self):
        return [line for line in self.log().splitlines()
                if "level=warning" in line or "level=error" in line or "seal-missing" in line]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE_S) == 0, self.log()
        self.check_gone()

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.scratch.cleanup()


class Unit(Service):
    """The units of data/systemd, as make install would put them."""

    def __init__(self):
        if IS_ROOT:
            self.user, self.files = [], pathlib.Path("/run/systemd/system")
            self.socket = "/run/brig/brig.sock"
        else:
            self.user, self.files = ["--user"], pathlib.Path.home() / ".config/systemd/user"
            self.socket = f"{os.environ['XDG_RUNTIME_DIR']}/brig/brig.sock"
        self.files.mkdir(parents=True, exist_ok=True)
        for sort in ("service", "socket"):
            source = TREE / "data/systemd" / f"brig{'' if IS_ROOT else '-user'}.{sort}"
            text = source.read_text().replace("@BINDIR@", os.path.dirname(BRIG))
            (self.files / f"brig.{sort}").write_text(text)
        self.control("daemon-reload")

    def control(self, *words, check=True):
        done = subprocess.run(["systemctl", *self.user, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        assert not check or done.returncode == 0, (words, done.stderr, self.log())
        return done.stdout

    def show(self, name):
        return self.control("show", "brig.service", "--value", "-p", name).strip()

    @property
    def pid(self):
        return int(self.show("MainPID"))

    @property
    def group(self):
        return GROUPS / self.show("ControlGroup").removeprefix("/")

    def log(self):
        """Since its last start. Of root's manager only: a user may not read the journal."""
        command = ["journalctl", "-u", "brig", "-o", "cat", "--no-pager"]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return text[text.rfind("Starting brig.service"):]

    def complaints(self):
        words = ("level=warning", "level=error", "seal-missing")
        return [line for line in self.log().splitlines() if any(word in line for word in words)]

    def change(self, **settings):
        """A drop-in with these settings; none: without it."""
        folder = self.files / "brig.service.d"
        folder.mkdir(exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (folder / "test.conf").write_text("[Service]\n" + "".join(lines))
        self.control("daemon-reload")

    def start(self):
        """If it is not there yet."""
        self.control("start", "brig.socket", "brig.service")
        return self

    def stop(self):
        """The service; the socket stays, and would start it again."""
        self.control("stop", "brig.service")
        assert self.show("Result") == "success", self.log()
        self.check_gone()

    def close(self):
        self.control("stop", "brig.socket", "brig.service")
