# SPDX-License-Identifier: Apache-2.0
"""V1 to V5, V8: brig itself cannot be reached from inside, and survives the attempts.

V6 is tests/unit/test_native_wire.c; V7 is the fault sweep.
"""

import json
import os
import resource
import signal
import subprocess

import harness
import pytest
from aftermath import gone, left_of, process_named, status_of


@pytest.fixture
def bystander():
    """A process of the same user on the host."""
    run = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
    yield run
    assert run.poll() is None, "a process of the host was hit"
    run.kill()
    run.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGHUP])
def test_v1_signals(attack, bystander, number):
    run = gone(attack.cell("v1_signals", int(number), bystander.pid,
                           options=["--timeout", "10s"]) if number != signal.SIGSTOP else
               attack.cell("v1_signals", int(number), bystander.pid,
                           options=["--timeout", "1s"]))
    assert run["host"] == "ESRCH" and run["host_group"] == "ESRCH"
    assert run["parent"] in ("EPERM", "OK")  # pid 1, which accepts no signal from inside
    assert "reached" not in run.said
    if number == signal.SIGSTOP:
        assert run.result["status"] == "timeout"  # its child has stopped, and is waited for
    else:
        assert (run.result["status"], run.result["exit_code"]) == ("failed", 42)
        assert run["child"] == str(int(number))
    assert harness.state_of(bystander.pid) == "S"
    # Control: outside the bystander can be signalled.
    control = attack.bare("v1_signals", 15, bystander.pid, env={**os.environ, "GENTLE": "1"})
    assert control["host"] == "OK" and control["host_group"] == "OK"


ACTS = ["pidfd_getfd", "read_memory", "write_memory", "mem", "environ", "exe", "exe_write", "fd",
        "exe_link", "prlimit", "affinity", "scheduler", "priority", "ioprio", "seize", "attach"]


def test_v2_v3_v4_init_and_host(attack, bystander):
    """Memory, descriptors, limits and scheduling of pid 1, and of a process of the host."""
    for victim in (1, bystander.pid):
        run = gone(attack.cell("g4_init", victim))
        assert run.result["exit_code"] == 42
        for act in ACTS:
            assert run[act] in ("EPERM", "EACCES", "ENOENT", "ESRCH", "EBADF"), (victim, act)
    # Control: one's own process can be inspected, as far as the host's settings allow.
    control = attack.bare("g4_init", bystander.pid, env={**os.environ, "GENTLE": "1"})
    for act in ("pidfd_open", "environ", "exe", "fd", "exe_link", "affinity", "scheduler",
                "priority", "kill"):
        assert control[act] == "OK", act


def test_v4_own_executable(attack):
    """The interpreter's file cannot be written through /proc/self/exe, nor the program's own."""
    before = harness.digest(harness.BRIG)
    code = """
import os
for name, path in (("self", "/proc/self/exe"), ("init", "/proc/1/exe")):
    for mode in ("r+b", "rb"):
        try:
            open(path, mode).close()
            print(f"{name}_{mode}=OK")
        except OSError as error:
            print(f"{name}_{mode}={type(error).__name__}")
print("link=" + os.readlink("/proc/self/exe"))
"""
    run = gone(attack.brig("--lang", "python", "-c", code))
    assert run["self_r+b"] in ("OSError", "PermissionError")
    assert run["init_r+b"] in ("PermissionError", "FileNotFoundError")
    assert run["init_rb"] in ("PermissionError", "FileNotFoundError")
    assert run["link"].startswith("/python3" if harness.WARM else "/usr/bin/python3")
    assert harness.digest(harness.BRIG) == before


def run_with(words, attack, limits=None, **more):
    """brig under limits of its own."""
    def apply():
        for what, value in (limits or {}).items():
            resource.setrlimit(what, (value, value))

    return subprocess.run([str(word) for word in words], cwd=attack.dir, timeout=30,
                          preexec_fn=apply, **more)


def test_v5_closed_stdout(attack):
    """The reader is gone: brig ends with a status, and so does the cell."""
    words = [harness.BRIG, "run", "--json", "--", "/bin/echo", "hello"]
    reading, writing = os.pipe()
    os.close(reading)
    done = run_with(words, attack, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert done.returncode == 128 + signal.SIGPIPE
    with open("/dev/full", "w") as full:
        done = run_with(words, attack, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 125 and b"No space left" in done.stderr
    # All three closed at the start: descriptors 0 to 2 must not become files of brig.
    done = run_with(["/bin/sh", "-c", '"$@" <&- >&- 2>&-', "sh", *words], attack)
    assert done.returncode in (0, 125)


def test_v5_few_descriptors(attack):
    """EMFILE anywhere is an error with a message, never a half-made cell."""
    words = [harness.BRIG, "run", "--json", "--", attack.program("g2_end"), "exit", "3"]
    outcomes = set()
    for limit in range(4, 40):
        done = run_with(words, attack, {resource.RLIMIT_NOFILE: limit}, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE)
        result = json.loads(done.stdout)
        if "error" in result:
            assert result["error"]["message"] and done.returncode in (125, 126, 127), result
            outcomes.add("error")
        elif result["status"] == "error":
            outcomes.add("error")  # the cell existed already, and was ended
        else:
            assert (result["status"], result["exit_code"]) == ("failed", 3), result
            outcomes.add("ran")
        assert "id" not in result or left_of(result) == []
    assert outcomes == {"error", "ran"}
    harness.wait_for(lambda: not harness.children())


@pytest.mark.root
def test_v5_no_space(attack, tmp_path):
    """!--out-dir on a full disk: the result is printed, the failure is reported."""
    small = tmp_path / "small"
    small.mkdir()
    script = ('mount -t tmpfs -o size=64k none "$1" && shift && '
              'exec "$@"')
    code = "open('out/big', 'wb').write(bytes(1 << 20)); print('printed')"
    words = [*harness.MOUNTS, "/bin/sh", "-c", script, "sh", small, harness.BRIG, "run", "--json",
             "--out-dir", small, "--lang", "python", "-c", code]
    done = run_with(words, attack, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 125
    assert json.loads(done.stdout)["stdout"] == "printed\n"
    assert b"No space left" in done.stderr
    # Control: with room enough it is written.
    words[words.index(script)] = script.replace("64k", "8m")
    done = run_with(words, attack, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0


def test_v5_child_signals(attack):
    """A caller that ignores SIGCHLD and SIGPIPE, and blocks the rest."""
    for ignored in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM):
        def apply(ignored=ignored):
            signal.signal(ignored, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGALRM})

        done = subprocess.run([harness.BRIG, "run", "--json", "--",
                               str(attack.program("g2_end")), "signal", "15"], cwd=attack.dir,
                              preexec_fn=apply, capture_output=True, timeout=30)
        result = json.loads(done.stdout)
        # The program starts with default signals all the same.
        assert (result["status"], result["signal"]) == ("failed", 15)


def test_v8_no_privilege_left(attack):
    """While a program runs, no process of the cell has a capability or root's id."""
    run = attack.spawn("x14_wait", "sleep", options=["--timeout", "30s"])
    try:
        program = process_named(run, "x14_wait")
        init = int(status_of(program)["PPid"])
        # Its descriptors are the last to be closed.
        harness.wait_for(lambda: int(status_of(init)["CapEff"], 16) == 0)
        if harness.ROOT:  # others may not even read it
            harness.wait_for(lambda: len(os.listdir(f"/proc/{init}/fd")) <= 2)
        assert harness.descendants(init) == [program]
        for pid in (init, program):
            status = status_of(pid)
            for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                assert int(status[name], 16) == 0, (pid, name, status[name])
            assert status["NoNewPrivs"] == "1"
            uids = {int(word) for word in status["Uid"].split()}
            assert 0 not in uids and len(uids) == 1
        assert status_of(program)["Seccomp"] == "2"
        assert harness.ROOT is False or status_of(init)["Uid"] != status_of(program)["Uid"]
        # pid 1 has one descriptor: its end of the control socket.
        if harness.ROOT:
            assert len(os.listdir(f"/proc/{init}/fd")) <= 2
    finally:
        run.terminate()
        run.communicate(timeout=20)


def test_v5_endless_sysinfo(attack):
    """The warden answers it: a thousand times at once, then the caller has to wait."""
    run = gone(attack.cell("endless_sysinfo", 2, 4))
    assert run.result["status"] == "ok"
    # A hundred a second then, as long as it continues; each is still answered.
    assert int(run["asked"]) <= 1000 + run.result["usage"]["wall_ms"] / 10, run
    assert run["asked"] == run["answered"]
    # Refusals are recorded all the same.
    assert gone(attack.cell("f06_chroot")).denial["call"] == "chroot"
    # Control: outside it is a call like any other.
    assert int(attack.bare("endless_sysinfo", 1, 4)["asked"]) > 10000
