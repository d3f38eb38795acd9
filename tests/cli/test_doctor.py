# SPDX-License-Identifier: Apache-2.0
"""brig doctor: forms, exit status, hosts that lack features, nothing left behind."""
import ctypes
import json
import os
import pty
import re
import struct
import subprocess
import time

import pytest

from own import lasting, own_mounts, stale_group

BRIG = os.environ["BRIG"]
STATES = {"ok", "degraded", "missing"}
LAYERS = """userns pidns mntns netns ipcns utsns cgroupns timens rootfs overlay proc uidrange caps nnp
landlock seccomp notify keyring cgroup-memory cgroup-pids cgroup-cpu""".split()
# x86_64
CALLS = {
    "clone3": 435, "openat2": 437, "landlock_create_ruleset": 444, "fsopen": 430,
    "mount_setattr": 442, "seccomp": 317, "close_range": 436, "unshare": 272, "mount": 165,
    "keyctl": 250, "pidfd_open": 434, "pidfd_send_signal": 424,
}
ENOSYS, EPERM = 38, 1
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 38, 22


def hide(names, errnum):
    """For preexec_fn: makes the named system calls fail in the program and its children."""
    code = [(0x20, 0, 0, 0)]
    for name in names:
        code += [(0x15, 0, 1, CALLS[name]), (0x06, 0, 0, 0x00050000 | errnum)]
    code.append((0x06, 0, 0, 0x7FFF0000))
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)

    def apply(_text=text):  # the program points into it
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0) != 0:
            os._exit(99)
    return apply


def doctor(*args, names=(), errnum=ENOSYS, env=None):
    return subprocess.run(
        [BRIG, "doctor", *args], capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=hide(names, errnum) if names else None,
        env={**os.environ, **(env or {})})


def diagnose(*args, **options):
    done = doctor("--json", *args, **options)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert done.returncode == (0 if found["ok"] else 1)
    return found


def layer(found, name):
    return next(one for one in found["layers"] if one["name"] == name)


def call(found, name):
    return next(one for one in found["host"]["calls"] if one["name"] == name)


def test_json_is_whole():
    found = diagnose()
    assert [one["name"] for one in found["layers"]] == LAYERS
    assert found["policy"] == "default"
    assert found["kernel"] == os.uname().release
    for one in found["layers"]:
        assert set(one) == {"name", "state", "detail", "loss", "repair", "waived"}
        assert one["state"] in STATES
        assert one["loss"]
        if one["state"] == "ok":
            assert one["repair"] is None
        else:
            assert one["detail"] and one["repair"]
    wanted = [one for one in found["layers"] if one["state"] == "missing" and not one["waived"]]
    calls = [one for one in found["host"]["calls"]
             if one["state"] == "missing" and one["required"]]
    assert found["ok"] == (not wanted and not calls)
    assert [one["name"] for one in found["providers"]] == ["native", "local", "oci", "launcher", "gvisor", "vm",
                                                           "wasm", "docker", "podman"]
    for one in found["providers"]:
        assert set(one) == {"name", "state", "detail", "loss", "repair", "about", "abilities",
                            "layers"}
        if one["name"] == "native":  # the others need tools and time that a host may lack
            assert (one["state"] == "missing") == bool(calls)
        assert one["state"] == "ok" or one["detail"] and one["repair"]
    assert {"walls", "sessions"} <= set(found["providers"][0]["abilities"])
    assert found["providers"][1]["abilities"] == ["terminal", "venv"]
    assert found["host"]["uid"] == os.geteuid()
    assert found["host"]["cgroup"]["means"] in ("cgroup2", "cgroup1", "systemd-scope", "none")


def test_text_is_aligned_and_plain():
    done = doctor()
    assert "\033" not in done.stdout
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    for name in LAYERS:
        assert any(re.match(rf"{name} +(ok|degraded|missing) +\S", one) for one in lines), name
    assert re.match(r"(not )?ok: ", lines[-1])
    assert lines[-1].startswith("ok") == (done.returncode == 0)


def read_terminal(env):
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(BRIG, [BRIG, "doctor"], {**os.environ, "TERM": "xterm", **env})
    shown = b""
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(fd)
    os.waitpid(pid, 0)
    return shown


def test_colour_on_a_terminal_only():
    assert b"\033[32mok" in read_terminal({})
    assert b"\033" not in read_terminal({"NO_COLOR": "1"})
    assert b"\033" not in read_terminal({"TERM": "dumb"})


def test_usage():
    assert doctor("--help").returncode == 0
    for wrong in (["--nonsense"], ["operand"], ["--policy"], ["--policy", "no-such-policy"]):
        done = doctor(*wrong)
        assert done.returncode == 2, wrong
        assert done.stdout == ""
        assert done.stderr.startswith("brig: ")
    done = doctor("--json", "--policy", "no-such-policy")
    assert done.returncode == 2
    assert "error" in json.loads(done.stdout)


def test_without_cgroups_default_waives_and_strict_does_not():
    env = {"BRIG_NO_CGROUP": "1"}
    found = diagnose(env=env)
    for name in ("cgroup-memory", "cgroup-pids", "cgroup-cpu"):
        assert layer(found, name)["state"] == "missing"
        assert layer(found, name)["waived"]
    strict = diagnose("--policy", "strict", env=env)
    assert not strict["ok"]
    assert not layer(strict, "cgroup-memory")["waived"]
    assert doctor("--policy", "strict", env=env).returncode == 1


def test_local_policy_wants_no_layer():
    found = diagnose("--policy", "open", names=["unshare", "landlock_create_ruleset"])
    assert layer(found, "userns")["state"] == "missing"
    assert all(one["waived"] for one in found["layers"])
    assert found["ok"]


@pytest.mark.parametrize("errnum", [ENOSYS, EPERM])
@pytest.mark.parametrize("names, missing, fatal", [
    (["landlock_create_ruleset"], ["landlock"], False),
    (["seccomp"], ["seccomp", "notify"], True),
    (["fsopen"], ["rootfs", "overlay", "proc"], True),
    (["mount_setattr"], ["rootfs"], True),
    (["mount"], ["mntns", "rootfs", "overlay", "proc"], True),
    (["unshare"], ["userns", "timens"], True),
])
def test_missing_layers(names, missing, fatal, errnum):
    plain = diagnose()
    for name in missing:
        if layer(plain, name)["state"] == "missing":
            pytest.skip(f"this host has no {name} that could be hidden")
    found = diagnose(names=names, errnum=errnum)
    for name in missing:
        one = layer(found, name)
        assert one["state"] == "missing", one
        assert one["repair"], one
    assert found["host"]["seccomp"] == 2
    if fatal:
        assert not found["ok"]


@pytest.mark.parametrize("name, row, fatal", [
    ("clone3", "clone3", False),
    ("openat2", "openat2", False),
    ("close_range", "close_range", True),
    ("pidfd_open", "pidfd", True),
])
def test_missing_calls(name, row, fatal):
    found = diagnose(names=[name])
    assert call(found, row)["state"] == "missing"
    assert call(found, row)["required"] == fatal
    assert not (fatal and found["ok"])
    assert call(diagnose(), row)["state"] == "ok"


def test_everything_missing():
    start = time.monotonic()
    found = diagnose(names=list(CALLS))
    assert not found["ok"]
    assert time.monotonic() - start < 20
    done = doctor(names=list(CALLS))
    assert done.returncode == 1
    assert "provider native" in done.stdout.splitlines()[-1]
    for one in found["providers"]:
        if one["name"] not in ("docker", "podman"):  # their walls are a daemon's, which this host may have
            assert one["state"] == "missing" and "is missing" in one["detail"]


@pytest.mark.user
def test_ordinary_user_has_no_ids_of_its_own():
    found = diagnose()
    assert layer(found, "uidrange")["state"] == "missing"
    assert "root" in layer(found, "uidrange")["repair"]
    assert layer(found, "uidrange")["waived"]


@pytest.mark.root
def test_root_has_ids_of_its_own():
    assert layer(diagnose(), "uidrange")["state"] == "ok"


@pytest.mark.root
def test_masked_proc_is_named():
    script = f"mount -t tmpfs none /proc/fs && exec {BRIG} doctor --json"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                          timeout=60, check=False)
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert layer(found, "proc")["state"] == "missing"
    assert "systempaths=unconfined" in layer(found, "proc")["repair"]
    assert found["host"]["proc_mask"] == "/proc/fs"
    assert "proc" in [one["name"] for one in found["host"]["remarks"]]


def test_namespace_limit_is_named():
    script = f"echo 0 > /proc/sys/user/max_net_namespaces && exec {BRIG} doctor --json"
    done = subprocess.run(["unshare", "-Ur", "sh", "-c", script], capture_output=True, text=True,
                          timeout=60, check=False)
    found = json.loads(done.stdout)
    assert layer(found, "netns")["state"] == "missing"
    assert "user.max_net_namespaces" in layer(found, "netns")["repair"]
    assert found["host"]["user_namespace"]


def test_cells_are_made_ahead():
    """doctor has tried what it confirms: one cell of each language that can wait for code."""
    warm = {one["name"]: one for one in diagnose()["warm"]}
    assert warm.keys() == {"javascript", "python"}
    assert all(one["state"] == "ok" for one in warm.values()), warm
    assert diagnose("--policy", "open")["warm"] == []


BROKEN = """{"extensions": ["broken"], "source": "code.broken", "program": ["/bin/false"],
    "run": {"argv": ["{program}", "{source}", "{args}"]}, "closure": ["@libs"],
    "warm": {"driver": "node.js", "argv": ["{program}", "{driver}", "{source}"]}}"""


@pytest.mark.root  # the operator's runtimes belong to root
def test_cells_that_cannot_be_made_ahead(tmp_path):
    """An interpreter that ends instead of waiting: reported, in time, and no reason to
    refuse runs."""
    (tmp_path / "broken.json").write_text(BROKEN)
    script = """mount -t tmpfs tmpfs "$1"; mkdir "$1/upper" "$1/work"
        mount -t overlay -o "lowerdir=/etc,upperdir=$1/upper,workdir=$1/work" overlay /etc
        install -D -m 644 "$2" /etc/brig/runtimes/broken.json; shift 2; exec "$@" """
    (tmp_path / "layers").mkdir()
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh",
             tmp_path / "layers", tmp_path / "broken.json", BRIG, "doctor"]
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, timeout=60, check=True)
    warm = {one["name"]: one for one in json.loads(done.stdout)["warm"]}
    assert warm["python"]["state"] == "ok"
    assert warm["broken"]["state"] == "degraded" and "/bin/false" in warm["broken"]["detail"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert re.search("^warm broken +degraded ", done.stdout, re.MULTILINE)
    assert done.stdout.endswith(" requires; started cold each time: broken\n")


def children():
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
        return file.read().split()


def groups_of_doctor():
    """Control groups whose name ends with the probe's id, of doctors that have ended."""
    return [path for path, _, _ in os.walk("/sys/fs/cgroup")
            if "-doctor" in os.path.basename(path) and stale_group(path)]


def test_nothing_is_left(tmp_path):
    libc = ctypes.CDLL(None)
    assert libc.prctl(36, 1, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER: orphans become our children
    mounts = own_mounts(tmp_path)
    for delay in [None] + [i / 1000 for i in range(0, 60, 4)]:
        with subprocess.Popen([BRIG, "doctor"], stdout=subprocess.DEVNULL) as process:
            if delay is not None:
                time.sleep(delay)
                process.kill()
    deadline = time.monotonic() + 15
    while children() and time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        time.sleep(0.01)
    assert children() == []
    assert own_mounts(tmp_path) == mounts
    # A killed doctor leaves its group to the next one that starts, as a killed run does.
    doctor()
    assert not lasting(15, groups_of_doctor, between=doctor)
