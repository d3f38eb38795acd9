# SPDX-License-Identifier: Apache-2.0
"""Other providers on a systemd host with version 2 of control groups and with AppArmor: containers by
crun, runc and bubblewrap, and Podman, of root and of an ordinary user (rootless).

Podman's service is that of its package, with its usual settings and socket, except that it does not
end when nobody asks: under emulation it takes seconds to start.
"""

import base64
import json
import os
import pathlib
import signal
import subprocess

import pytest
from runs import AS, GROUPS, LIMITED, MEANS, finish, nothing_left, run, start  # noqa: F401
from service import IS_ROOT, SLOW, ask, wait_for

root = pytest.mark.root
MAY_MISS = ["userns", "proc", "timens", "overlay", "uidrange", "landlock", "notify"]
POLICIES = {
    "native": {},
    "crun": {"provider": "oci", "oci": {"runtime": "crun"}},
    "runc": {"provider": "oci", "oci": {"runtime": "runc"}},
    "bubblewrap": {"provider": "launcher", "launcher": {"name": "bubblewrap"}},
    # No path: the socket is found where Podman's unit has it.
    "podman": {"provider": "podman", "may_miss": MAY_MISS},
}
MAIN = ("crun", "podman")
LIMITS = {"cgroup-memory", "cgroup-pids", "cgroup-cpu"}
USER = [] if IS_ROOT else ["--user"]
RUNTIME = pathlib.Path("/run" if IS_ROOT else os.environ["XDG_RUNTIME_DIR"])
SOCKET = str(RUNTIME / "podman/podman.sock")
LONG = f"{30 * SLOW}s"
MARK = "4321"  # seconds that only the programs of these tests sleep
SLEEP = f"echo up; exec sleep {MARK}"
EXAMPLE = """
import sys
text = open('in.txt').read()
open('out/new', 'w').write(text * 2)
print(6 * 7)
print('err', file=sys.stderr)
sys.exit(3)
"""
FORKS = """
import os, time
for _ in range(40):
    if os.fork() == 0:
        time.sleep(60)
"""
PROFILE = """
profile brig-of-the-tests flags=(attach_disconnected,mediate_deleted) {
  capability, network, mount, remount, umount, pivot_root, ptrace, signal, unix, dbus, file,
  deny /**/forbidden rw,
}
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    place = tmp_path_factory.mktemp("config")
    (place / "policies").mkdir()
    for name, policy in POLICIES.items():
        path = place / "policies" / f"{name}.json"
        path.write_text(json.dumps({"extends": "default", **policy}))
        path.chmod(0o600)
    return place


def systemctl(*words):
    done = subprocess.run(["systemctl", *USER, *words], capture_output=True, text=True, check=False,
                          timeout=60 * SLOW)
    assert done.returncode == 0, (words, done.stderr)


def answers():
    try:
        return ask(SOCKET, "GET", "/v1.41/info")[0] == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def podman():
    """Of this user, as `systemctl [--user] start podman.socket` has it."""
    units = pathlib.Path("/run/systemd/system") if IS_ROOT else RUNTIME / "systemd/user"
    drop_in = units / "podman.service.d/test.conf"
    drop_in.parent.mkdir(parents=True, exist_ok=True)
    drop_in.write_text("[Service]\nExecStart=\nExecStart=/usr/bin/podman system service --time=0\n")
    systemctl("daemon-reload")
    systemctl("start", "podman.socket", "podman.service")
    wait_for(answers, "Podman's answer")
    yield
    systemctl("stop", "podman.socket", "podman.service")
    drop_in.unlink()
    systemctl("daemon-reload")


class Provider:
    def __init__(self, name, config):
        self.name = name
        self.words = ("--config", str(config), "--policy", name)
        # brig has the limits of all but a daemon, whose groups are always directories.
        self.means = "cgroup2" if name == "podman" else MEANS

    def start(self, *words, **more):
        return start(*self.words, *words, **more)

    def run(self, *words, **more):
        return run(*self.words, *words, **more)


def make(request):
    name = request.param
    if name == "podman":
        request.getfixturevalue("podman")
    return Provider(name, request.getfixturevalue("config"))


@pytest.fixture(params=[name for name in POLICIES if name != "native"])
def provider(request):
    return make(request)


@pytest.fixture(params=MAIN)
def main(request):
    return make(request)


def read(path):
    """Nothing, if it is gone meanwhile, or not for us."""
    try:
        return pathlib.Path(path).read_text().rstrip("\n\0")
    except OSError:
        return ""


def processes(wanted):
    return [int(entry.name) for entry in pathlib.Path("/proc").iterdir()
            if entry.name.isdigit() and wanted(entry)]


def programs():
    return processes(lambda entry: read(entry / "cmdline") == f"sleep\0{MARK}")


def is_ours(entry):
    """A process of a run: brig's, the runtime's, the program."""
    name = read(entry / "comm")
    return name.startswith("brig") or name in ("crun", "runc", "bwrap", "conmon", "sleep")


def containers():
    """Of Podman's service, also those that have ended; it is not there in each test."""
    return ask(SOCKET, "GET", "/v1.41/containers/json?all=1")[1] if answers() else []


def group_of(pid):
    return read(f"/proc/{pid}/cgroup").removeprefix("0::/")


@pytest.fixture(autouse=True)
def no_container_left(nothing_left):  # noqa: F811
    """Podman and systemd remove what they have made a moment after the run."""
    yield
    wait_for(lambda: not processes(is_ours), "the end of every process")
    wait_for(lambda: not list(GROUPS.rglob("libpod-*")), "the end of Podman's groups")
    if os.path.exists(SOCKET):
        wait_for(lambda: not containers(), "the end of every container")


def wait_for_program(brig):
    found = wait_for(lambda: programs() or brig.poll() is not None, "a program")
    assert found is not True, brig.communicate()
    return found[0]


def end(brig):
    brig.terminate()
    return finish(brig)


# --- a run ----------------------------------------------------------------------------------------


def test_the_acceptance_example(provider, tmp_path):
    (tmp_path / "in.txt").write_text("given")
    result = provider.run("--in", str(tmp_path / "in.txt"), "--timeout", LONG, "-c", EXAMPLE)
    assert (result["status"], result["exit_code"]) == ("failed", 3), result
    assert (result["stdout"], result["stderr"]) == ("42\n", "err\n"), result
    files = {one["path"]: base64.b64decode(one["content_base64"]) for one in result["files"]}
    assert files == {"out/new": b"givengiven"}
    assert LIMITS | {"pidns", "netns", "rootfs", "caps", "nnp", "seccomp"} <= set(result["layers"])
    assert {result["means"][limit] for limit in LIMITED} == {provider.means}, result


@pytest.mark.parametrize("words, status, limit", [
    (("--memory", "96M", "-c", "x = []\nwhile True: x.append(bytearray(8 << 20))"), "memory_limit", 96 << 20),
    (("--processes", "12", "-c", FORKS), "process_limit", 12),
    (("--timeout", "3s", "--lang", "bash", "-c", SLEEP), "timeout", 3000),
], ids=["memory", "processes", "wall"])
def test_a_limit_ends_a_run(main, words, status, limit):
    result = main.run("--timeout", LONG, *words)
    assert (result["status"], result["verdict"]["limit"]) == (status, limit), json.dumps(result)


def limits_of(group):
    """The least of each, in the group or above it: so the kernel has it."""
    found = {"memory.max": [], "memory.swap.max": [], "pids.max": [], "cpu.max": []}
    for place in (group, *group.parents):
        if GROUPS not in place.parents:
            break
        for name, values in found.items():
            words = read(place / name).split()
            if words and words[0] != "max":
                values.append(int(words[0]) / int(words[1] if name == "cpu.max" else 1))
    return {name: min(values, default=None) for name, values in found.items()}


def test_limits_as_the_kernel_has_them(main):
    brig = main.start("--timeout", LONG, "--memory", "99M", "--processes", "17", "--cpu", "0.5",
                      "--lang", "bash", "-c", SLEEP)
    pid = wait_for_program(brig)
    group, attached = group_of(pid), read(f"/proc/{pid}/status")
    limits = limits_of(GROUPS / group)
    users = pathlib.Path(f"/proc/{pid}/uid_map").read_text().split()
    result = end(brig)
    assert result["status"] == "cancelled", result
    assert limits["memory.max"] == 99 << 20 and limits["cpu.max"] == 0.5, (group, limits)
    assert 17 <= limits["pids.max"] <= 19, (group, limits)  # brig's own processes in it
    assert limits["memory.swap.max"] in (0, None), (group, limits)
    if main.name == "podman":
        assert "libpod-" in group
    owner = f"user@{os.geteuid()}.service"
    if AS == "user" or main.name == "podman":
        assert (owner in group) == (not IS_ROOT), group
    # Rootless: the program is a user of a namespace, with a subordinate id on the host.
    ids = next(line.split()[1:] for line in attached.splitlines() if line.startswith("Uid:"))
    assert "0" not in ids
    if main.name == "podman":
        assert (users == ["0", "0", "4294967295"]) == IS_ROOT, users
        assert (int(ids[0]) == 1000) == IS_ROOT, ids


def test_nothing_is_left_of_a_killed_brig(main):
    brig = main.start("--timeout", LONG, "--lang", "bash", "-c", SLEEP)
    pid = wait_for_program(brig)
    group = GROUPS / group_of(pid)
    brig.send_signal(signal.SIGKILL)
    brig.communicate()
    wait_for(lambda: not programs(), "the end of the program")
    # An empty group is removed by systemd, or by brig's next run.
    assert main.run("-c", "print(1)")["stdout"] == "1\n"
    wait_for(lambda: not group.exists(), "the end of its group")


# --- AppArmor -------------------------------------------------------------------------------------


def test_apparmor_is_on():
    assert read("/sys/module/apparmor/parameters/enabled") == "Y"
    assert "apparmor" in read("/sys/kernel/security/lsm").split(",")


@pytest.fixture(params=("native", *MAIN))
def confined(request):
    return make(request)


def test_the_profile_of_the_program(confined):
    """Podman has one for containers of root, and none for those of others."""
    brig = confined.start("--timeout", LONG, "--lang", "bash", "-c", SLEEP)
    pid = wait_for_program(brig)
    profile = read(f"/proc/{pid}/attr/current")
    assert end(brig)["status"] == "cancelled"
    if IS_ROOT and confined.name == "podman":
        assert profile.startswith("containers-default-") and profile.endswith(" (enforce)"), profile
    else:
        assert profile == "unconfined"


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    path = tmp_path_factory.mktemp("profile") / "profile"
    path.write_text(PROFILE)
    for option in ("--replace", "--remove"):
        subprocess.run(["apparmor_parser", "--skip-cache", option, path], check=True, timeout=30 * SLOW)
        if option == "--replace":
            yield "brig-of-the-tests"


@root
@pytest.mark.parametrize("name", ["native", "crun", "bubblewrap"])
def test_brig_in_a_profile(config, profile, name):
    """The operator's profile of brig is the program's too, and nothing of a run fails by it."""
    code = ("print(open('/proc/self/attr/current').read().strip())\n"
            "open('out/allowed', 'w').write('text')\n"
            "open('out/forbidden', 'w')")
    plain, bounded = (Provider(name, config).run("--timeout", LONG, "-c", code, prefix=prefix)
                      for prefix in ((), ("aa-exec", "-p", profile, "--")))
    assert (plain["status"], plain["stdout"]) == ("ok", "unconfined\n"), plain
    assert bounded["stdout"] == f"{profile} (enforce)\n", bounded
    assert (bounded["status"], "PermissionError" in bounded["stderr"]) == ("failed", True), bounded
    assert [one["path"] for one in bounded["files"]] == ["out/allowed"], bounded
    assert (bounded["layers"], bounded["means"]) == (plain["layers"], plain["means"])
