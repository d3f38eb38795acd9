# SPDX-License-Identifier: Apache-2.0
"""G1 to G5: the kernel reports how a program ended, whatever the program claims."""

import json
import os
import signal
import time

import harness
import pytest
from aftermath import gone, verdict


def test_g1_fake_records(attack):
    run = gone(attack.cell("g1_forge"))
    assert (run.result["status"], run.result["exit_code"]) == ("failed", 7)
    assert verdict(run)[1] == "exit"
    assert run["taken"] == "0"  # no descriptor but its own three accepted anything
    assert run.result["id"] != "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    assert '"status":"ok"' in run.stdout and '"status":"ok"' in run.stderr  # as data
    # In text form the exit status is the program's, not the forged one.
    words = [harness.BRIG, "run", "--", attack.program("g1_forge")]
    assert harness.execute(words, attack.dir).returncode == 7
    # Control: with a descriptor that was left open, a record is accepted.
    with open(os.devnull, "w") as left_open:
        bare = attack.bare("g1_forge", pass_fds=[left_open.fileno()])
    assert int(bare["taken"]) > 0


@pytest.mark.parametrize("code", [0, 1, 2, 42, 117, 124, 125, 126, 127, 128, 137, 139, 143, 255])
def test_g2_exit_codes(attack, code):
    run = gone(attack.cell("g2_end", "exit", code))
    assert run.result["status"] == ("ok" if code == 0 else "failed")
    assert (run.result["exit_code"], run.result["signal"]) == (code, None)
    assert verdict(run)[1] == "exit"
    assert run.status == code
    assert attack.bare("g2_end", "exit", code).status == code


ENDING = [number for number in range(1, 65) if number not in
          (signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN,
           signal.SIGTTOU, signal.SIGURG, signal.SIGWINCH, 32, 33)]


def test_g2_signals(attack):
    """Every signal that ends a program, with its own number."""
    for number in ENDING:
        run = attack.cell("g2_end", "signal", number)
        assert (run.result["exit_code"], run.result["signal"]) == (None, number), run
        if number in (signal.SIGSYS, signal.SIGXFSZ):
            # A signal from the kernel and one from the program look the same: it can only harm
            # itself.
            assert run.result["status"] in ("failed", "denied", "disk_limit")
        elif number == signal.SIGXCPU:
            continue
        else:
            assert run.result["status"] == "failed"
            assert (verdict(run)[1], run.status) == ("signal", 128 + number)
    assert attack.bare("g2_end", "signal", signal.SIGABRT).status == -signal.SIGABRT


def test_g2_signals_of_its_own(attack):
    """A program that sends itself the signal of the cpu limit has not met that limit."""
    run = gone(attack.cell("g2_end", "signal", signal.SIGXCPU))
    assert run.result["status"] == "failed", run.result["verdict"]


def test_g2_oddities(attack):
    """The leader of a process with living threads; a thread's own end; more bits than a
    status has."""
    run = gone(attack.cell("g2_end", "leader", 5))
    assert (run.result["status"], run.result["exit_code"]) == ("failed", 5)
    assert run["thread"] == "lives"
    assert gone(attack.cell("g2_end", "thread", 6)).result["exit_code"] == 6
    assert gone(attack.cell("g2_end", "more", 7)).result["exit_code"] == 7
    child = gone(attack.cell("g2_end", "child", 8))
    assert (child.result["exit_code"], child.result["signal"]) == (8, None)
    assert attack.bare("g2_end", "leader", 5).status == 5


def test_g2_exec_failure(attack, tmp_path):
    """A program that cannot be started is brig's error, and never a result of the program."""
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF" + bytes(100))
    broken.chmod(0o755)
    nameless = tmp_path / "script"
    nameless.write_text("#!/no/such/interpreter\n")
    nameless.chmod(0o755)
    for words in (["--", broken], ["--", nameless], ["--", tmp_path / "missing"],
                  ["--", tmp_path], ["--", "/etc/passwd"]):
        run = attack.brig(*words, check=False)
        assert "error" in run.result, run
        assert run.result["error"]["message"] and run.status in (125, 126, 127)
    # Control: the cause is the files, not the way of starting.
    assert attack.brig("--", "/bin/true").status == 0


def test_g3_late_output(attack):
    """Output of a child after the program's end belongs to that run or to none."""
    first = gone(attack.cell("x15_daemon", "/tmp/beats", 5))
    assert first["main"] == "over"
    second = gone(attack.cell("g2_end", "exit", 0))
    assert (second.stdout, second.stderr) == ("", "")
    assert first.result["id"] != second.result["id"]


def test_g4_init(attack):
    """Killed, stopped, traced: pid 1 is not affected, and the verdict is the program's."""
    start = time.monotonic()
    run = gone(attack.cell("g4_init"))
    assert time.monotonic() - start < 10 * harness.SLOW
    assert (run.result["status"], run.result["exit_code"]) == ("failed", 42)
    kills = {name: value for name, value in run.said.items() if name.startswith("kill")}
    assert len(kills) == 9 and set(kills.values()) <= {"EPERM", "OK"}
    for name in ("seize", "attach", "read_memory", "write_memory", "pidfd_getfd"):
        assert run[name] == "EPERM"
    assert run.denial["call"] in ("pidfd_getfd", "process_vm_readv")


def test_g5_result_files(attack, tmp_path):
    """Links, pipes and swapped files in out/: bounded, and no file of the host is returned."""
    back = tmp_path / "back"
    start = time.monotonic()
    run = gone(attack.cell("g5_files", options=["--out-dir", back, "--changes"]))
    assert time.monotonic() - start < 10 * harness.SLOW
    assert run.result["status"] == "ok"
    host = harness.read("/etc/passwd")
    files = {file["path"]: file for file in run.result["files"]}
    assert files["out/true"]["size"] == 7
    for name in ("link", "environ", "shadow", "loop", "root", "fifo", "socket"):
        assert f"out/{name}" not in files
    assert not any("loop/" in name or "root/" in name for name in files)
    if "out/swapped" in files:
        assert files["out/swapped"]["size"] == 7
    for path in back.rglob("*"):
        assert not path.is_symlink() and (path.is_file() or path.is_dir())
        if path.is_file() and path.stat().st_size:
            assert host.encode() not in path.read_bytes()
    assert host.strip().splitlines()[-1] not in json.dumps(run.result)
    # Control: a program that follows the link gets the host's file.
    (tmp_path / "link").symlink_to("/etc/passwd")
    assert (tmp_path / "link").read_text() == host
