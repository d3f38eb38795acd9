# SPDX-License-Identifier: Apache-2.0
"""gVisor's kernel: what only it holds, its settings, and its bad days."""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

import own
from conftest import BRIG, POLICIES, ROOT, Provider
from test_bad_days import alone, arguments, bin_dir, reap, sleepers, start, wait_for  # pylint: disable=unused-import

GVISOR = POLICIES["gvisor"]


@pytest.fixture
def gvisor(config, schema):
    return Provider("gvisor", config, schema)


def policy_of(**settings):
    return {**GVISOR, "gvisor": settings}


def fake(path, script):
    program = path / "runsc"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


# --- the kernel -----------------------------------------------------------------------------------


def test_proc_shows_nothing_of_the_host(gvisor):
    """The layer `proc`: its files are those of gVisor's kernel."""
    code = ("import json\n"
            "names = ('version', 'meminfo', 'loadavg', 'uptime', 'mounts', 'cmdline', 'stat')\n"
            "print(json.dumps({n: open('/proc/' + n).read() for n in names}))")
    seen = json.loads(gvisor.python(code, "--memory", "300M")["stdout"])
    host = {name: pathlib.Path("/proc", name).read_text() for name in seen}
    assert seen["meminfo"].split()[1] == str(300 << 10) != host["meminfo"].split()[1]
    assert seen["version"] != host["version"] and seen["cmdline"] != host["cmdline"]
    assert os.uname().release not in seen["version"]
    assert [float(part) for part in seen["loadavg"].split()[:3]] == [0, 0, 0]
    assert float(seen["uptime"].split()[0]) < 60
    assert set(seen["stat"].split("\n", 1)[0].split()[1:]) == {"0"}
    for line in seen["mounts"].splitlines():
        assert line.split()[0] in ("none", "tmpfs", "proc") and ".brig" not in line, line


def test_own_boot_time(gvisor):
    """The layer `timens`."""
    result = gvisor.python("import time; print(time.clock_gettime(time.CLOCK_BOOTTIME), "
                           "time.clock_gettime(time.CLOCK_MONOTONIC))")
    assert all(float(one) < 60 for one in result["stdout"].split())


LOCK = ("import fcntl, sys, time\nf = open(sys.argv[1])\n"
        "try: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); print('locked', flush=True)\n"
        "except OSError: print('refused', flush=True)\n")


def test_locks_reach_neither_host_nor_cell(gvisor):
    """The layer `overlay`: programs of the host's kernel signal each other by locks."""
    shared = f"/usr/lib/python3.{sys.version_info[1]}/os.py"
    with open(shared, encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # other tests may have the same lock
        outside = subprocess.run([sys.executable, "-c", LOCK, shared], capture_output=True, check=True)
        assert outside.stdout == b"refused\n"
        with subprocess.Popen(gvisor.words("--lang", "python", "-c", LOCK + "time.sleep(60)", "--",
                                           shared), stdout=subprocess.PIPE) as first:
            try:
                assert first.stdout.readline() == b"locked\n"
                result = gvisor.result("--lang", "python", "-c", LOCK, "--", shared)
                assert result["stdout"] == "locked\n"
            finally:
                first.kill()


@pytest.mark.parametrize("name, answer", [("gvisor", "refused\n"), ("oci-crun", "through\n")])
def test_sockets_of_mounted_directories(config, schema, tmp_path, name, answer):
    """A socket of the host in a directory of the host."""
    place = tmp_path / "d"
    place.mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "s"))
        server.listen()
        os.chmod(place / "s", 0o777)
        code = ("import socket\ns = socket.socket(socket.AF_UNIX)\n"
                "try: s.connect('/mnt/d/s'); print('through')\nexcept OSError: print('refused')")
        result = Provider(name, config, schema).python(code, "--rw", f"d={place}")
        assert result["stdout"] == answer, result


def test_devices_and_sysfs_are_its_own(gvisor):
    code = """
import os
print(sorted(os.listdir('/dev')))
def changed(path):
    try:
        with open(path, 'r+') as f: f.write('1')
        return True
    except OSError:
        return False
print([p for p, _, fs in os.walk('/sys') for f in fs if changed(os.path.join(p, f))])
print([os.path.join('/proc/sys/kernel', n) for n in os.listdir('/proc/sys/kernel')
       if n in ('core_pattern', 'modprobe', 'hotplug')])
"""
    devices, written, keys = gvisor.python(code)["stdout"].splitlines()
    assert "kvm" not in devices and "sda" not in devices and "mem" not in devices
    # As an ordinary user it owns a file of the sentry's; on the host this is a directory.
    assert written in ("[]", "['/sys/class/net/lo']") and keys == "[]"


def test_devices_are_open_and_dev_is_not(gvisor):
    """gVisor refuses to open devices for writing where /dev is read-only: it is not, but belongs to nobody."""
    code = """
import os, subprocess
subprocess.run(['/bin/sh', '-c', 'echo lost > /dev/null && exec 2>/dev/null'], stdin=subprocess.DEVNULL, check=True)
def allowed(do, *args):
    try: do(*args)
    except OSError: return False
    return True
print([allowed(os.mkdir, '/dev/d'), allowed(os.remove, '/dev/null'), allowed(os.chmod, '/dev', 0o777),
       allowed(os.rename, '/dev/zero', '/dev/z'), allowed(os.symlink, '/bin', '/dev/l')])
print([p for p, _, _ in os.walk('/dev') if os.access(p, os.W_OK) and not p.startswith('/dev/shm')])
"""
    assert gvisor.python(code)["stdout"] == "[False, False, False, False, False]\n[]\n"


def test_the_agent_keeps_no_capability(gvisor):
    """As an ordinary user it begins with two."""
    lines = gvisor.python("print(open('/proc/1/status').read())")["stdout"].splitlines()
    values = {line.split()[0]: int(line.split()[1], 16) for line in lines if line.startswith("Cap")}
    assert len(values) >= 4 and not any(values.values()), values


def test_the_kernel_is_confined_on_the_host(gvisor, alone):
    """The sentry: no user of the host's, namespaces of its own, behind a filter."""
    brig = start(gvisor)
    try:
        found = wait_for(sleepers)
        status = dict(line.split(":\t", 1) for line in
                      pathlib.Path(f"/proc/{found[0]}/status").read_text().splitlines()
                      if ":\t" in line)
        assert status["Seccomp"] == "2"
        assert int(status["Uid"].split()[0]) not in ((0,) if ROOT else ())
        for kind in ("user", "pid", "mnt", "net", "ipc", "uts"):
            theirs, ours = (os.readlink(f"/proc/{who}/ns/{kind}") for who in (found[0], "self"))
            assert theirs != ours, kind
    finally:
        brig.kill()
        brig.wait()
        brig.stdout.close()


# --- settings -------------------------------------------------------------------------------------


def test_ptrace(of):
    result = of("gvisor-ptrace", policy_of(platform="ptrace")).python("print(6 * 7)")
    assert (result["status"], result["stdout"]) == ("ok", "42\n")


@pytest.mark.parametrize("settings, words", [
    ({"platform": "qemu"}, "unknown value"),
    ({"platform": 3}, "platform"),
    ({"runtime": "../runsc"}, "no name of a runtime"),
    ({"runtime": "crun"}, "not a runtime of gVisor that brig knows"),
    ({"runtime": "/nonexistent/runsc"}, "not on this host"),
    ({"flags": []}, "flags"),
])
def test_settings_that_are_wrong(of, settings, words):
    error = of("wrong-gvisor", policy_of(**settings)).refused("-c", "1")
    assert words in error["message"], error


def test_strict_is_refused(of):
    """Landlock and records of refused calls cannot be had; nor a group that counts processes."""
    error = of("strict-gvisor", {"extends": "strict", "provider": "gvisor"}).refused("-c", "1")
    assert "provider gvisor lacks" in error["message"] or "guard" in error["message"], error


@pytest.mark.parametrize("layer", ["landlock", "notify", "cgroup-pids"])
def test_layers_that_it_lacks(of, layer):
    every = ["uidrange", "landlock", "notify", "keyring", "cgroup-memory", "cgroup-pids",
             "cgroup-cpu"]
    wants = of(f"gvisor-{layer}", {**GVISOR, "may_miss": [one for one in every if one != layer]})
    assert f"wants the layer {layer}" in wants.refused("-c", "1")["message"]


def test_listed(config):
    done = subprocess.run([BRIG, "providers", "--json"], capture_output=True, text=True,
                          timeout=120, check=False)
    answer = json.loads(done.stdout)
    found = {one["name"]: one for one in answer["providers"]}["gvisor"]
    assert found["state"] == "ok", found
    assert set(found["abilities"]) == {"walls", "own-root", "mounts", "network", "call-rules", "hold", "value",
                                       "sessions", "venv"}
    means = {one["name"]: one["means"] for one in found["layers"]}
    assert means["timens"] == means["overlay"] == "gVisor's kernel"
    assert not {"landlock", "notify", "cgroup-pids"} & set(means)


def test_explained(of, config):
    of("explained", policy_of(platform="ptrace"))
    done = subprocess.run([BRIG, "explain", "--config", config, "--policy", "explained", "--json",
                           "--lang", "python", "-c", "1"], capture_output=True, text=True,
                          timeout=60, check=True)
    program = json.loads(done.stdout)["program"]
    assert not {"overlay", "time", "landlock", "listener"} & {one["step"] for one in program["steps"]}
    command = program["command"].split()
    assert command[0] == program["runtime"] and command[0].endswith("/runsc")
    assert {"--rootless", "--ignore-cgroups", "--network=none", "--overlay2=none",
            "--platform=ptrace", "run", "--detach"} <= set(command)
    given = program["bundle"]["process"]["capabilities"]["bounding"]
    assert given == ([] if ROOT else ["CAP_CHOWN", "CAP_SETPCAP"])  # of the agent, until it has given /dev away
    assert program["bundle"]["root"]["readonly"]


# --- bad days -------------------------------------------------------------------------------------


@pytest.mark.parametrize("script, words", [
    ("echo 'flag provided but not defined: -overlay2' >&2; exit 2", "not defined: -overlay2"),
    ("exit 128", "gave no reason"),
])
def test_runtime_that_is_too_old(of, bin_dir, script, words):
    error = of("old-runsc", policy_of(runtime=fake(bin_dir, script))).refused("-c", "1")
    assert words in error["message"] and error["step"] == "runtime", error
    assert "bookworm-backports" in error["remedy"]


def test_platform_that_hangs(of, bin_dir):
    """As --platform=kvm does on a device that runs no kernel."""
    real = shutil.which("runsc")
    hangs = fake(bin_dir, f'case "$*" in *--platform=kvm*) sleep 1000;; esac; exec {real} "$@"')
    began = time.monotonic()
    error = of("kvm-hangs", policy_of(runtime=hangs, platform="kvm")).refused(
        "--timeout", "2s", "-c", "1")
    assert "did not start the container in time" in error["message"]
    assert "platform" in error["remedy"] and time.monotonic() - began < 100


def test_a_hanging_platform_is_passed_over(of, bin_dir):
    """A trial has a deadline."""
    hangs = fake(bin_dir, "sleep 1000")
    both = of("kvm-or-native", {**policy_of(runtime=hangs, platform="kvm"),
                                "provider": ["gvisor", "native"]})
    both.kind = "native"
    assert both.python("print(1)")["stdout"] == "1\n"


def test_sentry_killed(gvisor, alone):
    brig = start(gvisor)
    found = wait_for(lambda: [pid for pid in own.own_processes()
                              if arguments(pid).startswith(b"runsc-sandbox")])
    for pid in found:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    answer = json.loads(brig.communicate(timeout=60)[0])
    assert "error" in answer or answer["status"] == "error", answer
    assert not own.lasting(10, own.own_processes, reap)


def test_gofer_killed(gvisor, alone):
    """Nothing can be opened any more; the run ends, or is ended."""
    brig = start(gvisor, "sleep 2; cat /etc/passwd > /dev/null; ls /usr/lib; exit 3")
    found = wait_for(lambda: [pid for pid in own.own_processes()
                              if arguments(pid).startswith(b"runsc-gofer")])
    os.kill(found[0], signal.SIGKILL)
    answer = json.loads(brig.communicate(timeout=60)[0])
    assert "error" in answer or answer["status"] != "ok", answer
