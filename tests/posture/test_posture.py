# SPDX-License-Identifier: Apache-2.0
"""Everything that a program can see of itself, compared line by line with a golden file.

`posture.c` prints it; values that depend on the host are replaced here by facts that must be true.
One golden file for root, one for an ordinary user. BRIG_GOLDEN=write writes them anew: a change of
posture is then a change in a file that is reviewed.
"""

import difflib
import json
import os
import pathlib
import platform
import re
import subprocess

import pytest

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
HERE = pathlib.Path(__file__).parent
ROOT = os.geteuid() == 0
GOLDEN = HERE / ("golden-root.txt" if ROOT else "golden-user.txt")
MOUNT_FLAGS = {"ro", "rw", "nosuid", "nodev", "noexec", "nosymfollow"}
SUPER_OPTIONS = {"ro", "rw", "size", "nr_inodes", "mode", "hidepid", "subset"}
UPTIME_MOST_S = 5


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    target = tmp_path_factory.mktemp("posture") / "posture"
    subprocess.run(["gcc", "-D_GNU_SOURCE", "-static", "-O1", "-Wall", "-Wextra", "-Werror",
                    "-o", target, HERE / "posture.c"], check=True)
    return target


def result_of(program, *options):
    # An ordinary user may have a delegated group or not; the golden file is for one without.
    env = dict(os.environ) if ROOT else {**os.environ, "BRIG_NO_CGROUP": "1"}
    done = subprocess.run([BRIG, "run", "--json", *options, "--", str(program), "one", "two words"],
                          capture_output=True, text=True, env=env, timeout=60,
                          stdin=subprocess.DEVNULL)
    result = json.loads(done.stdout)
    assert result.get("status") == "ok", done
    return result


def namespace(match):
    """Whether a namespace is the host's; numbers differ from run to run."""
    name, link = match.groups()
    name_here = "pid" if name == "pid_for_children" else "time" if name.startswith("time") else name
    return f"ns {name}: " + ("HOST" if link == os.readlink(f"/proc/self/ns/{name_here}") else "own")


def mount(match):
    """Without ids and device numbers; a device's file system depends on the host."""
    root, point, flags, rest = match.groups()
    flags = ",".join(f for f in flags.split(",") if f in MOUNT_FLAGS)
    if point.startswith("/dev/") and point != "/dev/shm":
        return f"mount: {point} {flags} device"
    kind, _, options = rest.split()
    kept = [o for o in options.split(",") if o.split("=")[0] in SUPER_OPTIONS]
    # hidepid=2 has had a name since 5.8
    kept = ["hidepid=invisible" if o == "hidepid=2" else o for o in kept]
    return f"mount: {root} on {point} {flags} {kind} {','.join(kept)}"


def seconds(match):
    clock, value = match.groups()
    return f"{clock}: " + ("near zero" if 0 <= int(value) < UPTIME_MOST_S else f"LATE {value}")


def affinity(match):
    return "affinity: " + ("all" if int(match[1]) == len(os.sched_getaffinity(0)) else match[1])


# An ordinary user's namespace cannot drop the caller's groups. In a cell the caller's own has the
# number of the cell's, all others show as the overflow id.
GROUPS = [] if ROOT else sorted(1000 if g == os.getgid() else 65534 for g in os.getgroups())


def groups(match):
    seen = sorted(int(number) for number in match[1].split())
    return "status Groups:\t" + (" " if seen == GROUPS else match[1])


RULES = [
    (rf"groups: {len(GROUPS)}", lambda m: "groups: 0"),
    (r"status Groups:\t(.*)", groups),
    (r"ns (\w+): (\S+)", namespace),
    (r"mount: \d+ \d+ \d+:\d+ (\S+) (\S+) (\S+)(?: \S+:\S+)* - (.*)", mount),
    (r"(boottime|monotonic): (\d+)", seconds),
    (r"affinity: (\d+)", affinity),
    (r"uname release: (.*)", lambda m: "uname release: " + ("host's" if m[1] == platform.release() else m[1])),
    (r"uname version: .*", lambda m: "uname version: any"),
    (r"uname machine: " + platform.machine(), lambda m: "uname machine: host's"),
    (r"content (/sys/devices/system/cpu/\w+): (0|0-\d+)", lambda m: f"content {m[1]}: a range"),
    (r"cgroup: \d+:[^:]*:(.*)", lambda m: f"cgroup: {m[1]}"),
    (r"self (loginuid|sessionid): (4294967295|ENOENT)", lambda m: f"self {m[1]}: none"),
    # A cell has the nice value of its starter.
    (rf"(.*\bnice): {os.nice(0)}", lambda m: f"{m[1]}: 0"),
    # The number of the mapped id belongs to the cell, beyond the first two columns.
    (r"self ([ug]id_map): +(\d+) +(\d+) +(\d+)", lambda m: f"self {m[1]}: {m[2]} {m[3]} {m[4]}"),
]


def normal(text):
    lines = []
    for line in text.splitlines():
        for pattern, replace in RULES:
            match = re.fullmatch(pattern, line)
            if match:
                line = replace(match)
                break
        # The number of hierarchies differs; each must show its root.
        if not (line.startswith("cgroup: ") and line in lines):
            lines.append(line)
    return lines


def compare(lines, golden):
    if os.environ.get("BRIG_GOLDEN") == "write":
        golden.write_text("\n".join(lines) + "\n")
    wanted = golden.read_text().splitlines()
    diff = list(difflib.unified_diff(wanted, lines, golden.name, "seen", lineterm="", n=1))
    assert not diff, "\n".join(diff)


def test_posture(program):
    result = result_of(program)
    lines = normal(result["stdout"])
    assert not [line for line in lines if "HOST" in line or "LATE" in line]
    compare(["layers: " + " ".join(result["layers"]), *lines], GOLDEN)


def test_the_same_every_time(program):
    assert normal(result_of(program)["stdout"]) == normal(result_of(program)["stdout"])


def test_nothing_of_the_caller(program, tmp_path):
    """Descriptors, ignored and masked signals, variables and limits of the caller do not show."""
    before = normal(result_of(program)["stdout"])
    script = f"""
import json, os, resource, signal, subprocess, sys
os.umask(0o077)
os.chdir({str(tmp_path)!r})
os.setsid()
for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGPIPE, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGALRM])
keep = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(40)]
for fd in keep:
    os.set_inheritable(fd, True)
os.environ["SECRET"] = "caller"
os.environ["LD_PRELOAD"] = ""
sys.exit(subprocess.call(sys.argv[1:], close_fds=False, restore_signals=False))
"""
    env = dict(os.environ) if ROOT else {**os.environ, "BRIG_NO_CGROUP": "1"}
    done = subprocess.run(["/usr/bin/python3", "-c", script, BRIG, "run", "--", str(program), "one",
                           "two words"], capture_output=True, text=True, env=env, timeout=60,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done
    assert set(normal(done.stdout)) ^ set(before) == set()


def test_posture_can_differ(program):
    """The control: outside a cell almost none of it is true."""
    done = subprocess.run([program, "no-files"], capture_output=True, text=True, timeout=60)
    wanted = GOLDEN.read_text().splitlines()
    seen = normal(done.stdout)
    assert "ns user: HOST" in seen and "ns net: HOST" in seen
    assert sum(line in wanted for line in seen) < len(wanted) // 2
