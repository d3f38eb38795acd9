# SPDX-License-Identifier: Apache-2.0
"""Questions about files are asked of a real cell: hostile paths, policies and host directories."""

import json
import os
import select
import stat
import subprocess
import time

import pytest

BRIG = os.environ.get("BRIG", "build/brig")
WISHES = ("--read", "--write", "--exec")


def questions(paths, wishes=WISHES):
    return [word for path in paths for wish in wishes for word in (wish, path)]


def snapshot(top):
    """All that a look from outside can show of a tree, but for the times of access."""
    found = {}
    for path in [top, *sorted(top.rglob("*"))]:
        info = path.lstat()
        content = os.readlink(path) if path.is_symlink() else \
            path.read_bytes() if stat.S_ISREG(info.st_mode) and os.access(path, os.R_OK) else None
        found[str(path)] = (info.st_ino, info.st_mode, info.st_nlink, info.st_size, info.st_uid,
                            info.st_mtime_ns, info.st_ctime_ns, content)
    return found


PROGRAM = """
#include <stdio.h>
int main(void) { FILE *f = fopen("/mnt/work/marker", "w"); if (f) fclose(f); puts("ran"); return 0; }
"""


@pytest.fixture
def tree(tmp_path, config):
    """A host directory with one file of each kind, and a policy that lists it."""
    tmp_path.chmod(0o755)
    top = (tmp_path / "shared").resolve()
    outside = (tmp_path / "outside").resolve()
    for place in (top, top / "sub", top / "closed", outside):
        place.mkdir()
        place.chmod(0o777)
    for name, text, mode in (("file", "content", 0o666), ("own", "content", 0o600),
                             ("none", "content", 0), ("script", "#!/bin/sh\necho ran >/mnt/work/marker\n", 0o777),
                             ("setuid", "#!/bin/sh\n", 0o4777), ("odd", "no program", 0o777)):
        (top / name).write_text(text)
        (top / name).chmod(mode)
    (outside / "file").write_text("content")
    (outside / "file").chmod(0o666)
    os.mkfifo(top / "fifo")
    (top / "fifo").chmod(0o666)
    (top / "out").symlink_to(outside / "file")
    (top / "inside").symlink_to("/sandbox/new")
    (top / "loop").symlink_to("loop")
    (top / "up").symlink_to("../../etc/passwd")
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    subprocess.run(["gcc", "-static", "-o", top / "program", source], check=True)
    (top / "program").chmod(0o777)
    (top / "closed").chmod(0o700)
    place = config(some={"extends": "default", "mounts": [
        {"name": "work", "path": str(top), "mode": "rw"},
        {"name": "data", "path": str(top), "mode": "ro"}]},
        runs={"extends": "default", "exec_writable": True, "mounts": [
            {"name": "work", "path": str(top), "mode": "rw"}]})
    return top, outside, ["--config", place, "--policy", "some"]


NAMES = ("", "/file", "/own", "/none", "/script", "/setuid", "/odd", "/fifo", "/out", "/inside", "/loop",
         "/up", "/program", "/sub", "/sub/new", "/closed", "/closed/new", "/new", "/new/deep", "/file/x",
         "/sub/../file", "/" + "n" * 255, "/" + "n" * 256)

TRY = """
import json, os

def attempt(path, mode):
    try:
        if mode == "x":
            pid = os.fork()
            if pid == 0:
                null = os.open("/dev/null", os.O_RDWR)
                os.dup2(null, 1), os.dup2(null, 2)
                try:
                    os.execv(path, ["x"])
                except OSError:
                    os._exit(99)
            return "refused" if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 99 else "allowed"
        if mode == "w" and os.path.isdir(path):
            os.close(os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o600))
        else:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK if mode == "w" else os.O_RDONLY | os.O_NONBLOCK))
        return "allowed"
    except OSError:
        return "refused"

print(json.dumps({path: [attempt(path, mode) for mode in %r] for path in %r}))
"""


@pytest.mark.parametrize("name", ["work", "data"])
def test_host_directory_stays_as_it_is(ask, tree, name):
    top, outside, policy = tree
    paths = [f"/mnt/{name}{rest}" for rest in NAMES]
    before = snapshot(top), snapshot(outside)
    reader = os.open(top / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    answers = ask(*policy, *questions(paths))
    # A writer at the other end, however short, would have been noticed.
    assert select.select([reader], [], [], 0)[0] == []
    os.close(reader)
    assert (snapshot(top), snapshot(outside)) == before
    assert len(answers) == 3 * len(paths)
    assert not (top / "marker").exists()


def test_host_directory_answers(ask, result, tree):
    """Existing files are answered as a program finds them; only attempts without effect are made."""
    _, _, policy = tree
    made = ("/inside", "/new", "/new/deep", "/sub/new", "/closed/new", "/" + "n" * 255)
    names = [name for name in NAMES if name not in ("/fifo", "/script", "/program", *made)]
    paths = [f"/mnt/work{name}" for name in names]
    asked = {}
    for answer in ask(*policy, *questions(paths)):
        asked.setdefault(answer["question"], []).append(answer["verdict"])
    for option, modes, part in (("--ro", "rx", (0, 2)), ("--rw", "w", (1,))):
        done = result(*policy, option, "work", "-c", TRY % (modes, paths))
        assert done["status"] == "ok", done
        for path, real in json.loads(done["stdout"]).items():
            assert [asked[path][i] for i in part] == real, (option, path)


def test_answers_by_rule(ask, tree):
    _, _, policy = tree

    def one(wish, path):
        return ask(*policy, wish, path)[0]

    for path in ("/mnt/work/new", "/mnt/work/new/deep", "/mnt/work/file", "/mnt/work", "/mnt//work/file"):
        answer = one("--write", path)
        assert answer["verdict"] == "allowed" and answer["condition"] == "--rw work", answer
        assert answer["origin"]["key"].startswith("mounts"), answer
    answer = one("--write", "/mnt/data/file")
    assert answer["verdict"] == "refused" and "EROFS" in answer["reason"] and "rw" in answer["repair"]
    assert one("--read", "/mnt/work/none")["verdict"] == "refused"
    assert "EACCES" in one("--read", "/mnt/work/none")["reason"]
    assert "ELOOP" in one("--read", "/mnt/work/loop")["reason"]
    assert "ENOEXEC" in one("--exec", "/mnt/work/odd")["reason"]
    for path in ("/mnt/work/program", "/mnt/work/script"):
        assert one("--exec", path)["verdict"] == "allowed"
    # The link leads to a file of the host, which the cell does not have.
    assert one("--read", "/mnt/work/out")["verdict"] == "refused"
    # And this one to the cell's own directory.
    assert one("--write", "/mnt/work/inside")["origin"]["key"] == "limits.disk"
    assert one("--read", "/mnt/work/fifo")["verdict"] == "allowed"


def test_nothing_is_executed(brig, tree):
    top, _, policy = tree
    for name in ("some", "runs"):
        policy[-1] = name
        done = brig("policy", "check", *policy, "--exec", "/mnt/work/program", "--exec", "/mnt/work/script",
                    "--write", "/mnt/work/file")
        assert done.returncode == 0 and b"ran" not in done.stdout, done
        assert not (top / "marker").exists()
    # The same program, in a run, leaves it.
    brig("run", *policy, "--rw", "work", "--", "/mnt/work/program")
    assert (top / "marker").exists()


def test_a_mount_that_cannot_be(brig, config, tmp_path):
    place = config(some={"extends": "default", "mounts": [
        {"name": "gone", "path": str(tmp_path / "gone"), "mode": "ro"}]})
    done = brig("policy", "check", "--config", place, "--policy", "some", "--read", "/mnt/gone/x")
    assert done.returncode not in (0, 1) and b"no cell can be built" in done.stderr, done
    # The others do not need it.
    done = brig("policy", "check", "--config", place, "--policy", "some", "--read", "/etc/passwd")
    assert done.returncode == 0


def test_many_mounts(ask, config, tmp_path):
    tmp_path.chmod(0o755)
    mounts = []
    for n in range(40):
        place = tmp_path.resolve() / f"d{n}"
        place.mkdir()
        place.chmod(0o777)
        (place / "file").write_text("x")
        (place / "file").chmod(0o666)
        mounts.append({"name": f"m{n}", "path": str(place), "mode": "rw" if n % 2 else "ro"})
    place = config(some={"extends": "default", "mounts": mounts})
    answers = ask("--config", place, "--policy", "some",
                  *questions([f"/mnt/m{n}/file" for n in range(40)], ("--read", "--write")))
    said = [answer["verdict"] for answer in answers]
    assert said == ["allowed", "refused", "allowed", "allowed"] * 20
    assert answers[-1]["condition"] == "--rw m39"


def test_many_questions_in_one_cell(ask):
    paths = [f"/tmp/a{n}/b/c" for n in range(200)] + [f"/usr/bin/nonesuch{n}" for n in range(141)]
    start = time.monotonic()
    answers = ask(*questions(paths))
    assert time.monotonic() - start < 30
    assert [a["question"] for a in answers] == [path for path in paths for _ in WISHES]
    assert {a["verdict"] for a in answers[:600]} == {"allowed"}
    assert {a["verdict"] for a in answers[600:]} == {"refused"}


def test_no_question_changes_another(verdicts):
    """Files that are made to ask are gone again, and the inodes of the cell are not used up."""
    before = verdicts("--read", "/tmp/x/y", "--exec", "/tmp/x")
    many = questions([f"/tmp/x/{n}" for n in range(100)] + ["/tmp/x", "/sandbox/x", "/dev/shm/x"])
    assert verdicts(*many, "--read", "/tmp/x/y", "--exec", "/tmp/x")[-2:] == before


@pytest.mark.parametrize("path, verdict, word", [
    ("/tmp/new\nallowed  read /etc/shadow", "allowed", ""),
    ("/etc/\x1b[2Jpasswd", "refused", "ENOENT"),
    ("/" + "a" * 5000, "refused", "ENAMETOOLONG"),
    ("/tmp/" + "a" * 100000, "refused", "ENAMETOOLONG"),
    ("/tmp/" + "a/" * 2044 + "a", "refused", "E"),
    ("/tmp" + "/." * 2040 + "/x", "allowed", ""),
    ("/" + "../" * 1300 + "etc/passwd", "allowed", ""),
    ("/tmp/" + "a" * 256, "refused", "ENAMETOOLONG"),
    ("/tmp/new/", "refused", ""),
    ("/etc/passwd/", "refused", "ENOTDIR"),
    ("/tmp/../root/x", "refused", "ENOENT"),
    ("/proc/self/cwd/../tmp/x", "allowed", ""),
    ("/proc/self/fd/999", "depends", ""),
    ("/proc/12345/status", "depends", ""),
    ("/proc/1/status", "refused", "ENOENT"),
    ("/proc/kcore", "refused", "ENOENT"),
    ("/proc/self/ns/net", "depends", ""),
    ("/dev/stdin", "depends", ""),
    ("/dev/kmsg", "refused", "ENOENT"),
    ("/dev/sda", "refused", "ENOENT"),
])
def test_paths(ask, brig, path, verdict, word):
    answer = ask("--read", path)[0]
    assert (answer["verdict"], answer["question"]) == (verdict, path)
    assert word in answer["reason"]
    # In words each answer is its own line, whatever the path contains.
    lines = brig("policy", "check", "--read", path).stdout.decode().splitlines()
    assert len([line for line in lines if not line.startswith(" ")]) == 1


def test_bytes_of_a_path(brig):
    done = subprocess.run([BRIG, "policy", "check", "--read", b"/tmp/\xff\xfe"], capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done


MORE = ["/tmp", "/sandbox", "/sandbox/out", "/dev", "/dev/shm", "/dev/random", "/dev/full", "/proc",
        "/proc/self/environ", "/proc/self/maps", "/proc/self/net/sockstat", "/proc/self/net/dev",
        "/proc/self/oom_score_adj", "/proc/self/attr/current", "/proc/sys", "/proc/kcore", "/usr",
        "/usr/bin/su", "/usr/bin/passwd", "/usr/bin/env", "/etc/ssl/private"]


def test_more_files(ask, result):
    done = result("-c", TRY % ("rwx", MORE))
    assert done["status"] == "ok", done
    answers = ask(*questions(MORE))
    said = {path: [a["verdict"] for a in answers[3 * n:3 * n + 3]] for n, path in enumerate(MORE)}
    assert said == json.loads(done["stdout"])


def test_path_of_the_host_alone(ask):
    for place, word in (("/var/log", "--ro"), ("/etc/shadow", "--in")):
        for wish in ("--read", "--exec"):
            answer = ask(wish, place)[0]
            assert answer["verdict"] == "refused" and "only on the host" in answer["reason"]
            assert word in answer["repair"]


ALL = ["@basic", "@file", "@process", "@thread"]


def test_filters(ask, brig, config):
    """The filter answers as well; where it lets nothing start, or nothing be asked, that is said."""
    place = config(closed={"extends": "default", "syscalls": [*ALL, "-openat"]},
                   still={"extends": "default", "syscalls": ["@basic", "@file"]},
                   alone={"extends": "default", "syscalls": [*ALL, "-clone", "-fork", "-vfork"]})
    answers = ask("--config", place, "--policy", "closed", *questions(["/etc/passwd", "/tmp/x"], ("--read", "--write")))
    assert [(a["verdict"], "EPERM" in a["reason"]) for a in answers] == [("refused", True)] * 4
    done = brig("policy", "check", "--config", place, "--policy", "still", "--read", "/etc/passwd")
    assert done.returncode == 126 and b"no program can start" in done.stderr, done
    done = brig("policy", "check", "--config", place, "--policy", "alone", "--exec", "/bin/sh")
    assert done.returncode == 126 and b"needed to ask" in done.stderr, done


def test_policies_without_a_cell(brig, config):
    place = config(shell={"extends": "default", "runtimes": ["bash"], "guard": "off"},
                   none={"extends": "default", "runtimes": ["klingon"]})
    assert brig("policy", "check", "--config", place, "--policy", "shell", "--exec", "/bin/sh").returncode == 0
    done = brig("policy", "check", "--config", place, "--policy", "none", "--read", "/etc/passwd")
    assert done.returncode not in (0, 1) and b"no cell can be built" in done.stderr, done


def test_small_limits(verdicts, config):
    """A cell that ends early has answered some: the others are asked again."""
    place = config(small={"extends": "default", "limits": {"stdout": "2K", "processes": 4, "open_files": 16,
                                                           "disk": "64K", "inodes": 16}})
    paths = [f"/tmp/{n}" for n in range(30)]
    assert verdicts("--config", place, "--policy", "small", *questions(paths)) == ["allowed"] * 90


# --- modules ---

@pytest.mark.parametrize("text", ["os; import sys", "os\nimport sys", "os as x", "os, sys", "from os import *",
                                  "from os import path, sys", "from  os import path", "from os import",
                                  "from os import a.b", "if", "a" * 200, "from " + "a" * 200 + " import b", ""])
def test_texts_that_are_no_module(brig, config, text):
    place = config(some={"extends": "default", "guard": "imports"})
    done = brig("policy", "check", "--config", place, "--policy", "some", "--module", text)
    assert done.returncode == 2, done


def test_many_modules(ask, result, config):
    place = config(some={"extends": "default", "guard": "imports"},
                   closed={"extends": "default", "guard": "strict"})
    for policy in ("some", "closed"):
        names = ["json", "ctypes", "from os import path", "from math import sqrt", "from json import codecs",
                 "from urllib import request", "socket"] * 20
        answers = ask("--config", place, "--policy", policy, *[w for n in names for w in ("--module", n)])
        for name, answer in list(zip(names, answers))[:7]:
            code = "def f():\n    %s\n" % (name if name.startswith("from") else f"import {name}")
            done = result("--config", place, "--policy", policy, "-c", code)
            real = "refused" if done["status"] == "rejected" else "allowed"
            assert answer["verdict"] == real, (name, answer, done["verdict"])
            if real == "refused":
                assert done["verdict"]["refusal"]["reason"] in answer["reason"], (answer, done)
        assert [a["verdict"] for a in answers] == [a["verdict"] for a in answers[:7]] * 20
