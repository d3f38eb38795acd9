# SPDX-License-Identifier: Apache-2.0
"""L1 to L6: one tenant learns nothing of another."""

import glob
import json
import os
import subprocess

import harness
from aftermath import gone, process_named, status_of

SHARED = glob.glob("/usr/lib/python3.*/os.py")[0]  # in the closure of every Python cell


def pair(attack, tmp_path, start):
    """One holds the file's locks and watches it, the other tries; both must finish."""
    meet = tmp_path / "meet"
    meet.mkdir(exist_ok=True)
    meet.chmod(0o777)
    for name in ("held", "looked"):
        (meet / name).unlink(missing_ok=True)
    runs = [start(role, meet) for role in ("hold", "look")]
    return [run.communicate(timeout=30) for run in runs]


def test_l1_l2_shared_files(attack, tmp_path):
    """Locks, leases and watches on a file that both cells see are separate for each cell."""
    def cell(role, meet):
        return attack.spawn("l_shared", role, SHARED, 10, options=["--rw", meet])

    def plain(role, meet):
        return subprocess.Popen([harness.PYTHON, attack.program("l_shared"), role, SHARED, "10",
                                 meet], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    results = [json.loads(out) for out, _ in pair(attack, tmp_path, cell)]
    assert [result["status"] for result in results] == ["ok", "ok"], results
    assert all("overlay" in result["layers"] for result in results)
    hold, look = (harness.says(result["stdout"]) for result in results)
    assert hold["flock"] == "OK" and hold["ofd"] == "OK"
    assert hold["lease"] == "EPERM" and hold["dnotify"] == "EPERM" and hold["fanotify"] == "EPERM"
    assert look == {"flock": "OK", "ofd": "free"}
    assert hold["events"] == "none"
    # And a cell does not block the host: its own lock is free while the cell's is taken. Control:
    # two plain processes block each other, and one notices what the other opens.
    hold, look = (harness.says(out) for out, _ in pair(attack, tmp_path, plain))
    assert look == {"flock": "EAGAIN", "ofd": "held"}
    assert hold["events"] == "seen"


def test_l3_l4_load(attack):
    """Activity of the machine for others cannot be read."""
    run = gone(attack.cell("l4_load"))
    files = [name for name in run.said if name.startswith("/")]
    assert len(files) >= 15
    for name in files:
        assert run[name] in ("ENOENT", "EACCES"), name
    assert run["perf"] == "EPERM" and run["cachestat"] == "ENOSYS"
    assert run["load"] in ("0.0 0.0 0.0", "none")
    control = attack.bare("l4_load")
    for name in ("/proc/loadavg", "/proc/stat", "/proc/uptime", "/proc/vmstat", "/proc/meminfo"):
        assert control[name] == "OK"
    assert control["cachestat"] in ("OK", "EPERM", "ENOSYS")


def test_l3_residency(attack):
    """mincore reveals nothing of a shared file: not every kernel restricts it to the owner."""
    code = f"""
import ctypes, mmap, os
fd = os.open({SHARED!r}, os.O_RDONLY)
size = os.fstat(fd).st_size
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
at = libc.mmap(None, size, 1, 1, fd, 0)
pages = (size + 4095) // 4096
room = ctypes.create_string_buffer(pages)
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
print("mincore=%d" % libc.mincore(at, size, room))
print("pages=" + ",".join(str(number) for number in sorted(set(room.raw))))
"""
    run = gone(attack.brig("--lang", "python", "-c", code))
    assert run["mincore"] == "-1" or run["pages"] == "1"


def test_l5_numbers(attack):
    """As root each concurrent cell has ids of its own; files of one do not belong to the other."""
    runs = [attack.spawn("x14_wait", "sleep", options=["--timeout", "2s"]) for _ in range(3)]
    try:
        below = [process_named(run, "x14_wait") for run in runs]
        owners = [int(status_of(pid)["Uid"].split()[0]) for pid in below]
        if harness.ROOT:
            assert len(set(owners)) == 3 and 0 not in owners and os.getuid() not in owners
        else:
            assert set(owners) == {os.getuid()}  # no others are available
    finally:
        for run in runs:
            run.terminate()
            run.communicate(timeout=20)


def test_l6_error_texts(attack, tmp_path):
    """The data of one run contains nothing of another: no name, path, output or number."""
    secret = "tenant-one-secret"
    own = tmp_path / secret
    own.mkdir()
    (own / f"{secret}.py").write_text(f"print({secret!r}); raise SystemExit({secret!r})")
    first = attack.spawn("x14_wait", "sleep", options=["--timeout", "1s", "--env",
                                                       f"SECRET={secret}"])
    one = harness.execute([harness.BRIG, "run", "--json", f"{own}/{secret}.py"], own)
    assert secret in one.stdout
    others = [
        ["--lang", "nothing", "-c", "x"], ["--policy", "nothing", "--", "/bin/true"],
        ["--", "/nowhere/at/all"], ["--memory", "64T", "--", "/bin/true"],
        ["--in", "missing", "--", "/bin/true"], ["--lang", "python", "-c", "import nothing"],
        ["--lang", "bash", "-c", "ls -R /tmp /sandbox /mnt; env; ps aux; exit 3"],
    ]
    for words in others:
        run = harness.execute([harness.BRIG, "run", "--json", *words], attack.dir)
        text = run.stdout + run.stderr
        assert secret not in text and json.loads(one.stdout)["id"] not in text
        assert str(first.pid) not in text.replace(str(attack.dir), "")
    # Control: each tenant's own error texts do contain its data.
    assert "nowhere/at/all" in harness.execute([harness.BRIG, "run", "--json", *others[2]],
                                               attack.dir).stdout
    first.communicate(timeout=20)


def test_l4_network_counters(attack):
    """Files of /proc/net that count for the whole host: two cells could communicate
    through them."""
    run = gone(attack.cell("host_counters"))
    told = {name: value for name, value in run.said.items() if " " in name}
    assert len(told) == 8 * 4
    for name, value in told.items():
        if name.endswith("chmod"):
            # As an ordinary user the program has the id of the user who locked them: an accepted
            # risk.
            assert not harness.ROOT or value in ("EPERM", "ENOENT", "EACCES"), name
        else:
            assert value in ("EACCES", "ENOENT"), (name, value)
    # Counters of the cell itself stay readable.
    assert (run["dev"], run["tcp"], run["unix"], run["if_inet6"]) == ("read",) * 4
    control = attack.bare("host_counters")
    assert control["sockstat self3"].startswith("read") and control["softnet_stat self3"].startswith("read")
