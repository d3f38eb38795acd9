# SPDX-License-Identifier: Apache-2.0
"""Virtual machines on bad days: missing parts, damaged files, no space, processes that are killed."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from conftest import BRIG, POLICIES, ROOT, Provider, write_policy


@pytest.fixture
def machine(vm_config, schema):
    return Provider("vm", vm_config, schema)


@pytest.fixture
def of_vm(vm_config, schema):
    def make(name, **settings):
        policy = {**POLICIES["vm"], "vm": {**POLICIES["vm"]["vm"], **settings}}
        write_policy(vm_config, name, policy)
        made = Provider(name, vm_config, schema)
        made.kind = "vm"
        return made

    return make


def cache():
    return pathlib.Path("/var/cache/brig/vm") if ROOT else \
        pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.environ["HOME"] + "/.cache"), "brig", "vm")


def newest(kind):
    return max(cache().glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime)


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_beneath(pid, ancestor):
    while pid > 1 and pid != ancestor:
        pid = parent_of(pid)
    return pid == ancestor


def machines_of(run):
    """The emulators that this run of brig has started: others may test beside."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
            if b"socket,id=agent,fd=0" in words and is_beneath(int(pid), run.pid):
                found[int(pid)] = words
        except (OSError, ValueError):
            continue
    return found


def first_machines_of(run):
    deadline = time.monotonic() + 120
    while not machines_of(run) and time.monotonic() < deadline:
        time.sleep(0.05)
    return machines_of(run)


def are_gone(pids):
    deadline = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.parametrize("settings, words", [
    ({"qemu": "/nonexistent/qemu"}, "is not on this host"),
    ({"kernel": "/nonexistent/vmlinuz"}, "cannot be read"),
    ({"kernel": "/usr"}, "cannot be read"),
    ({"kernel": "/dev/null"}, "cannot be read"),
    ({"qemu": "qemu"}, "is no absolute path"),
    ({"accel": "fast"}, "fast"),
])
def test_parts_that_are_missing(of_vm, settings, words):
    error = of_vm("vm-odd", **settings).refused("-c", "1")
    assert words in error["message"] and error["remedy"], error


def test_emulation_must_be_allowed(of_vm):
    """Without it: KVM, or the error that tells how to allow it."""
    done = of_vm("vm-kvm", accel="kvm").plain("--json", "--lang", "bash", "-c", "echo ran")
    answer = json.loads(done.stdout)
    if "error" in answer:
        assert "KVM" in answer["error"]["message"] and "auto" in answer["error"]["remedy"]
    else:
        assert answer["stdout"] == "ran\n"


def test_emulator_that_fails(of_vm, tmp_path):
    tmp_path.chmod(0o755)
    fake = pathlib.Path("/usr/bin/false")
    error = of_vm("vm-false", qemu=str(fake)).refused("-c", "1")
    assert error["step"] == "machine" and "could not start the virtual machine" in error["message"]


def explained(machine):
    done = subprocess.run([BRIG, "explain", "--config", machine.config, "--policy", machine.name,
                           "--json", "--lang", "bash", "-c", "1"], capture_output=True, text=True,
                          timeout=60, check=True)
    return json.loads(done.stdout)["program"]


GROUP_FILES = {"memory": ("memory.max", "memory.limit_in_bytes"), "pids": ("pids.max", "pids.max")}


def group_limit(pid, controller):
    """Of the control group of a process, version 2 or 1; None: it is not one of brig's."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        number, names, path = line.split(":", 2)
        second, first = GROUP_FILES[controller]
        for place in (pathlib.Path("/sys/fs/cgroup" + path, second),
                      pathlib.Path(f"/sys/fs/cgroup/{controller}{path}", first)):
            mine = "brig" in path and (number == "0" or controller in names.split(","))
            if mine and place.exists():
                return int(place.read_text())
    return None


def check_group(pid, machine):
    """The group of a machine that runs is what `explain` and the page say."""
    told = explained(machine)
    memory = int(told["command"][told["command"].index("-m") + 1].removesuffix("M"))
    assert told["group"] == {"memory_bytes": (memory + 256) << 20, "processes": 50}
    page = (pathlib.Path(os.environ.get("BRIG_TREE", "."), "docs", "providers.md")).read_text()
    page = " ".join(page.split())
    assert "the memory of the machine and 256 MiB for qemu, and 50 tasks" in page
    found = {name: group_limit(pid, name) for name in GROUP_FILES}
    wanted = {"memory": told["group"]["memory_bytes"], "pids": told["group"]["processes"]}
    assert all(found[name] in (None, wanted[name]) for name in found), (found, wanted)
    assert not ROOT or found["memory"], found


def test_qemu_has_no_rights(machine):
    """Of the emulator that holds a running program."""
    with subprocess.Popen(machine.words("--timeout", "2m", "--lang", "bash", "-c",
                                        "echo begun; sleep 100"), stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"begun\n"
        (pid,) = machines_of(run)
        check_group(pid, machine)
        status = dict(line.split(":\t", 1) for line in
                      pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
        if ROOT:
            for name in ("net", "ipc", "uts", "cgroup", "mnt", "pid", "user"):
                assert os.readlink(f"/proc/{pid}/ns/{name}") != os.readlink(f"/proc/self/ns/{name}")
            devices = pathlib.Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
            assert [line.split(":")[0].strip() for line in devices] == ["lo"]
            seen = set(os.listdir(f"/proc/{pid}/root"))
            assert not seen & {"home", "root", "etc", "var", "tmp", "dev", "sys", "boot"}, seen
            assert "0" not in status["Uid"].split()
        assert {status[key] for key in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {"0" * 16}
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        run.send_signal(signal.SIGKILL)
    assert are_gone([pid]), "the machine has outlived brig"


def test_a_killed_emulator(machine):
    with subprocess.Popen(machine.words("--json", "--timeout", "2m", "--lang", "bash", "-c",
                                        "sleep 100"), stdout=subprocess.PIPE) as run:
        pids = first_machines_of(run)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        answer = json.loads(run.stdout.read())
    assert "error" in answer or answer["status"] in ("error", "failed"), answer
    assert pids and are_gone(pids)


def test_a_cancelled_run_proves_nothing(machine):
    """While its state is made: the next run makes it, and does not believe that it cannot be."""
    notes = set(cache().glob("no-*"))
    with subprocess.Popen(machine.words("--memory", "700M", "--lang", "bash", "-c", "echo ran"),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        deadline = time.monotonic() + 120
        while run.poll() is None and time.monotonic() < deadline:
            makers = [pid for pid, words in machines_of(run).items()
                      if b"id=monitor" in words and b"896M" in words]
            if makers:
                run.send_signal(signal.SIGINT)
                break
            time.sleep(0.02)
        output, _ = run.communicate(timeout=60)
    assert makers and output == b"", (makers, output)
    assert set(cache().glob("no-*")) <= notes


def damaged(path, how):
    data = bytearray(path.read_bytes())
    path.unlink()
    path.write_bytes(how(data))
    path.chmod(0o444)


@pytest.mark.parametrize("how", [
    lambda data: data[:len(data) // 2],
    lambda data: data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1:],
    lambda data: b"",
], ids=["cut", "changed", "empty"])
def test_a_damaged_state_is_made_anew(machine, how):
    for note in cache().glob("no-state-*"):  # of an emulator that another test has killed
        note.unlink()
    assert machine.bash("echo one")["stdout"] == "one\n"
    # Also those of other sizes of memory, and none that was damaged before.
    states = [state for state in cache().glob("state-*") if state.stat().st_size > 0]
    before = {}
    for state in states:
        with contextlib.suppress(FileNotFoundError):  # a run beside this one has deleted it
            damaged(state, how)
            before[state] = state.stat().st_mtime_ns
    assert machine.bash("echo two")["stdout"] == "two\n"
    assert any(state.exists() and state.stat().st_mtime_ns != time_ns for state, time_ns in before.items())


def test_a_cut_image_is_made_anew(machine):
    assert machine.bash("echo one")["stdout"] == "one\n"
    image = newest("root")
    damaged(image, lambda data: data[:-4096])
    assert machine.bash("echo two")["stdout"] == "two\n"


def test_machines_are_not_alike(machine):
    """Of one saved state: the time is now, and nothing random is the same in two programs."""
    code = ("import ctypes, os, time\n"
            "aux = ctypes.CDLL(None).getauxval; aux.restype = ctypes.c_ulong\n"
            "print(os.urandom(16).hex(), int(time.time()), hash('text'), id(object()),\n"
            "      ctypes.string_at(aux(25), 16).hex(), aux(33))")
    first, second = (machine.python(code)["stdout"].split() for _ in range(2))
    # The kernel's bytes, the hash seed, an address, AT_RANDOM (canary, pointer guard), the vDSO.
    for number in (0, 2, 3, 4, 5):
        assert first[number] != second[number], number
    assert abs(int(second[1]) - time.time()) < 60


@pytest.mark.root
def test_no_space_for_the_image(machine, tmp_path):
    """The cache is on a small tmpfs, in a mount namespace of its own."""
    words = " ".join(f"'{word}'" for word in machine.words("--json", "--lang", "bash", "-c", "echo x"))
    script = ("mkdir -p /var/cache/brig && mount -t tmpfs -o size=4m,mode=0700 brig-test /var/cache/brig"
              f" && {words}; ls -A /var/cache/brig/vm")
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                          timeout=300, check=False)
    answer = json.loads(done.stdout.splitlines()[0])
    assert "image of the cell's root" in answer["error"]["message"], answer
    assert "No space left on device" in answer["error"]["message"], answer  # not the progress before it
    assert done.stdout.splitlines()[1:] == ["lock"]


def test_explained(machine):
    program = explained(machine)
    assert program["command"][0].endswith("qemu-system-x86_64")
    assert "-nodefaults" in program["command"] and "-sandbox" in program["command"]
    assert not {"-nic", "-netdev", "-net"} & set(program["command"])


def test_abilities():
    done = subprocess.run([BRIG, "providers", "--json"], capture_output=True, text=True, timeout=120,
                          check=False)
    (found,) = [one for one in json.loads(done.stdout)["providers"] if one["name"] == "vm"]
    assert set(found["abilities"]) == {"walls", "own-root", "network", "call-rules", "hold", "value", "sessions"}


@pytest.mark.parametrize("words, more, message", [
    (["--ro", "d=/usr"], {}, "has no mounts"),
    (["--rw", "d=/tmp"], {}, "has no mounts"),
    (["--venv", "/opt"], {}, "has no virtualenvs"),
    ([], {"monitor": {"calls": ["execve"]}}, "watch"),
], ids=["ro", "rw", "venv", "call-watch"])
def test_what_it_lacks_is_refused(config, schema, words, more, message):
    write_policy(config, "vm-lacks", {**POLICIES["vm"], **more})
    error = Provider("vm-lacks", config, schema).refused(*words, "--lang", "python", "-c", "1")
    assert "vm" in error["message"] and message in error["message"] and error["remedy"], error


def test_a_machine_that_is_heard_late(machine, tmp_path):
    """brig does nothing for seconds, as on a busy host: what the machine has said until its end is not lost."""
    code = ("open('out/large', 'wb').write(bytes(range(256)) * 8192)\n"
            "print('written', flush=True)\nprint('x' * 200000, end='')")
    words = machine.words("--lang", "python", "--out", "out/**", "--out-dir", tmp_path, "-c", code)
    # Without a buffer, which communicate() would not look into.
    with subprocess.Popen(words, stdout=subprocess.PIPE, bufsize=0) as run:
        assert run.stdout.readline() == b"written\n"
        run.send_signal(signal.SIGSTOP)
        time.sleep(3)
        run.send_signal(signal.SIGCONT)
        output, _ = run.communicate(timeout=100)
    assert (run.returncode, output) == (0, b"x" * 200000)
    assert (tmp_path / "out/large").read_bytes() == bytes(range(256)) * 8192


@pytest.mark.parametrize("how", ["cold", "warm"])
def test_the_host_limits_processor_time(machine, how):
    """The guest's clock goes on while the host runs others: a limit of its own would come too early."""
    code = "import resource as r; print(r.getrlimit(r.RLIMIT_CPU) == (r.RLIM_INFINITY, r.RLIM_INFINITY))"
    assert machine.python(code, "--start", how, "--cpu-time", "1s")["stdout"] == "True\n"


def test_limits_of_a_machine_made_ahead(machine):
    """It is made for them: a program between those of its request and those of the policy is ended."""
    fill = "printf -v x '%*s' 120000000 ''; echo done"
    for limits, status in ((("--memory", "64M"), "memory_limit"), ((), "ok")):
        result = machine.bash(fill, "--start", "warm", *limits)
        assert (result["status"], result["start"]) == (status, "warm"), result
    many = "for i in {1..9}; do (kill -STOP $BASHPID) & done; echo done"
    result = machine.bash(many, "--start", "warm", "--processes", "6")
    assert result["start"] == "warm" and "done" not in result["stdout"], result
    assert "Resource temporarily unavailable" in result["stderr"], result


def resident(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))


@pytest.mark.parametrize("lang, code", [("bash", "echo begun; kill -STOP $$"),
                                        ("python", "print('begun', flush=True); input()")])
def test_memory_of_a_waiting_machine(machine, lang, code):
    """The pools count 230 MiB for one of this size, and 8 for an interpreter that waits in it."""
    with subprocess.Popen(machine.words("--start", "warm", "--timeout", "30s", "--lang", lang, "-c", code),
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"begun\n"
        used = [resident(pid) >> 10 for pid in machines_of(run)]  # with the next one, if it is made
        run.send_signal(signal.SIGKILL)
    assert used and max(used) < 238, used


def test_qemu_sees_its_own_directory(of_vm, tmp_path_factory):
    """Where files of many people are, it sees no more; its firmware is beside its `bin`."""
    top = tmp_path_factory.mktemp("qemu")
    for path in (top, top.parent, top.parent.parent):
        path.chmod(path.stat().st_mode | 0o055)
    (top / "bin").mkdir()
    (top / "secret").mkdir()
    (top / "bin" / "qemu").symlink_to("/usr/bin/qemu-system-x86_64")
    machine = of_vm("vm-own", qemu=str(top / "bin" / "qemu"))
    with subprocess.Popen(machine.words("--timeout", "2m", "--lang", "bash", "-c",
                                        "echo begun; kill -STOP $$"), stdout=subprocess.PIPE) as run:
        assert run.stdout.readline() == b"begun\n"
        (pid,) = machines_of(run)
        root = pathlib.Path(f"/proc/{pid}/root")
        if ROOT:
            assert os.listdir(f"{root}{top}") == ["bin"] and os.listdir(f"{root}{top.parent}") == [top.name]
        run.send_signal(signal.SIGKILL)
    assert are_gone([pid])
