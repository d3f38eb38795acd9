# SPDX-License-Identifier: Apache-2.0
"""X1 to X18: a cell that uses too much meets its limit, gets the right verdict, and
harms no other."""

import json
import os
import signal
import subprocess
import time

import harness
import pytest
from aftermath import counted, gone, left_of, neighbour, verdict  # noqa: F401

MIB = 1 << 20


# --- processes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way, most", [("fork", 19), ("clone", 19), ("double", 18),
                                       ("thread", 19), ("vfork", 19)],
                         ids=["X1-fork", "X2-clone", "X2-double", "X3-thread", "X2-vfork"])
def test_x1_x2_x3_tasks(attack, neighbour, way, most):
    """2000 tasks are requested, 20 are allowed, the first process among them."""
    run = gone(attack.cell("x_tasks", way, 2000,
                           options=["--processes", 20, "--timeout", "20s"]))
    if "made" in run.said:
        assert run["refused"] == "EAGAIN"
        assert int(run["made"]) == most
    if way == "double" and not counted(run, "processes"):
        # The intermediate process lives too short for a watch: the twentieth is not always counted.
        assert run.result["status"] in ("failed", "process_limit")
        assert 19 <= run.result["usage"]["processes_peak"] <= 20
    else:
        assert verdict(run) == ("process_limit", "processes", "processes", 20)
        assert run.result["verdict"]["peak"] == 20
        assert run.result["usage"]["processes_peak"] == 20
    # Control: without the limit all of them are made.
    assert attack.bare("x_tasks", way, 50)["made"] == "50"


def test_x1_explosion(attack, neighbour):
    """A bomb whose every part makes more: it is ended by the limit, or by the clock without
    cgroups."""
    start = time.monotonic()
    run = gone(attack.cell("x_tasks", "explode", 0,
                           options=["--processes", 30, "--timeout", "3s"]))
    assert time.monotonic() - start < 6
    if counted(run, "processes"):
        assert verdict(run) == ("process_limit", "processes", "processes", 30)
    else:
        assert run.result["status"] in ("timeout", "process_limit")
    assert run.result["usage"]["processes_peak"] <= 30
    assert run.result["usage"]["processes_peak"] >= 29


# --- memory -------------------------------------------------------------------------------------

# Memory that is counted without a memory cgroup: resident private and shared pages, and the cell's
# files.
SEEN_BY_WATCH = {"anonymous", "tmpfs"}
# Memory that cannot be counted then, and is refused.
REFUSED_UNSEEN = {"memfd", "sysv"}


@pytest.mark.parametrize("kind", ["anonymous", "memfd", "tmpfs", "sysv", "shared", "pipes",
                                  "sockets", "tables"],
                         ids=["X4-anonymous", "X5-memfd", "X5-tmpfs", "X5-sysv", "X5-shared",
                              "X6-pipes", "X6-sockets", "X7-tables"])
def test_x4_to_x7_memory(attack, neighbour, kind):
    """Four processes use 24 MiB each, the cell may have 48 in all."""
    limit = 48 * MIB
    # Pipes cannot be made larger in a cell: many are needed.
    options = ["--memory", "48M", "--disk", "256M", "--timeout", "20s", "--open-files", "4096"]
    run = gone(attack.cell("x_memory", kind, 96, 4, options=options))
    if counted(run, "memory") or kind in SEEN_BY_WATCH:
        assert verdict(run) == ("memory_limit", "memory", "memory_bytes", limit)
        # The kernel stops it at the limit; a watch detects it a moment later.
        least = limit * 0.95
        most = limit if counted(run, "memory") else 2 * limit
        assert least <= run.result["verdict"]["peak"] <= most
        assert "taken" not in run.said
    else:
        # Kernel memory that only a cgroup counts: the result reports that there was none.
        assert run.result["means"]["memory"] == "watch+rlimit"
        assert "cgroup-memory" not in run.result["layers"]
        if kind in REFUSED_UNSEEN:
            assert run["refused"] == "EPERM" and run["taken"] == "0"
    # Control: outside, the sum is not limited. Pipes are, by user; four of them are enough.
    mib = 8 if kind == "pipes" else 96
    if kind == "tmpfs":
        return  # the writable places belong to the cell
    assert attack.bare("x_memory", kind, mib, 4,
                       env={**os.environ, "TIDY": "1"})["taken"] == str(mib)


@pytest.mark.parametrize("kind", ["udp", "tcp", "unix-stream", "unix-dgram"])
def test_x6_socket_buffers(attack, neighbour, kind):
    """Bytes that wait in sockets, from many processes: charged, or limited to a part of
    the memory."""
    run = gone(attack.cell("socket_buffers", kind, 12, 1024,
                           options=["--memory", "64M", "--timeout", "30s"]))
    if kind in run.said:
        assert int(run[kind]) <= 32  # refused, and dropped, by the kernel
    else:
        assert verdict(run) == ("memory_limit", "memory", "memory_bytes", 64 * MIB)
    # Control: outside of a cell they are not limited.
    assert int(attack.bare("socket_buffers", kind, 2, 48)[kind]) >= 48


def test_x6_netlink_buffers(attack):
    """Bytes that wait there are charged to no process, on any kind of host."""
    run = gone(attack.cell("socket_buffers", "netlink", 2, 64))
    assert run["netlink"] == "0"
    assert run["refused"] == "Address family not supported by protocol"
    assert int(attack.bare("socket_buffers", "netlink", 2, 32)["netlink"]) >= 32


def test_x8_locked_and_huge(attack):
    run = gone(attack.cell("x8_lock"))
    assert run.said == {"mlock": "ENOMEM", "mlock2": "ENOMEM", "mmap_locked": "EAGAIN",
                        "mmap_huge": "ENOMEM", "memfd_huge": "EPERM", "shm_huge": "EPERM",
                        "mlockall": "ENOMEM"}
    control = attack.bare("x8_lock")
    assert [control[name] for name in ("mlock", "mmap_locked", "memfd_huge")] == ["OK"] * 3


def test_x9_kernel_objects(attack, neighbour):
    run = gone(attack.cell("x9_objects", 3000, options=["--open-files", 64]))
    made = {name: int(text.split()[0]) for name, text in run.said.items()}
    assert made["timers"] == 1024 and made["signals"] == 1024
    assert made["inotify"] <= 61 and made["epoll"] == 61
    assert made["queues"] <= 10 and made["keys"] == 0
    if counted(run, "memory"):
        # Semaphores are limited only by memory, to which they are charged.
        many = gone(attack.cell("x9_objects", 100000, options=["--memory", "24M"]))
        count = int(many.said.get("semaphores", "0").split()[0])
        assert many.result["usage"]["memory_peak_bytes"] <= 24 * MIB
        assert count < 100000
    # A user's cells may hold all keys that the user may have: then the control has to wait.
    def outside():
        found = attack.bare("x9_objects", 3000, env={**os.environ, "TIDY": "1"})
        return None if found["keys"].endswith("EDQUOT") else found
    control = harness.wait_for(outside, 60)
    assert control["timers"] == "3000 OK" and control["signals"] == "3000 OK"
    assert control["keys"] == "8 OK" and control["queues"] == "8 OK"
    # The kernel removes the keys of dead processes late.
    harness.wait_for(lambda: "brig-x9" not in harness.read("/proc/keys"), 10)


# --- disk and descriptors -----------------------------------------------------------------------

PLACES = ["/sandbox", "/tmp", "/dev/shm"]


@pytest.mark.parametrize("what", ["bytes", "gone"])
def test_x10_disk_bytes(attack, neighbour, what):
    """Three places, one quota; also for deleted files that are still open."""
    run = gone(attack.cell("x10_disk", what, 8192, *PLACES, options=["--disk", "4M"]))
    assert run["result"] == "ENOSPC"
    size = attack.program("x10_disk").stat().st_size  # the program itself is in /sandbox
    assert int(run["made"]) * 1024 + size <= 4 * MIB + 4096  # rounded to the page
    assert int(run["made"]) * 1024 + size >= 4 * MIB - 16 * 4096
    assert verdict(run) == ("disk_limit", "disk", "disk_bytes", 4 * MIB)
    assert run.result["verdict"]["peak"] >= int(run["made"]) * 1024
    assert run.result["verdict"]["peak"] <= 4 * MIB
    assert run.result["exit_code"] == 1
    assert attack.bare("x10_disk", what, 8192, attack.dir)["result"] == "OK"


@pytest.mark.parametrize("what", ["files", "dirs", "links", "fifos"])
def test_x10_disk_inodes(attack, what):
    run = gone(attack.cell("x10_disk", what, 500, *PLACES, options=["--inodes", 200]))
    assert run["result"] == "ENOSPC"
    assert 190 <= int(run["made"]) <= 200
    assert verdict(run) == ("disk_limit", "inodes", "disk_inodes", 200)
    assert int(run["made"]) <= run.result["verdict"]["peak"] <= 200
    assert attack.bare("x10_disk", what, 500, attack.dir)["result"] == "OK"


def test_x10_disk_large_file(attack):
    """One file above the maximum size of a file."""
    code = "open('big', 'wb').truncate(1 << 40)"
    run = gone(attack.brig("--file-size", "1M", "--lang", "python", "-c", code))
    assert run.result["status"] in ("disk_limit", "failed")
    assert "File too large" in run.stderr or verdict(run)[1] == "file_size"
    run = gone(attack.brig("--file-size", "1M", "--lang", "bash", "-c",
                           "trap - XFSZ; head -c 2000000 /dev/zero > big"))
    assert run.result["status"] in ("disk_limit", "failed")


def test_x11_descriptors(attack):
    run = gone(attack.cell("x11_descriptors", 4000, options=["--open-files", 128]))
    assert (run["opened"], run["opened_end"]) == ("125", "EMFILE")
    # In transit in sockets: as many again, and one message.
    assert int(run["sent"]) <= 128 + 16 and run["sent_end"] == "ETOOMANYREFS"
    control = attack.bare("x11_descriptors", 800)
    assert (control["opened"], control["sent"]) == ("800", "800")


def test_x11_least(attack):
    """The smallest limit: every wall holds all the same, and the listener gets its descriptor."""
    (attack.dir / "shared").mkdir()
    for close in ((), (0,), (0, 2)):
        run = attack.cell("x11_descriptors", 100, options=["--open-files", 8, "--rw", "shared"],
                          preexec_fn=lambda fds=close: [os.close(fd) for fd in fds])
        assert (run["opened"], run["opened_end"]) == ("5", "EMFILE")
    run = attack.cell("f06_chroot", options=["--open-files", 8])
    assert run.denial["call"] == "chroot"
    full = attack.cell("f06_chroot")
    assert run.result["layers"] == full.result["layers"]


# --- output -------------------------------------------------------------------------------------


def numbered(size):
    return "".join(f"{line:015}\n" for line in range(size // 16 + 1))[:size]


@pytest.mark.parametrize("streams", ["out", "err", "both"])
def test_x12_flood(attack, neighbour, streams):
    run = gone(attack.cell("x12_flood", streams, 64 * 1024,
                           options=["--stdout", "100k", "--stderr", "100k"]))
    result = run.result
    first = "stderr" if streams == "err" else "stdout"
    assert result["status"] == "output_limit"
    assert result["verdict"]["cause"] in (("stdout", "stderr") if streams == "both" else (first,))
    assert result["verdict"]["limit"] == 102400
    # Up to the limit nothing is lost, and nothing comes after it.
    ended = result["verdict"]["cause"]
    assert result[ended] == numbered(102400) and result[f"{ended}_truncated"]
    for name in ("stdout", "stderr"):
        assert result[name] == numbered(len(result[name])) and len(result[name]) <= 102400
    # Control: outside all of it arrives.
    control = attack.bare("x12_flood", streams, 1024)
    assert len(control.stdout) == (0 if streams == "err" else MIB)


def test_x12_flood_cut(attack):
    """With the other policy the rest is discarded and the program ends by itself."""
    options = attack.policy("cut", on_output_limit="cut")
    run = gone(attack.cell("x12_flood", "both", 4096, options=[*options, "--stdout", "64k"]))
    assert (run.result["status"], run.result["exit_code"]) == ("ok", 0)
    assert run.stdout == numbered(65536) and run.result["stdout_truncated"]
    assert len(run.stderr) == MIB and run.result["stderr_truncated"]


def test_x12_flood_closed_reader(attack):
    """The reader of brig's own stdout goes away in the middle of the flood."""
    words = [harness.BRIG, "run", "--stdout", "64M", "--", attack.program("x12_flood"), "out",
             "60000"]
    flood = subprocess.Popen(words, cwd=attack.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert flood.stdout.read(1600) == numbered(1600).encode()
    flood.stdout.close()
    assert flood.wait(20) == 128 + signal.SIGPIPE
    flood.stderr.close()


# --- time ---------------------------------------------------------------------------------------


def test_x13_spin_cpu(attack, neighbour):
    run = gone(attack.cell("x13_spin", 3, options=["--cpu-time", "500ms", "--timeout", "100s"]))
    assert verdict(run) == ("cpu_limit", "cpu_time", "cpu_ms", 500)
    assert 500 <= run.result["verdict"]["peak"] < 900
    assert 500 <= run.result["usage"]["cpu_ms"] < 900
    assert run.stdout == "spinning=yes\n"


def test_x13_spin_wall(attack, neighbour):
    used = 0
    for wall in (700, 2000, 6000):  # the host decides how much of that time it has a processor
        run = gone(attack.cell("x13_spin", 3, options=["--timeout", f"{wall}ms"]))
        assert verdict(run) == ("timeout", "wall", "wall_ms", wall)
        assert wall <= run.result["usage"]["wall_ms"] < wall + 1800
        assert run.stdout == "spinning=yes\n"
        used = run.result["usage"]["cpu_ms"]
        if used >= 100:
            break
    assert used >= 100


def deaf(attack, states, *words):
    """Control: on the host the same program survives every signal but SIGKILL."""
    run = subprocess.Popen([str(word) for word in words], cwd=attack.dir, text=True,
                           stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert run.stdout.readline()
        # Until it does what it has announced.
        harness.wait_for(lambda: harness.state_of(run.pid) in states)
        run.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        return harness.wait_for(lambda: harness.state_of(run.pid) in states)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        run.stdout.close()


def test_x13_control(attack):
    assert deaf(attack, ("R", "S"), attack.program("x13_spin"), 1)


@pytest.mark.parametrize("way", ["sleep", "stop", "group", "trace", "fifo", "vfork"])
def test_x14_wait(attack, way):
    run = gone(attack.cell("x14_wait", way, options=["--timeout", "400ms"]))
    assert verdict(run) == ("timeout", "wall", "wall_ms", 400)
    assert 400 <= run.result["usage"]["wall_ms"] < 2000
    assert run["waiting"] == "yes"  # and the earlier output is there
    if way == "trace":
        assert run["traceme"] == "EPERM"
    if way != "sleep" and way != "fifo":
        # Control: a signal that ends ordinary programs does not end this one.
        assert deaf(attack, ("T", "t", "S", "D"), attack.program("x14_wait"), way)


def test_x15_daemon(attack, tmp_path):
    """A daemon in a session of its own, which ignores all signals, ends with its program."""
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o777)
    run = gone(attack.cell("x15_daemon", "/mnt/place/beats", 5, options=["--rw", place]))
    assert (run.result["status"], run["main"]) == ("ok", "over")
    assert harness.children() == []
    beats = place / "beats"
    size = beats.stat().st_size if beats.exists() else 0
    time.sleep(0.2)
    assert (beats.stat().st_size if beats.exists() else 0) == size
    # Control: outside it continues.
    log = tmp_path / "log"
    with open(tmp_path / "out", "w") as out:
        subprocess.run([attack.program("x15_daemon"), log, "1"], stdout=out, check=True)
    harness.wait_for(log.exists)
    size = log.stat().st_size
    harness.wait_for(lambda: log.stat().st_size > size)
    harness.wait_for(lambda: not harness.children())


def test_x16_raise(attack):
    run = gone(attack.cell("x16_raise"))
    assert set(run.said.values()) <= {"EPERM", "EACCES", "same"}, run.said
    control = attack.bare("x16_raise")
    assert [control[name] for name in ("fsize", "idle", "attr")] == ["OK"] * 3
    if harness.ROOT:
        assert [control[name] for name in ("nice", "fifo", "ioprio")] == ["OK"] * 3


def test_x17_large(attack):
    run = gone(attack.cell("x17_large", "arguments"))
    assert (run.result["status"], run["exec"]) == ("ok", "E2BIG")
    run = gone(attack.cell("x17_large", "mappings"))
    assert (run.result["status"], run["mappings"]) == ("ok", "10000")
    run = gone(attack.cell("x17_large", "recursion"))
    assert (run.result["status"], run.result["signal"]) == ("failed", signal.SIGSEGV)
    assert verdict(run)[1] == "signal"
    # A command line beyond the kernel's limit is the caller's error, with a message.
    many = [*"x" * 4000, "y" * 131072]
    with pytest.raises(OSError):
        attack.brig("--", "/bin/true", *many)
    refused = attack.brig("--env", "BIG=" + "x" * 100000, "--", "/bin/true", "z" * 100000)
    assert refused.result["status"] == "ok"


def test_x18_many_at_their_limits(attack):
    """Twelve at once, each as if alone: within a fifth of its time alone, on this host now."""
    kinds = [
        (["x_memory", "anonymous", 64, 2], ["--memory", "24M", "--timeout", "20s"], "memory_limit"),
        (["x14_wait", "stop"], ["--timeout", "2s"], "timeout"),
        (["x12_flood", "both", 4096], ["--stdout", "64k", "--stderr", "64k"], "output_limit"),
        (["x10_disk", "bytes", 8192, *PLACES], ["--disk", "2M"], "disk_limit"),
        (["x13_spin", 2], ["--cpu-time", "300ms", "--timeout", "20s"], "cpu_limit"),
        (["g2_end", "exit", 9], [], "failed"),
    ]
    alone = {status: json.loads(attack.spawn(*words, options=options).communicate(
        timeout=harness.TIMEOUT)[0])["usage"] for words, options, status in kinds
        if status in ("timeout", "cpu_limit")}
    runs = [(attack.spawn(*words, options=options), status)
            for words, options, status in kinds * 2]
    for run, status in runs:
        out, err = run.communicate(timeout=harness.TIMEOUT)
        result = json.loads(out)
        assert result["status"] == status, (status, result, err)
        assert left_of(result) == []
        if status == "timeout":
            assert 2000 <= result["usage"]["wall_ms"] <= alone[status]["wall_ms"] * 1.2
        if status == "cpu_limit":
            assert 300 <= result["usage"]["cpu_ms"] <= max(600, alone[status]["cpu_ms"] * 1.2)
