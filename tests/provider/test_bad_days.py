# SPDX-License-Identifier: Apache-2.0
"""Runtimes that are missing, broken, or hang; processes that are killed. Nothing is left."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import own
from conftest import BRIG, RUNTIMES, Provider


@pytest.fixture
def bin_dir():
    """Open to all: the runtime of root's cells is not root on the host."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        yield pathlib.Path(place)


def fake(path, script):
    program = path / "crun"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def policy_of(runtime):
    return {"extends": "default", "provider": "oci", "oci": {"runtime": runtime}}


@pytest.mark.parametrize("runtime, words", [
    ("kata", "not an OCI runtime that brig knows"),
    ("/bin/sh", "could not start the container"),
    ("/nonexistent/crun", "not on this host"),
    ("/nonexistent/own", "not on this host"),
])
def test_runtime_that_is_not_there(of, runtime, words):
    error = of("absent", policy_of(runtime)).refused("-c", "1")
    assert words in error["message"] and error["remedy"]
    # A package puts no runtime at a path of the operator's.
    assert not (runtime.startswith("/") and "apt-get" in error["remedy"]), error


@pytest.mark.parametrize("name", RUNTIMES)
def test_runtime_at_a_path_of_the_operator(of, bin_dir, name):
    """With a name that brig does not know."""
    program = bin_dir / f"own-{name}"
    shutil.copy(shutil.which(name, path="/usr/bin:/usr/sbin"), program)
    program.chmod(0o755)
    result = of("own", policy_of(str(program))).python("print(1)")
    assert result["status"] == "ok" and result["stdout"] == "1\n", result


def test_runtime_is_no_name(of):
    assert "no name of a runtime" in of("odd", policy_of("../crun")).refused("-c", "1")["message"]


@pytest.mark.parametrize("script, words", [
    ("echo 'unknown option --detach' >&2; exit 1", "unknown option --detach"),  # too old
    ("exit 3", "gave no reason"),
    ("kill -9 $$", "killed"),
    ("printf 'bad\\033[31m\\n' >&2; exit 1", "bad?[31m"),
])
def test_runtime_that_fails(of, bin_dir, script, words):
    error = of("broken", policy_of(fake(bin_dir, script))).refused("-c", "1")
    assert words in error["message"], error
    assert error["step"] == "runtime"


def test_runtime_that_hangs(of, bin_dir):
    began = time.monotonic()
    error = of("hanging", policy_of(fake(bin_dir, "sleep 1000"))).refused(
        "--timeout", "2s", "-c", "1")
    assert "did not start the container in time" in error["message"]
    assert time.monotonic() - began < 15


def test_slow_runtime_has_no_grace(of, bin_dir):
    """The time was up before there was a program that could be asked to end."""
    slow = of("slow", policy_of(fake(bin_dir, f'sleep 2; exec {shutil.which("crun")} "$@"')))
    error = slow.refused("--timeout", "1s", "--grace", "10s", "--lang", "bash", "-c",
                         "trap 'exit 0' TERM; sleep 100 & wait")
    assert "did not start the container in time" in error["message"]


@pytest.mark.parametrize("script", [
    "exit 0",                                   # no container
    "head -c 100000 /dev/urandom; sleep 0.5",   # garbage where the agent's frames should be
    "printf '\\013\\000\\000\\000\\004\\000\\000\\000\\001\\000\\000\\000'; exit 0",  # ready, and gone
])
def test_runtime_that_lies(of, bin_dir, script):
    liar = of("lying", policy_of(fake(bin_dir, script)))
    done = liar.plain("--json", "--timeout", "5s", "-c", "print(1)")
    answer = json.loads(done.stdout)
    assert done.returncode not in (0, 1)
    assert "error" in answer or answer["status"] == "error", answer


def test_doctor_names_the_package(tmp_path):
    done = subprocess.run([BRIG, "doctor", "--json"], capture_output=True, text=True, timeout=60,
                          check=False, env={**os.environ, "PATH": str(tmp_path)})
    found = {one["name"]: one for one in json.loads(done.stdout)["providers"]}["oci"]
    assert found["state"] == "missing" and "apt-get install crun" in found["repair"]


def test_doctor_has_a_deadline(bin_dir):
    fake(bin_dir, "sleep 1000")
    began = time.monotonic()
    done = subprocess.run([BRIG, "doctor", "--json"], capture_output=True, text=True, timeout=60,
                          check=False, env={**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}"})
    found = {one["name"]: one for one in json.loads(done.stdout)["providers"]}["oci"]
    assert found["state"] == "missing" and "in time" in found["detail"]
    assert time.monotonic() - began < 40


def test_doctor_finds_it():
    done = subprocess.run([BRIG, "doctor", "--json"], capture_output=True, text=True, timeout=60,
                          check=False)
    found = {one["name"]: one for one in json.loads(done.stdout)["providers"]}["oci"]
    assert found["state"] == "ok", found
    assert set(found["abilities"]) == {"walls", "own-root", "mounts", "call-rules",
                                       "call-watch", "network", "hold", "value", "sessions",
                                       "venv"}


# --- kill -9 --------------------------------------------------------------------------------------


@pytest.fixture
def alone(tmp_path):
    """Processes that outlive their parents become ours, so that they are found."""
    own.adopt_orphans()
    mounts = own.own_mounts(tmp_path)
    before = set(os.listdir("/tmp")), set(os.listdir("/run"))
    yield
    assert not own.lasting(10, own.own_processes, reap)
    own.adopt_orphans(False)
    assert own.own_mounts(tmp_path) == mounts
    left = set(os.listdir("/tmp")) - before[0], set(os.listdir("/run")) - before[1]
    assert not [name for names in left for name in names if "brig" in name and "oci" in name]


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    time.sleep(0.02)


def groups_of(pid):
    return [path for path, _, _ in os.walk("/sys/fs/cgroup")
            if os.path.basename(path).startswith(f"brig-{pid}-")]


def start(provider, code="echo up; sleep 1000"):
    more = ()
    if provider.emulated:  # the program is not seen: it leaves a mark
        marks[:] = [tempfile.mkdtemp(prefix="mark-", dir=provider.config.parent)]
        code, more = f"touch /mnt/w/up; {code}", ("--rw", f"w={marks[0]}")
    brig = subprocess.Popen(provider.words("--json", *more, "--lang", "bash", "-c", code),
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return brig


def wait_for(find):
    for _ in range(3000):
        found = find()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def arguments(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


marks = []  # directories in which a program with its own kernel shows that it runs


def sleepers():
    """The program; or the kernel around it, where it is not a process of the host."""
    begun = any(os.path.exists(f"{mark}/up") for mark in marks)
    return [pid for pid in own.own_processes() if arguments(pid) == b"sleep\x001000\x00" or
            (begun and arguments(pid).startswith(b"runsc-sandbox"))]


def test_brig_killed(provider, alone):
    brig = start(provider)
    wait_for(sleepers)
    brig.kill()
    brig.wait()
    brig.stdout.close()
    wait_for(lambda: not sleepers())
    # The next start removes the group that is left.
    wait_for(lambda: provider.bash(":")["status"] == "ok" and not groups_of(brig.pid))


@pytest.mark.parametrize("after", [0.005, 0.02, 0.04, 0.06, 0.09])
def test_brig_killed_while_it_starts(held, alone, after):
    brig = start(held)
    time.sleep(after)
    brig.kill()
    brig.wait()
    brig.stdout.close()
    assert not own.lasting(10, own.own_processes, reap)


def test_brig_killed_with_waiting_containers(held, alone):
    """They wait for an assignment that never comes, and end with the owner of their stream."""
    # pylint: disable=consider-using-with
    brig = subprocess.Popen([BRIG, "bench", "--config", str(held.config), "--policy", held.name,
                             "--runs", "5000", "--in-flight", "1", "--cells", "4",
                             "--lang", "python", "-c", "print(1)"], stdout=subprocess.DEVNULL)
    wait_for(lambda: len(own.own_processes()) >= 6)
    brig.kill()
    brig.wait()
    assert not own.lasting(10, own.own_processes, reap)


def test_holder_killed(held, alone):
    brig = start(held)
    sleeper = wait_for(sleepers)[0]
    # program -> agent (-> launcher) -> holder -> brig
    chain = [sleeper]
    while chain[-1] != brig.pid:
        status = pathlib.Path(f"/proc/{chain[-1]}/status").read_text()
        chain.append(int(status.split("PPid:")[1].split()[0]))
    holder = chain[-2]
    os.kill(holder, signal.SIGKILL)
    result = json.loads(brig.communicate(timeout=30)[0])
    assert (result["status"], result["verdict"]["cause"]) == ("error", "vanished")
    assert not sleepers()


def test_agent_killed(one_kernel, alone):
    brig = start(one_kernel)
    sleeper = wait_for(sleepers)[0]
    status = pathlib.Path(f"/proc/{sleeper}/status").read_text()
    shell = int(status.split("PPid:")[1].split()[0])
    agent = int(pathlib.Path(f"/proc/{shell}/status").read_text().split("PPid:")[1].split()[0])
    os.kill(agent, signal.SIGKILL)
    result = json.loads(brig.communicate(timeout=30)[0])
    assert result["status"] == "error" and not sleepers()


def test_launcher_killed(config, schema, alone):
    """It stays around the agent, and takes it with it."""
    brig = start(Provider("launcher-bubblewrap", config, schema))
    wait_for(sleepers)
    names = {pid: arguments(pid).split(b"\0")[0] for pid in own.own_processes()}
    launcher = [pid for pid, name in names.items() if name.endswith(b"/bwrap")]
    assert len(launcher) == 1, names
    os.kill(launcher[0], signal.SIGKILL)
    result = json.loads(brig.communicate(timeout=30)[0])
    assert (result["status"], result["verdict"]["cause"]) == ("error", "vanished")
    assert not sleepers()


def test_interrupted(provider, alone):
    brig = start(provider)
    wait_for(sleepers)
    brig.send_signal(signal.SIGINT)
    result = json.loads(brig.communicate(timeout=30)[0])
    assert result["status"] == "cancelled" and not sleepers()


def test_nothing_is_written_to_the_host(held, alone):
    """Neither the bundle nor the runtime's state."""
    before = {place: set(os.listdir(place)) for place in ("/tmp", "/run", "/dev/shm", "/")}
    held.python("print(1)")
    for place, names in before.items():
        new = set(os.listdir(place)) - names
        assert not [name for name in new if "oci" in name or name in (".brig", "crun", "runc")], place
