# SPDX-License-Identifier: Apache-2.0
"""Monitors of virtual machines that a data file describes: wrong files, programs that fail, and the whole
way with a file that describes qemu itself, by emulation, with nothing but a serial port.

Firecracker and cloud-hypervisor need a host whose KVM runs a guest: no test runs them.
"""

import base64
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import BRIG, POLICIES, Provider, write_policy
from test_vm import are_gone, is_beneath

SHIPPED = pathlib.Path(__file__).parents[2] / "data" / "machines"
SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
COMMON = ["-accel", "tcg,tb-size=128", "-cpu", "max", "-m", "{memory_mib}M", "-smp", "1", "-nodefaults",
          "-no-user-config", "-display", "none", "-no-reboot", "-sandbox", SANDBOX,
          "-kernel", "{kernel}", "-initrd", "{initrd}", "-append", "{cmdline}",
          "-drive", "if=none,id=root,format=raw,readonly=on,file.locking=off,file={image}",
          "-device", "isa-serial,chardev=agent"]
STDIO = ["-chardev", "stdio,id=agent,signal=off"]
SOCKET = ["-chardev", "socket,id=agent,path={socket},server=on,wait=off"]
PCI = ["-M", "q35,vmport=off,smm=off,sata=off,smbus=off", "-device", "virtio-blk-pci,drive=root"]
QEMU = {"program": "qemu-system-x86_64", "package": "qemu-system-x86", "tried": "7.2", "accel": "tcg",
        "probe": {"arguments": ["--version"], "status": 0}, "arguments": [*COMMON, *PCI, *STDIO]}


def shipped(name):
    lines = (SHIPPED / f"{name}.json").read_text().splitlines()
    return json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))


@pytest.fixture
def place():
    """Open to all: the monitor of root's cells is not root on the host."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture
def machine(vm_config, schema):
    """A provider whose monitor has this file."""
    made = []

    def make(file, mode=0o600, **settings):
        folder = vm_config / "machines"
        folder.mkdir(exist_ok=True)
        path = folder / "own.json"
        path.write_text(file if isinstance(file, str) else json.dumps(file))
        path.chmod(mode)
        made.append(path)
        write_policy(vm_config, "own", {**POLICIES["vm"], "vm": {**POLICIES["vm"]["vm"], "monitor": "own",
                                                                 **settings}})
        provider = Provider("own", vm_config, schema)
        provider.kind = "vm"
        return provider

    yield make
    for path in made:
        path.unlink(missing_ok=True)


@pytest.fixture
def serial(machine):
    return machine(QEMU)


def fake(place, script, **more):
    path = place / "monitor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {**QEMU, "program": str(path), "package": "its-package", "probe": {}, **more}


def content(result, path):
    found = {one["path"]: one for one in result["files"]}
    return base64.b64decode(found[path]["content_base64"])


# --- files ----------------------------------------------------------------------------------------


def changed(old, new):
    return {"arguments": [one.replace(old, new) for one in QEMU["arguments"]]}


@pytest.mark.parametrize("change, words", [
    (changed("{kernel}", "/boot/vmlinuz"), "{kernel} is missing"),
    (changed("{initrd}", "/initrd"), "{initrd} is missing"),
    (changed("{image}", "/dev/sda"), "{image} is missing"),
    (changed("{cmdline}", "quiet"), "{cmdline} is missing"),
    (changed("{memory_mib}M", "64G"), "{memory_mib} is missing"),
    (changed("{kernel}", "{home}"), "{home} is not known"),
    (changed("{kernel}", "{root}"), "{root} is not known"),
    (changed("stdio", "/.brig/state"), "brig's own"),
    ({"arguments": "{kernel}"}, "a list"),
    ({"arguments": [*QEMU["arguments"], "{config}"]}, "there is no config"),
    ({"config": {}}, "{config} is missing"),
    ({"config": []}, "an object"),
    ({"config": {"a": {"b": ["{nothing}"]}}}, "{nothing} is not known"),
    ({"config": {"{kernel}": 1}}, "a key has a word in it"),
    ({"config": {"a": "x" * 2000}}, "longer than 1024"),
    ({"config": {str(i): "x" * 1000 for i in range(30)}}, "longer than 16384"),
    ({"arguments": [*QEMU["arguments"], "{socket}"]}, "{socket} is of no use"),
    ({"stream": "socket"}, "{socket} is missing"),
    ({"stream": "pty"}, "pty"),
    ({"accel": "auto"}, "auto"),
    ({"accel": "fast"}, "fast"),
    ({"program": "../qemu"}, "not the name of a program"),
    ({"program": 7}, "a text"),
    ({"package": "a; rm b"}, "not the name of a package"),
    ({"probe": {"arguments": ["{kernel}"]}}, "{kernel} is not known"),
    ({"probe": {"status": 300}}, "out of range"),
    ({"urandom": "yes"}, "true or false"),
    ({"layers": ["userns"]}, "unknown key"),
    ({"network": True}, "unknown key"),
])
def test_a_wrong_file(machine, change, words):
    error = machine({**QEMU, **change}).refused("-c", "1")
    assert words in error["message"] and "own.json" in error["message"], error


@pytest.mark.parametrize("key", ["program", "arguments"])
def test_a_key_is_missing(machine, key):
    file = {name: value for name, value in QEMU.items() if name != key}
    assert f"the key {key} is missing" in machine(file).refused("-c", "1")["message"]


def nested(depth):
    return {"a": nested(depth - 1)} if depth else {}


def test_a_deep_configuration(machine):
    assert "too deep" in machine({**QEMU, "config": nested(20)}).refused("-c", "1")["message"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"program": "a", "program": "b"}', "\0", "[" * 100000])
def test_not_json(machine, text):
    assert machine(text).refused("-c", "1")["message"]


@pytest.mark.parametrize("mode", [0o666, 0o620])
def test_a_file_that_others_can_write(machine, mode):
    assert "others may write" in machine(QEMU, mode=mode).refused("-c", "1")["message"]


def test_a_directory_that_others_can_write(machine, vm_config):
    own = machine(QEMU)
    (vm_config / "machines").chmod(0o777)
    try:
        assert "others may write" in own.refused("-c", "1")["message"]
    finally:
        (vm_config / "machines").chmod(0o755)


@pytest.mark.root
def test_a_file_of_another_user(machine, vm_config):
    own = machine(QEMU)
    os.chown(vm_config / "machines" / "own.json", 12345, 12345)
    assert "owned by user 12345" in own.refused("-c", "1")["message"]


def test_a_link(machine, vm_config, place):
    own = machine(QEMU)
    path = vm_config / "machines" / "own.json"
    path.rename(place / "own.json")
    path.symlink_to(place / "own.json")
    assert "link" in own.refused("-c", "1")["message"]


@pytest.mark.parametrize("name, words", [
    ("absent", "machine not found"),
    ("../policies/default", "no name of a machine"),
    ("/etc/passwd", "no name of a machine"),
    ("", "no name of a machine"),
    (7, "a text"),
])
def test_the_policy_names_it(machine, name, words):
    error = machine(QEMU, monitor=name).refused("-c", "1")
    assert words in error["message"], error


def test_another_provider_needs_no_file(vm_config, schema):
    write_policy(vm_config, "own", {"extends": "default", "vm": {"monitor": "absent"}})
    provider = Provider("own", vm_config, schema)
    provider.kind = "native"
    assert provider.bash("echo ran")["stdout"] == "ran\n"


@pytest.mark.parametrize("accel, file", [("kvm", "tcg"), ("tcg", "kvm")])
def test_the_policy_must_allow_its_acceleration(machine, accel, file):
    error = machine({**QEMU, "accel": file}, accel=accel).refused("-c", "1")
    assert f"works by {file}, but the policy wants {accel}" in error["message"], error


def test_no_kvm(machine):
    """A monitor for KVM alone is started only where there is the device; never emulation instead."""
    own = machine({**QEMU, "accel": "kvm"}, accel="auto")
    if os.path.exists("/dev/kvm"):
        assert own.bash("echo ran")["stdout"] == "ran\n"  # its file does not tell the truth
    else:
        assert "KVM does not run" in own.refused("-c", "1")["message"]


# --- programs -------------------------------------------------------------------------------------


def test_missing(machine):
    error = machine({**QEMU, "program": "no-such-monitor", "package": "its-package"}).refused("-c", "1")
    assert "not on this host" in error["message"] and "apt-get install its-package" in error["remedy"]


@pytest.mark.parametrize("script, words", [
    ("exit 0", "ended without starting the agent"),
    ("exit 3", "gave no reason"),
    ("kill -9 $$", "killed by signal 9"),
    ("echo 'bad option' >&2; exit 1", "bad option"),
    ("printf 'bad\\033[31m\\n' >&2; exit 1", "bad?[31m"),
    ("echo Running a monitor; exec sleep 100", "bytes that are not brig's: Running a monitor"),
    ("exec head -c 100000000 /proc/self/maps /proc/self/exe", "bytes that are not brig's"),
    ("exec 1>&- 0<&-; exec sleep 100", "has closed its serial port"),
    ("exec cat >&2", "has closed its serial port"),
])
def test_fails(machine, place, script, words):
    began = time.monotonic()
    error = machine(fake(place, script)).refused("--lang", "bash", "-c", "1")
    assert words in error["message"] and error["step"] == "machine", error
    assert time.monotonic() - began < 30


def packets(*parts, start=2166136261):
    """Packets of the line with right sums, for printf (src/vm_line/packet.h)."""
    text, total = "", start
    for kind, data in parts:
        body = bytes([0xa5, kind, len(data) & 255, len(data) >> 8]) + data
        for byte in body:
            total = (total ^ byte) * 16777619 & 0xffffffff
        text += "".join(f"\\{byte:03o}" for byte in body + total.to_bytes(4, "little"))
    return text


HELLO, DATA, TAKEN, REPORT, END = (1, b"brig-line-1"), (2, b"x" * 12), (3, b"\1\0\0\0"), (4, b"why\n"), (5, b"")


@pytest.mark.parametrize("text, words", [
    (packets(HELLO, start=1), "bytes that are not brig's"),
    (packets(DATA), "bytes that are not brig's"),
    (packets(END), "bytes that are not brig's"),
    (packets(HELLO, HELLO), "bytes that are not brig's"),
    (packets(HELLO, TAKEN), "bytes that are not brig's"),
    (packets(HELLO) + "noise", "bytes that are not brig's"),
    (packets(HELLO, REPORT, END), "why"),
    (packets(HELLO, END), "without starting the agent"),
], ids=["sum", "data", "end", "again", "taken", "noise", "report", "nothing"])
def test_lies(machine, place, text, words):
    """Of a guest, or of a monitor."""
    error = machine(fake(place, f"printf '{text}'; exec sleep 100")).refused("--lang", "bash", "-c", "1")
    assert error["step"] == "machine" and words in error["message"], error


def test_an_agent_that_lies(machine, place):
    """Right packets with wrong frames: the warden's own check."""
    done = machine(fake(place, f"printf '{packets(HELLO, DATA)}'; exec sleep 100")).plain(
        "--json", "--timeout", "20s", "--lang", "bash", "-c", "1")
    answer = json.loads(done.stdout)
    assert "error" in answer or (answer["status"], answer["verdict"]["cause"]) == ("error", "protocol"), answer


@pytest.mark.parametrize("script", ["exec sleep 1000", "while :; do :; done"])
def test_hangs(machine, place, script):
    """It has three minutes; a caller who does not wait for that leaves nothing behind."""
    provider = machine(fake(place, script))
    with subprocess.Popen(provider.words("--json", "--lang", "bash", "-c", "1"), stdout=subprocess.PIPE) as run:
        deadline = time.monotonic() + 30
        while not monitors_of(run) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        pids = monitors_of(run)
        assert pids and run.poll() is None
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
    assert are_gone(pids) and run.returncode != 0


def test_the_monitor_has_no_rights(machine, place):
    """It sees programs and its files only, and cannot write to them."""
    # Of its messages an answer has the last line: one for each question.
    for script, words in [("ls /", "usr"), ("ls /home /root /etc /var 2>/dev/null | wc -l", "0"),
                          ("grep -c 'Cap.*0000000000000000' /proc/self/status", "5"),
                          ("grep -c 'NoNewPrivs.*1' /proc/self/status", "1"),
                          ("ls /proc/self/fd | sort -n | tail -1", "7"),
                          ("grep -c -E 'eth|ens|veth|docker' /proc/net/dev", "0"),
                          ("head -c 3 /proc/self/fd/3 | wc -c", "3"), ("head -c 3 /proc/self/fd/5 | wc -c", "3"),
                          ("n=0; for i in 3 4 5 6; do (echo no > /proc/self/fd/$i) 2>/dev/null && n=1; done;"
                           "echo $n", "0")]:
        error = machine(fake(place, f"({script}) >&2; exit 1")).refused("--lang", "bash", "-c", "1")
        assert error["message"].rsplit(":", 1)[1].split()[-1] == words, (script, error)


def test_its_configuration(machine, place):
    """Words are replaced, and the memory is a number."""
    config = {"memory": "{memory_mib}", "boot": {"kernel": "{kernel}", "args": "{cmdline} x=1"},
              "disks": [{"path": "{image}", "ro": True}], "text": "{memory_mib}M"}
    file = fake(place, "cat /proc/self/fd/6 >&2; exit 1", config=config)
    file["arguments"] = [*file["arguments"], "{config}"]
    error = machine(file).refused("--memory", "100M", "--lang", "bash", "-c", "1")
    text = error["message"][error["message"].index("{"):]
    assert text.startswith('{"boot":{"args":"quiet '), text
    own = machine(file)
    program = explained(own, "--memory", "100M")
    told = json.loads(program["config"])
    assert told["memory"] == 256 and told["text"] == "256M" and told["disks"][0]["ro"] is True
    assert told["boot"]["kernel"].startswith("/proc/self/fd/") and told["boot"]["args"].endswith(" x=1")


# --- the whole way --------------------------------------------------------------------------------


def test_a_run(serial):
    done = serial.plain("--lang", "bash", "-c", "cat; echo err >&2; exit 3", stdin=b"in\n")
    assert (done.stdout, done.stderr.splitlines()[0], done.returncode) == (b"in\n", b"err", 3)


def test_python_and_its_usage(serial):
    result = serial.python("print(6 * 7)")
    assert (result["status"], result["stdout"], result["exit_code"]) == ("ok", "42\n", 0)
    assert result["usage"]["memory_peak_bytes"] > 1 << 20 and result["usage"]["processes_peak"] >= 1


BINARY = """
import hashlib, sys
data = bytes(range(256)) * 4000
sys.stdout.buffer.write(data)
sys.stderr.buffer.write(b'\\0\\xff\\r\\n\\x03\\x11\\x13' * 1000)
"""


def test_binary_output(serial):
    """Nothing is changed by a terminal on the way, and nothing is lost."""
    done = serial.plain("--lang", "python", "-c", BINARY)
    assert done.stdout == bytes(range(256)) * 4000
    assert done.stderr.startswith(b"\0\xff\r\n\x03\x11\x13" * 1000)


COPY = """
import hashlib, os
data = open('in.bin', 'rb').read()
print(len(data), hashlib.sha256(data).hexdigest())
os.makedirs('out', exist_ok=True)
open('out/back.bin', 'wb').write(data[::-1])
"""


@pytest.mark.parametrize("size", [int(os.environ.get("BRIG_SERIAL_MIB", "1")) << 20])
def test_a_large_file_in_and_out(serial, tmp_path, size):
    """BRIG_SERIAL_MIB=5 measures more; the emulator's processor time is the run's."""
    data = os.urandom(size)
    (tmp_path / "in.bin").write_bytes(data)
    began = time.monotonic()
    result = serial.python(COPY, "--in", tmp_path / "in.bin", "--cpu-time", "5m", "--timeout", "5m")
    print(f"{size} bytes in and out in {time.monotonic() - began:.1f} s")
    assert result["stdout"] == f"{size} {hashlib.sha256(data).hexdigest()}\n", result
    assert content(result, "out/back.bin") == data[::-1]


def test_input_that_is_read_late(serial):
    """More than all windows and buffers, at a time when nobody reads it."""
    text = os.urandom(300000).hex().encode()
    done = serial.plain("--lang", "bash", "-c", "sleep 2; cat", stdin=text)
    assert done.stdout == text


def test_output_that_is_read_late(serial):
    """A slow reader makes the program wait, and loses nothing."""
    with subprocess.Popen(serial.words("--lang", "python", "-c",
                                       "import sys; sys.stdout.write('0123456789abcdef' * 40000)"),
                          stdout=subprocess.PIPE) as run:
        first = run.stdout.read(1)
        time.sleep(5)
        rest = run.stdout.read()
    assert first + rest == b"0123456789abcdef" * 40000


@pytest.mark.parametrize("code, args, status", [
    ("sleep 100", ("--timeout", "2s"), "timeout"),
    ("kill -SEGV $$", (), "failed"),
])
def test_ends(serial, code, args, status):
    assert serial.bash(code, *args)["status"] == status


def test_memory(serial):
    result = serial.python("x = []\nwhile True: x.append(bytearray(8 << 20))", "--memory", "96M")
    assert result["status"] in ("memory_limit", "failed"), result
    assert result["status"] == "memory_limit" or "MemoryError" in result["stderr"]


def test_a_program_that_is_killed(serial):
    assert serial.bash("kill -KILL $$")["signal"] == signal.SIGKILL


MONITORS = (b"chardev=agent", b"brig-vm-line")


def monitors_of(run):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
            if any(word in words for word in MONITORS) and is_beneath(int(pid), run.pid):
                found.append(int(pid))
        except (OSError, ValueError):
            continue
    return found


@pytest.mark.parametrize("victim", ["brig", "monitor", "line"])
def test_all_dies_together(serial, victim):
    with subprocess.Popen(serial.words("--json", "--timeout", "2m", "--lang", "bash", "-c",
                                       "echo begun; sleep 100"), stdout=subprocess.PIPE) as run:
        deadline = time.monotonic() + 60
        while len(monitors_of(run)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        pids = sorted(monitors_of(run))
        assert len(pids) == 2, pids
        os.kill({"brig": run.pid, "line": pids[0], "monitor": pids[1]}[victim], signal.SIGKILL)
        out = run.stdout.read()
    assert are_gone(pids)
    if victim != "brig":
        answer = json.loads(out)
        assert "error" in answer or answer["status"] in ("error", "failed"), answer


def test_a_socket(machine):
    """As cloud-hypervisor has it."""
    result = machine({**QEMU, "arguments": [*COMMON, *PCI, *SOCKET], "stream": "socket"}).python(
        "import sys; sys.stdout.write('x' * 100000)")
    assert result["status"] == "ok" and result["stdout"] == "x" * 100000, result


def test_what_is_printed_beside_a_socket(machine, place):
    """The output of such a monitor is no part of the stream."""
    path = place / "monitor"
    path.write_text('#!/bin/sh\necho noise\nexec qemu-system-x86_64 "$@"\n')
    path.chmod(0o755)
    file = {**QEMU, "program": str(path), "arguments": [*COMMON, *PCI, *SOCKET], "stream": "socket"}
    assert machine(file).bash("echo ran")["stdout"] == "ran\n"


# --- doctor and explain ---------------------------------------------------------------------------


def explained(provider, *args):
    done = subprocess.run([BRIG, "explain", "--config", provider.config, "--policy", provider.name, "--json",
                           *args, "--lang", "bash", "-c", "1"], capture_output=True, text=True, timeout=60,
                          check=True)
    return json.loads(done.stdout)["program"]


def test_explained(serial):
    program = explained(serial)
    assert program["monitor"] == "own" and program["tried"] == "7.2" and program["config"] is None
    command = program["command"]
    assert command[0].endswith("qemu-system-x86_64")
    assert command[command.index("-kernel") + 1] == "/proc/self/fd/3"
    assert "brig.port=ttyS0" in command[command.index("-append") + 1]
    steps = [one["step"] for one in program["steps"]]
    assert "line" in steps and "state" not in steps


@pytest.mark.parametrize("name", ["firecracker", "cloud-hypervisor"])
def test_shipped_files(vm_config, schema, name):
    """They can be read, and say that no test has run them."""
    write_policy(vm_config, "own", {**POLICIES["vm"], "vm": {"monitor": name}})
    own = Provider("own", vm_config, schema)
    program = explained(own)
    assert program["monitor"] == name and program["tried"] is None
    words = " ".join(program["command"]) + (program["config"] or "")
    assert "/proc/self/fd/3" in words and "console=ttyS0" not in words and "{" not in " ".join(program["command"])
    if name == "firecracker":
        config = json.loads(program["config"])
        assert set(config) == {"boot-source", "drives", "machine-config"}
        assert isinstance(config["machine-config"]["mem_size_mib"], int)
        assert config["drives"][0]["is_read_only"] is True
    done = subprocess.run([BRIG, "explain", "--config", vm_config, "--policy", "own", "--lang", "bash", "-c", "1"],
                          capture_output=True, text=True, timeout=60, check=True)
    assert "not run by brig's tests" in done.stdout
    error = own.refused("-c", "1")
    assert "not on this host" in error["message"] and f"machines/{name}.json" in error["remedy"], error
    assert "tried" not in shipped(name)


def test_the_file_is_in_the_hash(machine):
    def policy(file):
        provider = machine(file)
        done = subprocess.run([BRIG, "policy", "show", "--config", provider.config, "own", "--json"],
                              capture_output=True, text=True, timeout=60, check=True)
        answer = json.loads(done.stdout)
        assert answer["vm_monitor"] == "own"
        return answer["sha256"]

    assert policy(QEMU) != policy({**QEMU, "description": "another"})


def test_doctor_lists_them():
    done = subprocess.run([BRIG, "providers", "--json"], capture_output=True, text=True, timeout=120, check=False)
    (found,) = [one for one in json.loads(done.stdout)["providers"] if one["name"] == "vm"]
    assert "firecracker is " in found["detail"] and "cloud-hypervisor is " in found["detail"], found


def test_the_page_names_the_shipped_files():
    page = (SHIPPED.parents[1] / "docs" / "providers.md").read_text()
    for path in SHIPPED.glob("*.json"):
        assert f"`{path.stem}`" in page


def test_a_trial_that_fails(machine, place, vm_config):
    """In a list of providers: the next one is used."""
    own = machine(fake(place, "exit 4", probe={"arguments": ["--version"], "status": 0}))
    policy = json.loads((vm_config / "policies" / "own.json").read_text())
    write_policy(vm_config, "own", {**policy, "provider": ["vm", "native"]})
    own.kind = "native"
    assert own.bash("echo ran")["stdout"] == "ran\n"


def test_the_limits_on_the_host(serial):
    program = explained(serial)
    command = program["command"]
    memory = int(command[command.index("-m") + 1].removesuffix("M"))
    assert program["group"] == {"memory_bytes": (memory + 256) << 20, "processes": 50}
