# SPDX-License-Identifier: Apache-2.0
"""docs/design/threat-model.md, Filesystem: F1 to F14."""

import ctypes
import hashlib
import os
import stat
import threading

import harness
import pytest

REFUSED = {"EPERM", "EACCES", "EROFS"}
SH = ["sh", "-ec"]


def namespaced_sh(attack, script, name, *args):
    """Control: the payload as root of fresh namespaces, after a script that prepares them."""
    program = attack.program(name)
    words = [*harness.NAMESPACES, *SH, script + '\nexec "$@"', "sh", program, *args]
    return harness.Outcome(harness.execute(words, attack.dir))


# --- F1 -----------------------------------------------------------------------------------------


def test_F01_host_paths_absent(attack):
    secret = attack.dir / "secret.txt"
    secret.write_text("of the host")
    paths = [secret, "/root", "/home", "/var", "/boot", "/run", "/etc/shadow", "/etc/ssh",
             "/etc/machine-id", "/usr/src", os.environ.get("BRIG_TREE", os.getcwd())]
    seen = attack.cell("f01_host_paths", *paths)
    assert len(seen.said) == 8 * len(paths)
    assert set(seen.said.values()) == {"ENOENT"}
    # Control: outside, the same paths reach it.
    bare = attack.bare("f01_host_paths", secret)
    for way in ("", "/proc/self/root", "../../../../../../../../.."):
        assert bare[f"{way}:{secret}"] == "OK"
    assert bare["seen"] == "content"


# --- F2 -----------------------------------------------------------------------------------------

PLACES = ["/", "/usr", "/usr/bin", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/python3.11",
          "/bin", "/lib", "/etc", "/dev", "/sys", "/mnt", "/proc"]


def test_F02_system_not_writable(attack):
    # /bin/true: the closure of a distribution's command has the most files of the host in it.
    program = attack.program("f02_write_system")
    seen = attack.brig("--in", program, "--", "sh", "-c", './f02_write_system "$@"', "sh", *PLACES)
    assert len(seen.said) > 40
    # ENOENT: the directory does not exist, or (in /proc) cannot have such a file.
    odd = {what: value for what, value in seen.said.items() if value not in REFUSED | {"ENOENT"}}
    assert not odd
    assert seen["create /etc"] == seen["unlink /etc"] == seen["chmod /etc"] == "EROFS"
    assert seen["create /usr/bin"] in REFUSED
    assert seen["append /usr/bin"] in REFUSED


def test_F02_control(attack):
    script = "mount -t tmpfs none /etc; touch /etc/passwd"
    bare = namespaced_sh(attack, script, "f02_write_system", "/etc")
    assert bare.said and set(bare.said.values()) <= {"OK", "ENOENT"}
    assert bare["append /etc"] == bare["truncate /etc"] == bare["chmod /etc"] == "OK"


# --- F3 -----------------------------------------------------------------------------------------


def test_F03_nothing_stays(attack):
    for _ in range(2):
        seen = attack.cell("f03_marker")
        assert seen["found"] == ""
        assert seen["writable"].split() == ["/dev/shm", "/sandbox", "/sandbox/out", "/tmp"]


def test_F03_control(attack):
    attack.bare("f03_marker", attack.dir)
    assert attack.bare("f03_marker", attack.dir)["found"] == str(attack.dir)


# --- F4 -----------------------------------------------------------------------------------------


def test_F04_cwd_inside(attack):
    seen = attack.cell("f04_cwd")
    assert seen.said == {"cwd": "/sandbox", "top": "root", "root": "/"}
    # Control: a directory that is not below the root is reported as such by the same payload.
    bare = attack.bare("f04_cwd")
    assert bare["cwd"] == str(attack.dir)
    script = "mount --bind . .; cd .; mount --move . /mnt 2>/dev/null || true; umount -l /mnt"
    loose = namespaced_sh(attack, script, "f04_cwd")
    assert loose["cwd"].startswith("(unreachable)") and loose["top"] == "beyond"


def test_F04_cwd_removed(attack):
    """Started from a removed directory: still in /sandbox."""
    gone = attack.dir / "gone"
    gone.mkdir()
    words = [*SH, 'cd gone; rmdir ../gone; exec "$@"', "sh", os.path.abspath(harness.BRIG), "run",
             "--", attack.program("f04_cwd")]
    seen = harness.Outcome(harness.execute(words, attack.dir))
    assert seen["cwd"] == "/sandbox"


# --- F5 -----------------------------------------------------------------------------------------


def test_F05_no_descriptors(attack):
    held = [os.open("/etc/passwd", os.O_RDONLY), os.open("/", os.O_RDONLY | os.O_DIRECTORY)]
    held.append(os.dup2(held[1], 200))
    try:
        seen = attack.cell("f05_descriptors", pass_fds=held)
        bare = attack.bare("f05_descriptors", pass_fds=held)
    finally:
        for fd in held:
            os.close(fd)
    assert seen["open"] == ""
    assert {str(fd) for fd in held} <= set(bare["open"].split())


# --- F6 -----------------------------------------------------------------------------------------


def test_F06_chroot_refused(attack):
    seen = attack.cell("f06_chroot")
    assert seen["chroot"] == seen["chroot-again"] == "EPERM"
    assert seen["before"] == seen["after"]
    assert seen.denial["call"] == "chroot"
    control = attack.namespaced("f06_chroot")
    assert control["chroot"] == control["chroot-again"] == "OK"


# --- F7 -----------------------------------------------------------------------------------------

MOUNT_CALLS = ["mount", "umount2", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
               "fspick", "mount_setattr", "pivot_root", "unshare"]
GROUPS = ["@basic", "@file", "@process", "@thread", "@socket", "@ipc", "@dangerous"]


def given(attack):
    """A directory of the host, mounted read-only, and the options for it."""
    data = attack.dir / "data"
    data.mkdir(exist_ok=True)
    return data, ["--ro", f"data={data}"]


def test_F07_remount_refused(attack):
    data, options = given(attack)
    seen = attack.cell("f07_remount", "/mnt/data", options=options)
    written = seen.said.pop("write")
    assert len(seen.said) == 17
    assert set(seen.said.values()) == {"EPERM"}
    assert written in REFUSED
    assert seen.denial["call"] == "mount"
    assert os.listdir(data) == []


def test_F07_second_wall(attack):
    """The policy allows the calls: then the kernel refuses them, for lack of capabilities."""
    data, options = given(attack)
    options += attack.policy("mounts", syscalls=GROUPS + MOUNT_CALLS)
    seen = attack.cell("f07_remount", "/mnt/data", options=options)
    assert seen.denial == {}
    assert seen.said.pop("write") in REFUSED
    assert "OK" not in seen.said.values()
    assert os.listdir(data) == []


def test_F07_third_wall(attack):
    """A namespace of its own would give it every capability: none is available."""
    data, options = given(attack)
    options += attack.policy("mounts", syscalls=GROUPS + MOUNT_CALLS)
    seen = attack.cell("f07_remount", "/mnt/data", "unshare", options=options)
    assert seen["unshare"] == "ENOSPC"  # userns.count; behind it the flags are locked
    for what in ("remount", "remount-root", "umount-lazy", "umount", "mount_setattr"):
        assert seen[what] in {"EPERM", "EINVAL"}
    assert seen["write"] in REFUSED
    assert os.listdir(data) == []


def test_F07_control(attack):
    data, _ = given(attack)
    script = "mount --bind data data; mount -o remount,bind,ro data; ! touch data/x 2>/dev/null"
    control = namespaced_sh(attack, script, "f07_remount", data)
    for what in ("remount", "bind", "tmpfs", "open_tree", "fsopen", "fsmount", "mount_setattr"):
        assert control[what] == "OK"
    assert control["write"] == "OK"


# --- F8 -----------------------------------------------------------------------------------------


def test_F08_handles_refused(attack):
    seen = attack.cell("f08_handles")
    assert seen.said == {"name_to_handle_at": "EPERM", "open_by_handle_at": "EPERM"}
    assert seen.denial["call"] == "name_to_handle_at"
    bare = attack.bare("f08_handles", attack.dir)
    assert bare["name_to_handle_at"] == "OK"
    if harness.ROOT:
        assert bare["open_by_handle_at"] == "OK"


# --- F9 -----------------------------------------------------------------------------------------


def refused(outcome):
    """brig's own error for a run that it did not start; None: it started."""
    return (outcome.result.get("error") or {}).get("message")


def test_F09_planted_links_refused(attack):
    shared, target = attack.dir / "shared", attack.dir / "target"
    shared.mkdir()
    target.mkdir()
    secret = attack.dir / "secret.txt"
    secret.write_text("of the host")
    seen = attack.cell("f09_plant", "/mnt/shared", target, secret, options=["--rw", shared])
    assert seen.said == {"directory": "OK", "file": "OK", "result": "OK"}
    # Control: a program that follows the links gets there.
    assert (shared / "input.txt").read_text() == "of the host"
    assert os.path.samefile(shared / "next", target)
    # The next run gets the planted files.
    write = ["-c", "open('/mnt/next/x','w').close(); print(open('input.txt').read())",
             "--lang", "python"]
    for option in (["--rw", shared / "next"], ["--ro", shared / "next"],
                   ["--in", shared / "input.txt"], ["--ro", f"next={shared}/next/../target"]):
        assert refused(attack.brig(*option, *write, check=False))
    # Results are written beneath a directory where a planted link has the name of a result.
    harness.execute([harness.BRIG, "run", "--out-dir", shared, "-c",
                     "open('out/x', 'w').write('y')", "--lang", "python"], attack.dir)
    assert os.listdir(target) == []
    assert secret.read_text() == "of the host"


# --- F10 ----------------------------------------------------------------------------------------


class Swapper(threading.Thread):
    """Exchanges two names repeatedly: one a directory, the other a link."""

    def __init__(self, one, other):
        super().__init__()
        self.names = [os.fsencode(one), os.fsencode(other)]
        self.swaps = 0
        self.over = threading.Event()

    def run(self):
        exchange = ctypes.CDLL(None, use_errno=True).renameat2
        while not self.over.is_set():
            # AT_FDCWD, RENAME_EXCHANGE
            assert exchange(-100, self.names[0], -100, self.names[1], 2) == 0
            self.swaps += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *ignored):
        self.over.set()
        self.join()


@pytest.mark.parametrize("where", ["last", "middle"])
def test_F10_swapped_directory(attack, where):
    """While runs start, the directory is alternately a link to another one."""
    (attack.dir / "target" / "ws").mkdir(parents=True)
    (attack.dir / "real" / "ws").mkdir(parents=True)
    target = attack.dir / "target"
    if where == "last":
        name, spare = attack.dir / "real" / "ws", attack.dir / "spare"
        spare.symlink_to(target / "ws")
        given_path = name
    else:
        name, spare = attack.dir / "real", attack.dir / "spare"
        spare.symlink_to(target)
        given_path = name / "ws"
    ended = {True: 0, False: 0}
    followed = 0
    program = attack.program("f10_mark")
    with Swapper(name, spare) as swapper:
        while swapper.swaps < 10000 or min(ended.values()) == 0 or sum(ended.values()) < 30:
            outcome = attack.brig("--rw", f"ws={given_path}", "--", program, check=False)
            ended[refused(outcome) is None] += 1
            assert sum(ended.values()) < 300, f"always the same: {ended}"
        # Control: a program that uses the path ends up in the target.
        for _ in range(1000):
            try:
                (given_path / "followed").write_text("x")
            except OSError:
                pass
            followed += (target / "ws" / "followed").exists()
    assert followed
    assert os.listdir(target / "ws") == ["followed"]
    real = next(path for path in (attack.dir / "real", attack.dir / "spare") if not path.is_symlink())
    places = [real / "ws", attack.dir / "spare"] if where == "last" else [real / "ws"]
    assert any((place / "mark").exists() for place in places if not place.is_symlink())


# --- F11 ----------------------------------------------------------------------------------------

NAMES = ["a/../../b", "a/..", "a//b", "a/./b", "a/", "x" * 300, "/".join(["y"] * 2100),
         "new\nline", "bell\a", "esc\033[31m", "\udcff\udcfe", "out/../../../etc/x"]


@pytest.mark.parametrize("name", NAMES, ids=[ascii(name)[:24] for name in NAMES])
def test_F11_input_names_rejected(attack, name):
    (attack.dir / "plain.txt").write_text("x")
    word = os.fsencode(f"{name}=plain.txt")
    words = [harness.BRIG.encode(), b"run", b"--json", b"--in", word, b"-c", b"print(1)",
             b"--lang", b"python"]
    done = harness.subprocess.run(words, cwd=attack.dir, capture_output=True)
    result = harness.json.loads(done.stdout)
    assert result["error"]["code"] == "input", result
    assert os.listdir(attack.dir) == ["plain.txt"]


def test_F11_input_names_above(attack):
    """On the command line a name that begins with . or / is a path of the caller, never a name."""
    (attack.dir / "plain.txt").write_text("x")
    for name in ("../x", "/abs", "."):
        outcome = attack.brig("--in", f"{name}=plain.txt", "-c", "print(1)", "--lang", "python",
                              check=False)
        assert refused(outcome)
    assert not (attack.dir.parent / "x").exists() and not os.path.exists("/abs")


def test_F11_input_links_rejected(attack):
    (attack.dir / "plain.txt").write_text("x")
    (attack.dir / "link").symlink_to("plain.txt")
    (attack.dir / "proc").symlink_to("/proc/self/environ")
    os.mkfifo(attack.dir / "fifo")
    for name in ("link", "proc", "fifo", ".", "/dev/zero"):
        outcome = attack.brig("--in", f"name={name}", "-c", "print(1)", "--lang", "python",
                              check=False)
        assert refused(outcome)


def test_F11_control(attack):
    """A proper name is accepted, so the refusals above are because of the names."""
    (attack.dir / "plain.txt").write_text("content")
    outcome = attack.brig("--in", "a/b/c.txt=plain.txt", "-c", "print(open('a/b/c.txt').read())",
                          "--lang", "python")
    assert outcome.stdout == "content\n"


# --- F12 ----------------------------------------------------------------------------------------


def test_F12_odd_tree_collected(attack):
    secret = attack.dir / "secret.txt"
    secret.write_text("of the host")
    back = attack.dir / "back"
    answer = attack.dir / "answer.json"
    with open(answer, "w") as file:
        words = [harness.BRIG, "run", "--json", "--timeout", "100s", "--changes", "--out", "**", "--out-dir", back,
                 "--", attack.program("f12_odd_tree"), secret, "10000"]
        brig = harness.subprocess.Popen([str(word) for word in words], cwd=attack.dir, stdout=file)
        began = harness.time.monotonic()
        _, status, usage = os.wait4(brig.pid, 0)
        brig.returncode = os.waitstatus_to_exitcode(status)
    assert harness.time.monotonic() - began < 120
    assert usage.ru_maxrss < 600 * 1024  # KiB; the policy returns up to 64 MiB of files
    result = harness.json.loads(answer.read_text())
    said = harness.says(result["stdout"])
    for made in ("fifo", "socket", "link", "link-to-root", "loop", "self", "up", "sparse-64M"):
        assert said[made] == "OK"
    assert said["sparse-1T"] == "EFBIG"
    assert said["device"] == "EPERM"
    assert int(said["depth"]) > 1000
    names = {file["path"] for file in result["files"]}
    assert "plain.txt" in names and "unreadable" in names
    odd = {"fifo", "socket", "device", "link", "root", "proc", "loop-a", "loop-b", "self", "up"}
    assert not names & odd
    assert not any(name.startswith(("root/", "self/", "up/")) for name in names)
    assert sum(file["size"] for file in result["files"]) <= 64 << 20
    assert "of the host" not in answer.read_text()
    # All written results are plain files and directories.
    for place, below, files in os.walk(back):
        for name in files + below:
            mode = os.lstat(os.path.join(place, name)).st_mode
            assert stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def test_F12_control(attack):
    """Outside, the same tree has links that a careless collector follows."""
    secret = attack.dir / "secret.txt"
    secret.write_text("of the host")
    (attack.dir / "tree").mkdir()
    words = [attack.program("f12_odd_tree"), secret, "40"]
    bare = harness.Outcome(harness.execute(words, attack.dir / "tree"))
    (attack.dir / "tree" / "shut").chmod(0o700)  # so that an ordinary user's rm succeeds
    assert bare["sparse-1T"] == "OK"
    assert (attack.dir / "tree" / "link").read_text() == "of the host"
    assert (attack.dir / "tree" / "self" / "self" / "plain.txt").exists()


# --- F13 ----------------------------------------------------------------------------------------


def special_modes(top):
    return [path for path in top.rglob("*") if path.lstat().st_mode & 0o6000]


def test_F13_setuid_refused(attack):
    shared = attack.dir / "shared"
    shared.mkdir()
    for options, place in (([], "/sandbox"), (["--rw", shared], "/mnt/shared")):
        seen = attack.cell("f13_setuid", place, options=options)
        assert seen.said.pop("mode") == "755"
        assert seen.said.pop("openat2") == "ENOSYS"
        assert seen.said.pop("capability") in {"EOPNOTSUPP", "EPERM"}
        assert set(seen.said.values()) == {"EPERM"}
        assert seen.denial["call"] == "chmod"
    assert special_modes(shared) == []
    assert (shared / "plain").exists()  # that place was tried
    with pytest.raises(OSError):
        os.getxattr(shared / "plain", "security.capability")


def test_F13_setuid_not_returned(attack):
    outcome = attack.brig("--out-dir", "back", "-c", "import os\nopen('out/x','w').close()\n"
                          "os.chmod('out/x', 0o777)", "--lang", "python")
    assert [file["path"] for file in outcome.result["files"]] == ["out/x"]
    assert special_modes(attack.dir) == []


def test_F13_control(attack):
    place = attack.dir / "bare"
    place.mkdir()
    bare = attack.bare("f13_setuid", place)
    assert bare["chmod"] == bare["fchmod"] == bare["openat"] == bare["openat2"] == "OK"
    assert special_modes(place)


# --- F14 ----------------------------------------------------------------------------------------


def test_F14_attributes_refused(attack):
    data = attack.dir / "data"
    data.mkdir()
    mine = data / "mine.txt"
    mine.write_text("x")
    before = [mine.stat(), os.stat("/usr/bin/env"), os.stat("/dev/null")]
    paths = ["/etc/passwd", "/usr/bin/env", "/bin/sh", "/mnt/data/mine.txt"]
    program = attack.program("f14_attributes")
    seen = attack.brig("--ro", data, "--in", program, "--", "sh", "-c", './f14_attributes "$@"',
                       "sh", *paths)
    assert len(seen.said) == 10 * len(paths)
    odd = {what: value for what, value in seen.said.items()
           if value not in REFUSED | {"EOPNOTSUPP", "ENOTTY"}}
    assert not odd
    after = [mine.stat(), os.stat("/usr/bin/env"), os.stat("/dev/null")]
    for old, new in zip(before, after):
        for field in ("st_mode", "st_uid", "st_gid", "st_mtime_ns"):
            assert getattr(old, field) == getattr(new, field)


def test_F14_device_nodes(attack):
    """The devices are the host's own nodes: their times and owner must stay unchanged."""
    before = os.stat("/dev/null")
    seen = attack.cell("f14_attributes", "/dev/null", "/dev/urandom")
    for what, value in seen.said.items():
        if not what.startswith("reopen"):
            assert value in REFUSED | {"EOPNOTSUPP", "ENOTTY"}, what
    assert os.stat("/dev/null").st_mtime_ns == before.st_mtime_ns


def test_F14_control(attack):
    mine = attack.dir / "mine.txt"
    mine.write_text("x")
    bare = attack.bare("f14_attributes", mine)
    for what in ("times", "now", "chmod", "chown"):
        assert bare[f"{what} {mine}"] == "OK"
    assert hashlib.sha256(mine.read_bytes()).hexdigest() == hashlib.sha256(b"x").hexdigest()


@pytest.mark.root
def test_F07_nothing_propagates(attack):
    """Where / is shared, as systemd makes it, no mount of a cell appears on the host."""
    (attack.dir / "data").mkdir()
    script = ('mount --make-rshared /; "$0" run --ro data --rw other=data -- /bin/true; '
              'grep -c "$1/data " /proc/self/mountinfo || true')
    done = harness.execute(["unshare", "--mount", "sh", "-c", script, harness.BRIG, attack.dir],
                           attack.dir)
    assert done.stdout.strip() == "0", done


@pytest.mark.root
def test_F07_mount_beneath_a_runtime(attack):
    """The operator has mounted something beneath a directory of Python: it is read-only too."""
    place = f"/usr/local/lib/{os.path.basename(os.path.realpath('/usr/bin/python3'))}/dist-packages"
    code = ("import brig_beneath; print(brig_beneath.x)\n"
            f"try: open('{place}/w', 'w')\nexcept OSError as e: print(e.strerror)")
    script = ('mount -t tmpfs none /usr/local/lib; mkdir -p "$1"; mount -t tmpfs none "$1"\n'
              'echo "x = 5" > "$1/brig_beneath.py"; shift; exec "$@"')
    words = ["unshare", "-m", *SH, script, "sh", place, harness.BRIG, "run", "-c", code]
    done = harness.execute(words, attack.dir)
    assert done.stdout == "5\nRead-only file system\n", done
