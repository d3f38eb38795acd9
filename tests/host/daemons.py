# SPDX-License-Identifier: Apache-2.0
"""Daemons of Docker and Podman for tests: each in directories of its own, with a socket of its own.

The host's own daemons, their data and their settings are not touched. The data of root's daemons
are in memory, and end with them. keeper.py ends all that it has started.
"""

import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = os.geteuid() == 0
KEEPER = str(pathlib.Path(__file__).parent / "keeper.py")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SECONDS = 90  # to start or to end, on a busy host
HYBRID = "/sys/fs/cgroup/unified"
PODMAN_SETTINGS = """[containers]
{containers}
[engine]
lock_type = "file"
events_logger = "none"
cgroup_manager = "cgroupfs"
[network]
network_config_dir = "{place}/net"
"""


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("daemon", timeout=SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(self.path)


def tool(kind):
    """dockerd or podman, also where an ordinary user's PATH does not lead."""
    return shutil.which({"docker": "dockerd"}.get(kind, kind), path=PATH)


def can_overlay(place):
    """May the data of a daemon be layers of overlayfs? Else each layer is a whole copy."""
    if not ROOT:
        return True  # tried by podman itself, in its user namespace
    script = ('mount -t tmpfs tmpfs "$0" && mkdir "$0/l" "$0/u" "$0/w" "$0/m" && '
              'mount -t overlay overlay -o lowerdir="$0/l",upperdir="$0/u",workdir="$0/w" "$0/m"')
    return subprocess.run(["unshare", "-m", "--propagation", "private", "sh", "-c", script, place],
                          capture_output=True, check=False).returncode == 0


class Daemon:
    """One daemon. Its socket's path is short: the kernel takes 107 bytes."""

    def __init__(self, kind, size="1g"):
        self.kind = kind
        self.place = pathlib.Path(tempfile.mkdtemp(prefix=f"{kind}-", dir="/tmp"))
        self.place.chmod(0o755)
        self.socket = str(self.place / "sock")
        self.log = self.place / "log"
        for name in ("data", "run", "home", "net", "tmp"):
            (self.place / name).mkdir()
        self.keeper = None
        self.size = size
        self.group = f"{self.place.name}.group"
        self.driver = "overlay" if can_overlay(self.place / "data") else "vfs"

    # --- its life ---------------------------------------------------------------------------------

    def command(self):
        return getattr(self, f"{self.kind}_command")()

    def docker_command(self):
        driver = "overlay2" if self.driver == "overlay" else self.driver
        (self.place / "daemon.json").write_text("{}")
        return [tool("docker"), "--config-file", str(self.place / "daemon.json"), "--bridge=none",
                "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
                f"--storage-driver={driver}", f"--cgroup-parent=/{self.group}",
                "--data-root", str(self.place / "data"), "--exec-root", str(self.place / "run"),
                "--pidfile", str(self.place / "pid"), "-H", f"unix://{self.socket}"]

    def podman_command(self):
        (self.place / "containers.conf").write_text(PODMAN_SETTINGS.format(place=self.place, containers=""))
        (self.place / "storage.conf").write_text(
            f'[storage]\ndriver = "{self.driver}"\nrunroot = "{self.place}/run"\n'
            f'graphroot = "{self.place}/data"\nrootless_storage_path = "{self.place}/data"\n')
        return [tool("podman"), "--root", str(self.place / "data"), "--runroot", str(self.place / "run"),
                "--tmpdir", str(self.place / "tmp"), "--storage-driver", self.driver,
                "--cgroup-manager=cgroupfs", "--runtime", "crun" if ROOT else "runc", "system", "service", "--time=0",
                f"unix://{self.socket}"]

    def environment(self):
        home = str(self.place / "home")
        return {"PATH": PATH, "HOME": home, "TMPDIR": str(self.place / "tmp"), "LANG": "C.UTF-8",
                "XDG_RUNTIME_DIR": str(self.place / "run"), "XDG_CONFIG_HOME": home,
                "XDG_DATA_HOME": home, "XDG_CACHE_HOME": home,
                "CONTAINERS_CONF": str(self.place / "containers.conf"),
                "CONTAINERS_STORAGE_CONF": str(self.place / "storage.conf")}

    def start(self):
        order = {"command": self.command(), "env": self.environment(), "log": str(self.log),
                 "tmpfs": {str(self.place / "data"): self.size, str(self.place / "run"): "64m",
                           str(self.place / "tmp"): "64m"},
                 "views": ["/run", "/var/lib"],
                 # crun refuses a host with both versions of control groups, if v2 has a controller;
                 # an ordinary user, who cannot hide it, has runc
                 "empty": [HYBRID] if self.kind == "podman" else [],
                 "groups": [self.group] if self.kind == "docker" else []}
        # pylint: disable=consider-using-with
        self.keeper = subprocess.Popen([sys.executable, KEEPER, json.dumps(order)], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            assert self.keeper.stdout.readline() == "started\n", "the keeper has ended"
            self.await_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def answers(self):
        try:
            return self.ask("GET", "/_ping")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def await_ready(self):
        deadline = time.monotonic() + SECONDS
        while not self.answers():
            assert time.monotonic() < deadline, f"{self.kind} did not start:\n{self.log.read_text()[-3000:]}"
            time.sleep(0.05)

    def tell(self, word):
        self.keeper.stdin.write(word + "\n")
        self.keeper.stdin.flush()
        assert self.keeper.stdout.readline() == "done\n"

    def kill(self):
        """SIGKILL, to the daemon alone: its containers go on."""
        self.tell("kill")

    def start_again(self):
        self.tell("start")
        self.await_ready()

    def stop(self):
        """Everything ends, in bounded time: keeper.py has deadlines."""
        if self.keeper:
            self.keeper.stdin.close()
            self.keeper.stdout.read()  # its end
            self.keeper.stdout.close()
            self.keeper.wait()
        self.remove()

    def remove(self):
        """An ordinary user's data has files of modes that hinder their own removal."""
        for directory, names, _ in os.walk(self.place):
            for name in names:
                if not os.path.islink(os.path.join(directory, name)):
                    os.chmod(os.path.join(directory, name), 0o700)
        shutil.rmtree(self.place)

    # --- its API ----------------------------------------------------------------------------------

    def ask(self, method, path, body=None, kind="application/json"):
        """The status, and the answer, which is JSON or text."""
        connection = Connection(self.socket)
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": kind} if data is not None else {})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text.decode(errors="replace")

    def containers(self, **filters):
        """Every one, also those that have ended: id -> labels."""
        query = urllib.parse.quote(json.dumps(filters))
        status, found = self.ask("GET", f"/v1.40/containers/json?all=1&filters={query}")
        assert status == 200, found
        return {one["Id"]: one["Labels"] or {} for one in found}

    def load(self, archive, name):
        """An image of one layer, from a tar."""
        status, answer = self.ask("POST", f"/v1.40/images/create?fromSrc=-&repo=localhost/{name}", archive,
                                  "application/x-tar")
        assert status == 200, answer

    def create(self, image, command, **host):
        """A container that is not brig's."""
        status, answer = self.ask("POST", "/v1.40/containers/create", {
            "Image": f"localhost/{image}", "Cmd": command, "Labels": {"mine": "1"},
            "HostConfig": {"NetworkMode": "none", "Ulimits": [
                {"Name": "nofile", "Soft": 256, "Hard": 256}, {"Name": "nproc", "Soft": 64, "Hard": 64}],
                           "LogConfig": {"Type": "none"}, **host}})
        assert status == 201, answer
        return answer["Id"]

    def inspect(self, name):
        status, answer = self.ask("GET", f"/v1.40/containers/{name}/json")
        return answer if status == 200 else None
