# SPDX-License-Identifier: Apache-2.0
"""
Attacks on the user's warm service, and by it: a client with fewer rights than the service gets
nothing from it, a service that is not the user's gets nothing from a client, and no death or lie
changes what a run is.
"""

import array
import contextlib
import ctypes
import os
import random
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pytest
import warm_service
from warm_service import BRIG, Service

PRINT = "print(6 * 7)"
NEEDS_ROOT = pytest.mark.root

# See src/thin/warm_message.h.
MAGIC, GREET, RUN, STATUS, STOP, SIGNAL = 0x6d726177, 1, 2, 3, 4, 5
HELLO, COLD, TAKEN, ENDED = 1, 2, 3, 4
NO_PROOF = b"0" * 32


@pytest.fixture(scope="module")
def service():
    made = Service()
    yield made
    made.stop()


# --- a client that is held tighter --------------------------------------------------------------

def with_python(*lines):
    """A command that does something to itself, then executes the rest."""
    return [sys.executable, "-c",
            "\n".join(["import ctypes, os, resource, sys", *lines,
                       "os.execv(sys.argv[1], sys.argv[1:])"])]


LIBC = "libc = ctypes.CDLL(None, use_errno=True)"
LANDLOCK = [
    LIBC,
    # All rights on files are handled, and below / all are given: nothing but the domain remains.
    "attr = (ctypes.c_uint64 * 1)((1 << 13) - 1)",
    "ruleset = libc.syscall(444, attr, 8, 0); assert ruleset >= 0",
    "rule = ctypes.create_string_buffer(((1 << 13) - 1).to_bytes(8, 'little') + "
    "os.open('/', os.O_PATH).to_bytes(4, 'little'))",
    "assert libc.syscall(445, ruleset, 1, rule, 0) == 0",
    # Root needs no no_new_privs for it: nothing else than the domain differs.
    "assert libc.syscall(446, ruleset, 0) == 0",
]
FILTER = [
    LIBC,
    # One instruction: everything is allowed.
    "code = ctypes.create_string_buffer(b'\\x06\\0\\0\\0\\0\\0\\xff\\x7f')",
    "prog = ctypes.create_string_buffer((1).to_bytes(8, 'little') + "
    "ctypes.addressof(code).to_bytes(8, 'little'))",
    "assert libc.prctl(38, 1, 0, 0, 0) == 0",
    "assert libc.prctl(22, 2, prog, 0, 0) == 0",
]

HELD = {
    "no_new_privs": (["setpriv", "--no-new-privs"], "no_new_privs"),
    "seccomp": (with_python(*FILTER), None),
    "soft limit": (["prlimit", "--nofile=500:"], "resource limits"),
    "hard limit": (["prlimit", "--core=0:0"], "resource limits"),
    "nice": (["nice", "-n", "5"], "scheduling"),
    "batch": (["chrt", "-b", "0"], "scheduling"),
    "one processor": (["taskset", "-c", str(min(os.sched_getaffinity(0)))], "processors"),
    "io class": (["ionice", "-c", "3"], "scheduling"),
    "personality": (["setarch", "-R"], "personality"),
    "user namespace": (["unshare", "--user", "--map-root-user"], None),
}
HELD_ROOT = {
    "landlock": (with_python(*LANDLOCK), None),
    "capabilities": (["setpriv", "--inh-caps=-all", "--bounding-set=-sys_time"], None),
    "bounding set": (["setpriv", "--bounding-set=-sys_time"], None),
    "groups": (["setpriv", "--groups", "7"], "supplementary groups"),
    "group": (["setpriv", "--regid", "7", "--clear-groups"], None),
    "mounts": (["unshare", "--mount"], None),  # the client does not even ask
    "network": (["unshare", "--net"], "network namespace"),
    "ipc": (["unshare", "--ipc"], "IPC namespace"),
    "names": (["unshare", "--uts"], "UTS namespace"),
    "pids": (["unshare", "--pid", "--fork", "--mount-proc"], None),
    "pids of children": (with_python(LIBC, "assert libc.unshare(0x20000000) == 0"), None),
    "cgroups": (["unshare", "--cgroup"], "cgroup namespace"),
    "time": (["unshare", "--time"], None),
}


def differs(prefix):
    """Does that prefix change anything here? One processor may be all there is."""
    return prefix[0] != "taskset" or len(os.sched_getaffinity(0)) > 1


def works(prefix):
    return subprocess.run([*prefix, "/bin/true"], capture_output=True, check=False,
                          timeout=60).returncode == 0


@pytest.mark.parametrize("name", HELD)
def test_a_client_that_is_held_tighter(service, name):
    check_held(service, *HELD[name])


@NEEDS_ROOT
@pytest.mark.parametrize("name", HELD_ROOT)
def test_a_client_that_is_held_tighter_by_root(service, name):
    check_held(service, *HELD_ROOT[name])


def check_held(service, prefix, why):
    if not differs(prefix) or not works(prefix):
        pytest.skip("this host cannot hold a process in this way")
    cold = service.run("-c", PRINT, env=service.cold_env, prefix=prefix)
    before = service.counts()
    done = service.run("-c", PRINT, prefix=prefix)
    after = service.counts()
    # The same as without a service, whatever that is; and the service has run nothing.
    assert (done.stdout, done.returncode) == (cold.stdout, cold.returncode)
    assert after[0] == before[0]
    if why:
        assert after[1] == before[1] + 1
        assert f"(last: {why})" in service.status()


@NEEDS_ROOT
def test_another_root_directory(service):
    with service.taken():  # the same root is no other one
        assert service.run("-c", PRINT, prefix=["chroot", "/"]).stdout == b"42\n"
    with tempfile.TemporaryDirectory() as place:
        # A client that can still reach socket and program, from within a part of the tree.
        script = ("set -e\nmount -t tmpfs none \"$1\"\nmkdir \"$1/new\"\n"
                  "mount --rbind / \"$1/new\"\n"
                  "chroot \"$1/new\" \"$2\" run -c 'print(6 * 7)'\n")
        before = service.counts()
        ends = []
        for env in (service.cold_env, service.env):
            done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                                   script, "sh", place, BRIG], env=env, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=60, check=False)
            ends.append((done.stdout, done.stderr, done.returncode))
        assert ends[0] == ends[1]
        assert service.counts()[0] == before[0]


@NEEDS_ROOT
def test_another_control_group(service):
    """Version 1 or 2: a group with a limit of its own."""
    places = [line.split(" ")[4] for line in open("/proc/self/mountinfo", encoding="ascii")
              if " - cgroup" in line and ("pids" in line or " - cgroup2" in line)]
    for place in places:
        group = os.path.join(place, f"warm-test-{os.getpid()}")
        limit = os.path.join(group, "pids.max")
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            if not os.path.exists(limit):
                continue
            with open(limit, "w", encoding="ascii") as file:
                file.write("500")
            prefix = ["sh", "-c", f"echo 0 > '{group}/cgroup.procs' && exec \"$@\"", "sh"]
            if not works(prefix):
                continue
            check_held(service, prefix, "control group")
            return
        finally:
            warm_service.wait_for(lambda: rmdir_done(group))
    pytest.skip("no control group can be made here")


def rmdir_done(path):
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def test_a_traced_client_is_cold(service):
    if not works(["strace", "-o", "/dev/null"]):
        pytest.skip("no strace")
    with service.sent_back("it is traced"):
        done = service.run("-c", PRINT, prefix=["strace", "-o", "/dev/null"])
    assert done.stdout == b"42\n"


# --- a client that is not brig ------------------------------------------------------------------

def connect(service):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(service.socket)
    link.settimeout(30)
    return link


def greet(service):
    link = connect(service)
    name = os.memfd_create("brig-warm-" + "cd" * 16)
    link.send(request(op=GREET, argv=(), value=name))
    assert answer(link) == (HELLO, "cd" * 16)
    os.close(name)
    return link


def request(op=RUN, argv=(b"brig", b"run", b"-c", b"print(1)"), env=(), proof=NO_PROOF, magic=MAGIC,
            value=0, argc=None):
    words = b"".join(word + b"\0" for word in (*argv, *env))
    head = struct.pack("<IIIIIIQ32s", magic, op, value, len(argv) if argc is None else argc,
                       len(env), 0, 0, proof)
    return head + words


def proof_of(service):
    name = os.readlink(f"/proc/{service.pid}/fd/10")
    assert name.startswith("/memfd:brig-warm-")
    return name[17:49].encode()


def answer(link):
    try:
        data = link.recv(4096)
    except ConnectionResetError:
        data = link.recv(4096)  # the service has left a message unread; its answer comes next
    except ConnectionError:
        return None, ""
    if not data:
        return None, ""
    kind, _ = struct.unpack_from("<Ii", data)
    return kind, data[8:].split(b"\0")[0].decode()


def streams(count=3):
    null = os.open("/dev/null", os.O_RDWR)
    here = os.open("/", os.O_PATH | os.O_DIRECTORY)
    return [here] + [null] * count


def send(link, message, fds):
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    link.sendmsg([message], rights)


def test_a_program_that_is_not_brig_gets_nothing(service):
    """With all that it can know, as the same user: it is another program file."""
    with service.sent_back("program file"), greet(service) as link:
        send(link, request(proof=proof_of(service)), streams())
        assert answer(link)[0] == COLD


def test_a_program_without_the_proof_gets_nothing(service):
    with service.sent_back("it may not trace the service"), greet(service) as link:
        send(link, request(), streams())
        assert answer(link)[0] == COLD
    with greet(service) as link:
        link.send(request(op=STOP))
        assert answer(link)[0] == COLD
    assert service.run("-c", PRINT).stdout == b"42\n"


@NEEDS_ROOT
def test_landlock_keeps_the_proof(service):
    """The wall that the kernel shows to nobody: a process behind it cannot read the secret."""
    lines = [*LANDLOCK, f"os.readlink('/proc/{service.pid}/fd/10')"]
    done = subprocess.run([sys.executable, "-c", "import ctypes, os\n" + "\n".join(lines)],
                          capture_output=True, text=True, timeout=60, check=False)
    if "syscall(444" in done.stderr:
        pytest.skip("no Landlock")
    assert "PermissionError" in done.stderr


MALFORMED = [
    b"", b"x", request(magic=1), request(op=0), request(op=99), request()[:40],
    request(argc=2), request(argc=0), request(argc=0xffffffff), request(argv=()),
    request(argv=(b"brig", b"serve", b"x")), request() + b"tail without an end",
    request(op=SIGNAL, value=9), b"\xff" * 60000,
]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 200])
def test_malformed_requests(service, count):
    for message in MALFORMED:
        with connect(service) as link:
            fds = streams()[:1] * min(count, 1) + streams()[1:2] * max(count - 1, 0)
            with contextlib.suppress(ConnectionError):
                send(link, message or b"", fds)
                link.shutdown(socket.SHUT_WR)
                while answer(link)[0]:
                    pass
            for fd in set(fds):
                os.close(fd)
    with service.taken():
        assert service.run("-c", PRINT).stdout == b"42\n"


def test_a_descriptor_that_is_slow_to_close(service):
    """The service does not wait for a connection that lingers: it would for 600 seconds here."""
    for before in ([], [request(op=GREET, argv=())], [request(magic=1)], [b""]):
        sender = os.fork()
        if sender == 0:
            try:
                send_lingering(service, before)
            finally:
                os._exit(0)  # a process that ends does not wait
        os.waitpid(sender, 0)
        with service.taken():
            assert service.run("-c", PRINT).stdout == b"42\n"


def send_lingering(service, before):
    near, far = lingering()
    link = connect(service)
    for message in before:
        link.send(message)
    send(link, request(), [near.fileno(), far.fileno()])
    os._exit(0)


def lingering():
    """Both ends of a connection that is full: the last close waits as long as they are together."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        near = socket.create_connection(listener.getsockname())
        far, _ = listener.accept()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 600))
    near.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            near.send(b"x" * 65536)
    return near, far


def connect_by_another(service):
    """A connection, and the number of the process that made it and has ended."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.settimeout(30)
    maker = os.fork()
    if maker == 0:
        link.connect(service.socket)
        os._exit(0)
    os.waitpid(maker, 0)
    return link, maker


@NEEDS_ROOT
def test_the_secret_of_a_later_process_with_the_number(service):
    """A connection whose maker has ended tells nothing of the process that has its number now."""
    secret = os.memfd_create("brig-warm-" + "ef" * 16)
    for _ in range(100):
        link, maker = connect_by_another(service)
        later = fork_with_number(maker)
        if later:
            break
        link.close()
    assert later, "no number could be chosen"
    try:
        assert os.readlink(f"/proc/{maker}/fd/{secret}").startswith("/memfd:brig-warm-ef")
        link.send(request(op=GREET, argv=(), value=secret))
        assert answer(link) == (HELLO, "")
    finally:
        warm_service.kill(later)
        os.waitpid(later, 0)
        os.close(secret)
        link.close()


def test_a_kernel_that_names_no_peers():
    """As those before Linux 6.5: there is no service, and the cause is told."""
    prefix = ["strace", "-f", "-o", "/dev/null", "-e", "inject=getsockopt:error=ENOPROTOOPT"]
    if not works(prefix):
        pytest.skip("no strace")
    own = Service(start=False)
    done = subprocess.run([*prefix, BRIG, "warm", "serve"], env=own.env, capture_output=True,
                          timeout=60, check=False)
    assert (done.returncode, b"Linux 6.5" in done.stderr) == (125, True), done
    own.stop()


def fork_with_number(number):
    """A child that waits, with this process number; None: another process has it meanwhile."""
    wanted = (ctypes.c_int * 1)(number)
    args = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
    child = ctypes.CDLL(None, use_errno=True).syscall(435, args, ctypes.c_size_t(len(args)))  # clone3
    if child == 0:
        signal.pause()
        os._exit(0)
    return child if child == number else None


def test_clients_that_never_send(service):
    links = [connect(service) for _ in range(20)]
    with service.taken():
        assert service.run("-c", PRINT).stdout == b"42\n"
    for link in links:
        assert answer(link) == (None, "")  # their time is up
        link.close()


def test_more_clients_than_there_is_room_for(service):
    """Those that find no room are cold, at once."""
    links = [connect(service) for _ in range(110)]
    done = service.run("-c", PRINT)
    assert (done.stdout, done.returncode) == (b"42\n", 0)
    for link in links:
        link.close()
    warm_service.wait_for(lambda: service.warm("status").returncode == 0)
    with service.taken():
        assert service.run("-c", PRINT).stdout == b"42\n"
    with open(f"/proc/{service.pid}/status", encoding="ascii") as file:
        assert file.read().count("FDSize") == 1
    assert len(os.listdir(f"/proc/{service.pid}/fd")) < 40


def test_clients_that_leave_at_once(service):
    for _ in range(200):
        connect(service).close()
    with service.taken():
        assert service.run("-c", PRINT).stdout == b"42\n"


def test_a_request_that_is_too_long_is_cold(service):
    env = {**service.env, "LONG": "x" * 100000, "LONGER": "y" * 100000}
    before = service.counts()
    assert service.run("-c", PRINT, env=env).stdout == b"42\n"
    assert service.counts() == before


# --- a service that is not the user's -----------------------------------------------------------

LIAR = r"""
import os, socket, struct, sys
if sys.argv[3]:
    os.dup2(os.memfd_create("brig-warm-" + "ab" * 16), 10)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if len(sys.argv) > 4:
    os.setgid(int(sys.argv[4])), os.setuid(int(sys.argv[4]))
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.listen()
print("ready", flush=True)
reply = lambda kind, value=0, text=b"": struct.pack("<Ii184s", kind, value, text)
kept = []
while True:
    link, _ = listener.accept()
    kept.append(link)
    if sys.argv[2] == "silent":
        continue
    try:
        head = struct.unpack_from("<III", link.recv(200000))
        pid, uid, gid = struct.unpack("iII", link.getsockopt(socket.SOL_SOCKET, 17, 12))
        try:
            digits = os.readlink("/proc/%d/fd/%d" % (pid, head[2]))[17:49].encode()
        except OSError:
            digits = b""
        link.send(reply(1, 0, b"" if sys.argv[2] == "no secret" else digits))
        data = link.recv(200000)
    except OSError:
        continue
    with open(sys.argv[1] + ".got", "ab") as file:
        file.write(data)
    kind = sys.argv[2]
    if kind == "garbage":
        link.send(b"\xff" * 192); link.send(b"x" * 5000)
    elif kind == "short":
        link.send(b"\3")
    elif kind == "ended":
        link.send(reply(4, 7))
    elif kind == "closes":
        link.close()
    elif kind == "taken":
        link.send(reply(3)); link.close()
    elif kind == "taken, garbage":
        link.send(reply(3)); link.send(b"y" * 70)
    elif kind == "taken, killed":
        link.send(reply(3)); link.send(reply(5, 9))
"""


@contextlib.contextmanager
def liar(kind, user=None, proof=True, prefix=()):
    runtime = tempfile.mkdtemp(prefix="brig-warm-")
    directory = os.path.join(runtime, "brig")
    os.mkdir(directory, 0o700)
    if user:
        os.chmod(runtime, 0o755)
        os.chmod(directory, 0o777)
    path = os.path.join(directory, "warm.sock")
    words = [*prefix, sys.executable, "-c", LIAR, path, kind, "proof" if proof else "",
             *([str(user)] if user else [])]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    own = {**os.environ, "XDG_RUNTIME_DIR": runtime}
    own.pop("BRIG_WARM", None)
    if kind.startswith("taken"):
        own["BRIG_WARM"] = "wait"
    try:
        yield own, path + ".got"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        subprocess.run(["rm", "-r", runtime], check=True)


def run_in(env, *words, **options):
    return subprocess.run([BRIG, "run", *words], env=env, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False, **options)


@pytest.mark.parametrize("kind", ["silent", "hangs", "garbage", "short", "ended", "closes"])
def test_a_liar_that_takes_nothing(kind):
    with liar(kind) as (env, _):
        done = run_in(env, "-c", PRINT)
    assert (done.stdout, done.stderr, done.returncode) == (b"42\n", b"", 0)


@pytest.mark.parametrize("kind", ["taken", "taken, garbage", "taken, killed"])
def test_a_liar_that_takes_the_run(kind):
    """It could have begun: so it is not done again, and the error says so."""
    with liar(kind) as (env, _):
        done = run_in(env, "-c", PRINT)
        as_json = run_in(env, "--json", "-c", PRINT)
    assert (done.stdout, done.returncode) == (b"", 125)
    assert done.stderr.startswith(b"brig: the warm service ended in the middle of the run\n")
    assert (as_json.stdout.startswith(b'{"error":'), as_json.stderr) == (True, b"")


@pytest.mark.parametrize(("kind", "proof"), [("hangs", False), ("no secret", True)])
def test_a_service_that_proves_nothing_learns_nothing(kind, proof):
    with liar(kind, proof=proof) as (env, got):
        assert run_in(env, "-c", PRINT).stdout == b"42\n"
        time.sleep(0.2)
        assert not os.path.exists(got) or os.path.getsize(got) == 0


@pytest.mark.parametrize("prefix", [["unshare", "--user", "--map-current-user"],
                                    pytest.param(["unshare", "--mount"], marks=NEEDS_ROOT),
                                    pytest.param(with_python(*LANDLOCK), marks=NEEDS_ROOT)])
def test_a_trap_from_within_a_sandbox_learns_nothing(prefix):
    """It has the user's id and the socket, and would get variables and a directory of the host."""
    if not works(prefix):
        pytest.skip("this host cannot hold a process in this way")
    with liar("hangs", prefix=prefix) as (env, got):
        assert run_in(env, "-c", PRINT).stdout == b"42\n"
        time.sleep(0.2)
        assert not os.path.exists(got) or os.path.getsize(got) == 0
        if "--mount" not in prefix:  # that trap can only be told by a run, which sends descriptors
            done = subprocess.run([BRIG, "warm", "status"], env=env, capture_output=True,
                                  check=False)
            assert (done.returncode, b"not a service of yours" in done.stderr) == (125, True)


@NEEDS_ROOT
def test_a_service_of_another_user_learns_nothing():
    with liar("hangs", user=65534) as (env, got):
        assert run_in(env, "-c", PRINT).stdout == b"42\n"
        done = subprocess.run([BRIG, "warm", "status"], env=env, capture_output=True, check=False)
        assert (done.returncode, b"not yours" in done.stderr) == (125, True)
        time.sleep(0.2)
        assert not os.path.exists(got) or os.path.getsize(got) == 0


def test_a_full_queue_is_not_waited_for():
    with liar("silent") as (env, _):
        links = []
        path = os.path.join(env["XDG_RUNTIME_DIR"], "brig", "warm.sock")
        for _ in range(600):
            link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            link.setblocking(False)
            try:
                link.connect(path)
            except BlockingIOError:
                break
            links.append(link)
        assert run_in(env, "-c", PRINT).stdout == b"42\n"
        for link in links:
            link.close()


def test_a_directory_that_others_can_write_to():
    own = Service(start=False)
    os.mkdir(os.path.dirname(own.socket), 0o777)
    os.chmod(os.path.dirname(own.socket), 0o777)
    done = own.warm("start")
    assert (done.returncode, "not yours alone" in done.stderr) == (125, True)
    assert f"chmod 700 {own.runtime}/brig\n" in done.stderr
    own.stop()


@NEEDS_ROOT
def test_a_directory_of_another_user():
    """As in /tmp: it is not this user who is to change its mode, or that of the one above."""
    own = Service(start=False)
    os.mkdir(os.path.dirname(own.socket), 0o700)
    os.chown(os.path.dirname(own.socket), 65534, 65534)
    done = own.warm("start")
    assert (done.returncode, "not yours alone" in done.stderr) == (125, True)
    assert "set XDG_RUNTIME_DIR" in done.stderr and "chmod" not in done.stderr
    own.stop()


def test_a_link_in_place_of_the_directory(tmp_path):
    own = Service(start=False)
    os.symlink(tmp_path, os.path.dirname(own.socket))
    assert own.warm("start").returncode == 125
    assert list(tmp_path.iterdir()) == []
    os.unlink(os.path.dirname(own.socket))
    own.stop()


@NEEDS_ROOT
def test_another_user_cannot_use_the_service(service):
    """Even with the directory open: the socket is 0600, and the peer's id is compared."""
    os.chmod(service.runtime, 0o755)
    os.chmod(os.path.dirname(service.socket), 0o755)
    os.chmod(service.socket, 0o666)
    try:
        before = service.counts()
        script = ("import socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                  "s.connect(sys.argv[1]); s.settimeout(30)\n"
                  "try:\n    print(s.recv(10))\n"
                  "except OSError:\n    print(b'')\n")
        done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                               sys.executable, "-c", script, service.socket], capture_output=True,
                              timeout=60, check=False)
        assert done.stdout == b"b''\n", done
        assert service.counts() == before
    finally:
        os.chmod(service.runtime, 0o700)
        os.chmod(os.path.dirname(service.socket), 0o700)
        os.chmod(service.socket, 0o600)


# --- deaths -------------------------------------------------------------------------------------

CODE = "open('/mnt/count/runs', 'a').write('r'); print(6 * 7)"


def check_end(done):
    if done.returncode == 125:
        assert done.stderr.startswith(b"brig: the warm service ended in the middle"), done
    else:
        assert (done.stdout, done.stderr, done.returncode) == (b"42\n", b"", 0), done
    return done.returncode == 0


@pytest.mark.parametrize("victim", ["service", "worker"])
def test_a_death_at_any_moment(tmp_path, victim):
    """The run is done once, by the service or cold, or the error says that it may have begun."""
    random.seed(os.environ.get("PYTEST_SEED", 1))
    counted = tmp_path / "count"
    counted.mkdir()
    counted.chmod(0o777)
    own = Service()
    try:
        for _ in range(3):
            own.run("-c", PRINT)
        for _ in range(25):
            (counted / "runs").unlink(missing_ok=True)
            target = own.pid if victim == "service" else (own.workers() or [0])[0]
            timer = threading.Timer(random.random() * 0.02,
                                    lambda pid=target: pid and warm_service.kill(pid))
            timer.start()
            good = check_end(own.run("--rw", str(counted), "-c", CODE))
            timer.join()
            runs = (counted / "runs").read_text() if (counted / "runs").exists() else ""
            assert runs == "r" or (not good and runs == "")
            if victim == "service":
                warm_service.wait_for(lambda: warm_service.is_zombie(own.pid))
                own.start()
                own.run("-c", PRINT)
        workers = own.workers()
    finally:
        own.stop()
    warm_service.wait_for(lambda: all(warm_service.is_zombie(pid) for pid in workers))


def test_limits_of_the_service_are_compared_at_each_run(service):
    """Not at its start alone: a client that has changed meanwhile is another one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with service.sent_back("resource limits"):
        done = service.run("-c", PRINT, prefix=["prlimit", f"--nofile={soft - 1}:{hard}"])
    assert done.stdout == b"42\n"
    with service.taken():
        assert service.run("-c", PRINT).stdout == b"42\n"


def test_nothing_is_left():
    own = Service()
    for _ in range(4):
        own.run("-c", PRINT)
    family = descendants(own.pid)
    assert len(family) > 1
    own.stop()
    warm_service.wait_for(lambda: all(warm_service.is_zombie(pid) for pid in family))


def descendants(pid):
    found, todo = [], [pid]
    while todo:
        current = todo.pop()
        found.append(current)
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{current}/task"):
                with open(f"/proc/{current}/task/{task}/children", encoding="ascii") as file:
                    todo += [int(child) for child in file.read().split()]
    return found

