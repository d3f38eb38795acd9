# SPDX-License-Identifier: Apache-2.0
"""The same operation checked and executed: the answer of `policy check` is what a cell does."""

import errno
import json
import os
import pathlib

import pytest

TREE = pathlib.Path(os.environ.get("BRIG_TREE", "."))
ROOT = os.geteuid() == 0

# A host may lack layers that strict requires: only the rules are checked here.
MISSABLE = ["overlay", "timens", "uidrange", "landlock", "notify", "keyring", "cgroup-memory",
            "cgroup-pids", "cgroup-cpu"]


@pytest.fixture(scope="module", params=["default", "strict"])
def policy(request, config):
    """Options that name it."""
    place = config(mine={"extends": request.param, "may_miss": MISSABLE})
    return ["--config", place, "--policy", "mine"]


# --- system calls ---

# As written in the question; number and arguments as executed; and the kernel's own result for them
# when allowed.
CALLS = [
    ("getpid", 39, ()),
    ("ptrace(PTRACE_TRACEME)", 101, (0,)),
    ("socket(AF_INET, SOCK_STREAM)", 41, (2, 1, 0)),
    ("socket(AF_INET6, SOCK_DGRAM|SOCK_CLOEXEC)", 41, (10, 2 | 0o2000000, 0)),
    ("socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP)", 41, (2, 1, 262)),
    ("socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)", 41, (2, 3, 1)),
    ("socket(AF_UNIX, SOCK_STREAM)", 41, (1, 1, 0)),
    ("socket(AF_ALG, SOCK_SEQPACKET)", 41, (38, 5, 0)),
    ("socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)", 41, (16, 3, 0)),
    ("socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT)", 41, (16, 3, 9)),
    ("socketpair(AF_INET, SOCK_STREAM)", 53, (2, 1, 0, 0)),
    ("unshare(CLONE_NEWUSER)", 272, (0x10000000,)),
    ("setns(0, 0)", 308, (0, 0)),
    ("mount", 165, (0, 0, 0, 0, 0)),
    ("io_uring_setup(8, 0)", 425, (8, 0)),
    ("bpf(BPF_MAP_CREATE)", 321, (0, 0, 0)),
    ("keyctl(KEYCTL_GET_KEYRING_ID)", 250, (0, 0, 0)),
    ("memfd_create(0, MFD_HUGETLB)", 319, (0, 4)),
    ("execveat(-1)", 322, (-1, 0, 0, 0, 0)),
    ("personality(READ_IMPLIES_EXEC)", 135, (0x400000,)),
    ("userfaultfd(0)", 323, (0,)),
    ("ioctl(0, TIOCSTI)", 16, (0, 0x5412, 0)),
    ("ioctl(0, FIONREAD)", 16, (0, 0x541B, 0)),
    ("kcmp(1, 1, 0)", 312, (1, 1, 0, 0, 0)),
    ("clone3", 435, (0, 0)),
    ("sched_yield", 24, ()),
    ("acct", 163, (0,)),
]

CALL_CODE = """
import ctypes, errno, json
libc = ctypes.CDLL(None, use_errno=True)
ctypes.set_errno(0)
r = libc.syscall(%d, %s)
print(r, ctypes.get_errno())
"""


def test_calls(ask, result, policy):
    questions = [word for call in CALLS for word in ("--call", call[0])]
    wrong = []
    for (asked, number, args), answer in zip(CALLS, ask(*policy, *questions)):
        words = ", ".join(f"ctypes.c_long({a})" for a in (*args, 0, 0, 0, 0, 0, 0)[:6])
        done = result(*policy, "-c", CALL_CODE % (number, words))
        denial = done["verdict"]["denial"]
        if done["status"] in ("denied", "failed"):
            real = "refused"
        else:
            value, number = map(int, done["stdout"].split())
            name = errno.errorcode.get(number, "0")
            # A refusal is recorded, or one that the answer itself names.
            refused = denial is not None or (value < 0 and f"({name})" in answer["reason"]) or \
                (value < 0 and name == "ENOSYS")
            real = "refused" if refused else "allowed"
        if real != answer["verdict"]:
            wrong.append((asked, answer, done["stdout"], denial))
    assert not wrong


# --- files ---

PATHS = [
    "/", "/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc/machine-id", "/etc", "/root",
    "/home", "/usr/bin/python3", "/bin/sh", "/usr/bin/sudo", "/usr/lib", "/usr/lib/nonesuch",
    "/usr/share/doc", "/sandbox/new", "/sandbox/../etc/passwd", "/sandbox/../tmp/new",
    "/tmp/new", "/dev/shm/new", "/dev/null", "/dev/zero", "/dev/kvm", "/dev/fd", "/dev/tty",
    "/proc/self/status", "/proc/cpuinfo", "/proc/sys/kernel/hostname", "/proc/1/environ/x",
    "/proc/self/root/etc/passwd", "/proc/self/root/sandbox/new", "/sys/devices/system/cpu/online",
    "/sys/kernel", "/var/log", "/lib64/ld-linux-x86-64.so.2", "/usr/lib/os-release", "/mnt",
    "/etc/passwd/x", "/etc/brig", "/usr/bin/../bin/python3", "//etc//hostname", "/new",
]

FILE_CODE = """
import json, os, shutil, sys

def attempt(act):
    try:
        act()
        return "allowed"
    except OSError as error:
        return "refused"

def read(path):
    os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)

def write(path):
    if os.path.isdir(path):
        os.close(os.open(path, os.O_TMPFILE | os.O_WRONLY, 0o600))
    else:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o700))

def run(path):
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(path, ["x"])
        except OSError:
            os._exit(99)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 99:
        raise OSError

def own(path):
    return any(os.path.realpath(path).startswith(p) for p in ("/sandbox/", "/tmp/", "/dev/shm/"))

found = {}
sys.stdin.close(); os.close(0); os.open("/dev/null", os.O_RDONLY)
for path in %r:
    if own(path):
        # A program that ends at once, put there as a run would.
        attempt(lambda: (shutil.copy("/bin/sh", path), os.chmod(path, 0o755)))
    found[path] = [attempt(lambda: act(path)) for act in (read, run, write)]
print(json.dumps(found))
"""


def test_files(ask, result, policy):
    done = result(*policy, "-c", FILE_CODE % (PATHS,))
    assert done["status"] == "ok", done
    real = json.loads(done["stdout"])
    wrong = []
    for path in PATHS:
        answers = ask(*policy, "--read", path, "--exec", path, "--write", path)
        said = [answer["verdict"] for answer in answers]
        if said != real[path]:
            wrong.append((path, "said", said, "real", real[path]))
    assert not wrong


def test_links_of_the_kernel_depend(ask):
    """Their target depends on the process: no answer is better than a wrong one."""
    for path in ("/proc/thread-self/root/etc/shadow", "/proc/self/task/5/root/tmp/x", "/proc/self/exe",
                 "/proc/self/fd/3", "/proc/7/cwd/x"):
        for wish in ("--read", "--write", "--exec"):
            assert ask(wish, path)[0]["verdict"] == "depends", (wish, path)
    assert ask("--write", "/proc/self/root/etc/shadow")[0]["verdict"] == "refused"


def test_mounts(ask, result, config, tmp_path):
    shared, other = tmp_path.resolve() / "shared", tmp_path.resolve() / "other"
    for place in (shared, other):
        place.mkdir()
        place.chmod(0o777)
        (place / "file").write_text("x")
    tmp_path.chmod(0o755)
    place = config(some={"extends": "default", "caller_mounts": "ro", "mounts": [
        {"name": "data", "path": str(shared), "mode": "ro"},
        {"name": "work", "path": str(other), "mode": "rw"}]})
    cases = [("data", "--ro"), ("data", "--rw"), ("work", "--ro"), ("work", "--rw"),
             (f"mine={shared}", "--ro"), (f"mine={shared}", "--rw")]
    for mount, option in cases:
        name = mount.partition("=")[0]
        wish = "--read" if option == "--ro" else "--write"
        answer = ask("--config", place, "--policy", "some", wish, f"/mnt/{name}/file")[0]
        code = f"open('/mnt/{name}/file', '{'r' if wish == '--read' else 'a'}')"
        done = result("--config", place, "--policy", "some", option, mount, "-c", code)
        real = "allowed" if done.get("status") == "ok" else "refused"
        assert answer["verdict"] == real, (mount, option, answer, done)
        if real == "allowed":
            assert answer["condition"].startswith(f"{option} {name}"), answer
        # Without the mount it does not exist, whatever is allowed.
        assert result("--config", place, "--policy", "some", "-c", code)["status"] == "failed"


# --- requests ---

@pytest.mark.parametrize("question, args", [
    (("--limit", "memory=2G"), ["--memory", "2G"]),
    (("--limit", "memory=512M"), ["--memory", "512M"]),
    (("--limit", "memory=8G"), ["--memory", "8G"]),
    (("--limit", "wall=61s"), ["--timeout", "61s"]),
    (("--limit", "processes=2000"), ["--processes", "2000"]),
    (("--env", "NAME"), ["--env", "NAME=1"]),
    (("--env", "LD_PRELOAD"), ["--env", "LD_PRELOAD=x"]),
    (("--env", "PYTHONUTF8"), ["--env", "PYTHONUTF8=1"]),
    (("--env", "PYTHONPATH"), ["--env", "PYTHONPATH=/x"]),
    (("--language", "python"), ["--lang", "python"]),
    (("--language", "bash"), ["--lang", "bash"]),
    (("--language", "c"), ["--lang", "c"]),
])
def test_requests(verdicts, result, policy, question, args):
    code = "int main(void) { return 0; }" if "c" in args else "exit()"
    code = "true" if "bash" in args else code
    done = result(*policy, *args, "-c", code)
    real = "allowed" if done.get("status") == "ok" else "refused"
    assert verdicts(*policy, *question) == [real], done


@pytest.mark.parametrize("guard", [
    "imports", "strict", {"mode": "imports", "allowed_modules": ["json", "xml"]},
    {"mode": "strict", "allowed_modules": ["json", "numpy", "random"]},
])
def test_modules(ask, result, config, guard):
    place = config(some={"extends": "default", "guard": guard})
    names = ["json", "math", "os", "os.path", "sys", "socket", "subprocess", "ctypes", "urllib",
             "urllib.parse", "urllib.request", "http.client", "xml.dom", "collections.abc", "io",
             "random", "re", "nonesuch", "importlib", "datetime"]
    table = json.loads((TREE / "data/guard/modules.json").read_text())
    names += [name for name in table["modules"] if name not in names][:4]
    asked = ask("--config", place, "--policy", "some", *[w for n in names for w in ("--module", n)])
    wrong = []
    for name, answer in zip(names, asked):
        done = result("--config", place, "--policy", "some", "-c", f"def f():\n    import {name}\n")
        real = "refused" if done["status"] == "rejected" else "allowed"
        if real != answer["verdict"]:
            wrong.append((name, answer, done["status"], done["verdict"]))
    assert not wrong


def test_other_languages_under_a_guard(ask, result, config):
    place = config(some={"extends": "default", "guard": "imports"},
                   risky={"extends": "default", "auto_run": {"ask_from": 50}})
    assert ask("--config", place, "--policy", "some", "--language", "bash")[0]["verdict"] == "refused"
    done = result("--config", place, "--policy", "some", "--lang", "bash", "-c", "true")
    assert done["error"]["code"] == "policy"
    assert ask("--config", place, "--policy", "risky", "--language", "bash")[0]["verdict"] == "ask"
    done = result("--config", place, "--policy", "risky", "--lang", "bash", "-c", "true")
    assert done["error"]["code"] == "consent"
    assert ask("--config", place, "--policy", "risky", "--language", "python")[0]["verdict"] == "allowed"


# --- connections ---

CONNECT_CODE = """
import json, socket
for host, port in %r:
    try:
        socket.create_connection((host, port), 5).close()
    except OSError as error:
        print(host, port, error)
"""


def test_connections(ask, result, config):
    place = config(some={"extends": "default", "network": {"allow": [
        "good.example:443", "*.wild.example", "192.0.43.0/24:8000-8010", "local:127.0.0.1:80",
        "127.0.0.2:80"], "caller": "none"}})
    hosts = [("good.example", 443), ("good.example", 80), ("other.example", 443),
             ("a.wild.example", 443), ("a.b.wild.example", 80), ("wild.example", 443),
             ("127.0.0.1", 80), ("127.0.0.2", 80), ("127.0.0.1", 443), ("10.0.0.1", 80),
             ("169.254.169.254", 80)]
    questions = [word for host in hosts for word in ("--net", "%s:%d" % host)]
    asked = ask("--config", place, "--policy", "some", *questions)
    done = result("--config", place, "--policy", "some", "-c", CONNECT_CODE % (hosts,))
    assert done["status"] == "ok", done
    log = {(line["host"], line["port"]): line["verdict"] for line in done["network"]}
    names = {line["host"] for line in done["network"] if line["verdict"] == "refused_name"}
    for host, answer in zip(hosts, asked):
        # Nothing was sent: by then the rules have allowed it, and only the data can be wrong.
        passed = log.get(host) in ("allowed", "unreachable", "unresolved", "refused_protocol")
        real = "allowed" if passed and host[0] not in names else "refused"
        assert answer["verdict"] == real, (host, answer, done["network"], done["stdout"])


# Closing at once would be faster than the gate's check of the name.
WAIT_CODE = """
import socket
try:
    socket.create_connection((%r, %d), 5).recv(1)
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("allow", [
    ["local:localhost:5432"], ["local:*:5432"], ["local:127.0.0.1:5432"], ["*:5432"],
    ["*:5432", "local:127.0.0.1:5432"]], ids=" ".join)
def test_the_hosts_loopback_has_two_names(ask, result, config, allow):
    place = config(some={"extends": "default", "network": {"allow": allow, "caller": "none"}})
    for host in ("127.0.0.1", "localhost"):
        answer = ask("--config", place, "--policy", "some", "--net", f"{host}:5432")[0]
        done = result("--config", place, "--policy", "some", "-c", WAIT_CODE % (host, 5432))
        passed = {line["verdict"] for line in done["network"]} <= {"allowed", "unreachable"}
        real = "allowed" if done["network"] and passed else "refused"
        assert answer["verdict"] == real, (host, answer, done["network"], done["stdout"])


def test_who_runs_nothing_by_itself(verdicts, ask, brig, config):
    place = config(never={"extends": "default", "auto_run": "never"},
                   asks={"extends": "default", "auto_run": "ask"})
    assert verdicts("--policy", "open", "--call", "ptrace", "--read", "/etc/shadow",
                    "--net", "example.org") == ["ask"] * 3
    assert brig("run", "--policy", "open", "--lang", "python", "-c", "1").returncode == 126
    assert verdicts("--config", place, "--policy", "asks", "--read", "/etc/passwd",
                    "--read", "/etc/shadow") == ["ask", "refused"]
    never = ask("--config", place, "--policy", "never", "--read", "/etc/passwd")[0]
    assert never["verdict"] == "refused" and never["origin"]["key"] == "auto_run"
