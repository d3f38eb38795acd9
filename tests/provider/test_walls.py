# SPDX-License-Identifier: Apache-2.0
"""Attacks from inside. Each shows with the provider `local` that it can succeed at all."""

import os
import socket
import subprocess

import pytest

from conftest import BRIG, POLICIES, ROOT


def outside(code, *args):
    """The same program without walls."""
    done = subprocess.run([BRIG, "run", "--policy", "open", "--yes", "--lang", "python", "-c", code,
                           *(["--", *args] if args else [])],
                          capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


def inside(provider, code, *args):
    result = provider.result("--lang", "python", "-c", code, *(["--", *args] if args else []))
    return result["stdout"]


def test_no_host_files(provider, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("host")
    code = ("import sys\ntry: print(open(sys.argv[1]).read())\n"
            "except OSError as e: print('refused')")
    assert outside(code, secret) == "host\n"
    assert inside(provider, code, secret) == "refused\n"
    # Podman makes an empty /var/tmp.
    var = ("/var/lib", "/var/log") if provider.kind == "podman" else ("/var",)
    for path in ("/etc/shadow", "/root", "/home", *var, "/.brig"):
        assert inside(provider, "import os, sys; print(os.path.exists(sys.argv[1]))",
                      path) == "False\n"


def test_no_network(provider):
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = (f"import socket\ntry: socket.create_connection(('127.0.0.1', {server.getsockname()[1]}),"
                " 3); print('through')\nexcept OSError: print('refused')")
        assert outside(code) == "through\n"
        assert inside(provider, code) == "refused\n"
    code = ("import errno, socket\ns = socket.socket()\ns.settimeout(3)\n"
            "print(errno.errorcode[s.connect_ex(('192.0.2.1', 80))])")
    assert inside(provider, code) == ("EHOSTUNREACH\n" if provider.emulated else "ENETUNREACH\n")


def test_no_host_sockets(provider):
    name = f"\0brig-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = (f"import socket\ns = socket.socket(socket.AF_UNIX)\n"
                f"try: s.connect({name!r}); print('through')\nexcept OSError: print('refused')")
        assert outside(code) == "through\n"
        assert inside(provider, code) == "refused\n"


def status_of(provider):
    text = inside(provider, "print(open('/proc/self/status').read())")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def test_no_privileges(provider):
    status = status_of(provider)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if name == "CapAmb" and provider.emulated:
            continue  # gVisor has no such line
        assert int(status[name], 16) == 0, name
    assert status["Seccomp"] == "2"
    assert inside(provider, "import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))") == "1\n"
    # runc and runsc need a root in the container, and an ordinary user has one id only.
    root_inside = (provider.runtime == "runc" or provider.emulated) and not ROOT
    assert status["Uid"].split() == ["0" if root_inside else "1000"] * 4


def test_read_only(provider):
    code = ("import sys\nfor path in sys.argv[1:]:\n"
            "    try: open(path, 'w'); print('written')\n"
            "    except OSError as e: print(e.strerror)")
    answers = inside(provider, code, "/x", "/usr/x", "/etc/x", "/etc/passwd", "/dev/x", "/bin/x",
                     "/brig-agent").splitlines()
    assert len(answers) == 7
    assert set(answers) <= {"Read-only file system", "Permission denied", "Text file busy"}


@pytest.mark.parametrize("name", list(POLICIES))
def test_no_exec_where_it_writes(of, name, tmp_path):
    """Neither in its own places nor in a directory of the host."""
    provider = of("no-exec", {**POLICIES[name], "exec_writable": False})
    mounts = not provider.daemon and provider.kind != "vm"
    places = ("/sandbox", "/tmp", "/dev/shm", *(("/mnt/w",) if mounts else ()))
    code = ("import os, shutil\n"
            f"for place in {places}:\n"
            "    shutil.copy('/bin/sh', place + '/sh')\n"
            "    try: os.execve(place + '/sh', ['sh', '-c', 'echo ran'], {}) if os.fork() == 0 "
            "else os.wait()\n"
            "    except OSError as e: print(e.strerror, flush=True); os._exit(0)")
    mounted = ("--rw", f"w={tmp_path}") if mounts else ()
    result = provider.result(*mounted, "--lang", "python", "-c", code)
    assert result["stdout"] == "Permission denied\n" * len(places), result


def test_read_only_mounts_stay(provider):
    code = ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "r = libc.mount(None, b'/usr', None, 32 | 4096, None)\n"
            "print(r, ctypes.get_errno())")
    assert inside(provider, code).split()[0] == "-1"


def test_processes_only_in_proc(provider):
    code = "import os; print(sorted(n for n in os.listdir('/proc') if not n.isdigit()))"
    assert "meminfo" in outside(code)
    if provider.daemon:  # all names, and those that matter are covered: test_daemons.py
        assert "meminfo" in inside(provider, code)
    elif not provider.emulated:  # of a kernel of its own: test_gvisor.py
        assert inside(provider, code) == "['self', 'thread-self']\n"


SUPERVISOR_OF_GVISOR = """
import os
reached = []
for name in os.listdir("/proc/1/fd"):
    path = "/proc/1/fd/" + name
    if name == "2":  # messages of the runtime, which nobody reads any more
        fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        try:
            for i in range(1000): os.write(fd, b"x" * 4096)
        except OSError: pass
    elif not os.readlink(path).startswith("pipe:"):  # of the program itself
        try: os.open(path, os.O_RDWR); reached.append(os.readlink(path))
        except OSError: pass
try:
    open("/proc/1/mem", "rb").read(1)
    reached.append("mem")
except OSError: pass
print(reached, all(one.startswith("HOME=") for one in open("/proc/1/environ").read().split("\\0") if one))
"""


def test_the_supervisor_is_out_of_reach(provider):
    code = """
import os
for path in ("/proc/1/mem", "/proc/1/environ", "/proc/1/maps", "/proc/1/fd"):
    try:
        os.listdir(path) if path.endswith("fd") else open(path, "rb").read(1)
        print("through", path)
    except OSError:
        pass
try:
    os.kill(1, 9)
except OSError:
    pass
import time; time.sleep(0.2)
print("alive")
"""
    if provider.emulated:  # gVisor shows and kills the first process; its memory and streams stay
        result = provider.python(SUPERVISOR_OF_GVISOR)
        assert (result["status"], result["stdout"]) == ("ok", "[] True\n"), result
        assert provider.python(code)["verdict"]["cause"] == "vanished"
        return
    assert inside(provider, code) == "alive\n"


def test_no_trace(provider):
    code = ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "print(libc.ptrace(16, 1, 0, 0))")  # PTRACE_ATTACH
    assert inside(provider, code) == "-1\n"


def test_no_namespaces(provider):
    flags = [0x10000000, 0x20000, 0x40000000]  # CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET
    code = f"import ctypes; print([ctypes.CDLL(None).unshare(flag) for flag in {flags}])"
    assert inside(provider, code) == "[-1, -1, -1]\n"


def test_no_setuid(provider):
    if provider.emulated:  # its list of mounts does not show this flag
        assert "NoNewPrivs" not in status_of(provider)
        return
    if provider.daemon:  # a daemon binds the host's files as they are: no_new_privs alone holds
        assert status_of(provider)["NoNewPrivs"] == "1"
        return
    code = ("m = [l.split() for l in open('/proc/self/mountinfo')]\n"
            "print([l[4] for l in m if 'nosuid' not in l[5] and l[4] != '/'], len(m) > 5)")
    assert inside(provider, code) == "[] True\n"


def test_host_name_and_keys(provider):
    assert inside(provider, "import os; print(os.uname().nodename)") == "brig\n"
    assert inside(provider, "import socket; print(socket.gethostbyname('localhost'))") == \
        "127.0.0.1\n"


def test_runs_do_not_see_each_other(provider):
    with subprocess.Popen(provider.words("--lang", "python", "-c",
                                         "import time; open('/tmp/mark', 'w'); "
                                         "open('/dev/shm/mark', 'w'); print('up', flush=True); "
                                         "time.sleep(60)"), stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout.readline() == b"up\n"
            code = ("import os; print(os.listdir('/tmp'), os.listdir('/dev/shm'), "
                    "[p for p in os.listdir('/proc') if p.isdigit() and int(p) not in "
                    "(1, os.getpid())])")
            assert inside(provider, code) == "[] [] []\n"
        finally:
            other.kill()


# --- persistence ----------------------------------------------------------------------------------

KEEP = """
import ctypes, os, subprocess
libc = ctypes.CDLL(None)
def files():
    for top in ("/tmp", "/var/tmp", "/dev/shm", "/sandbox", "/run", "/home"):
        for place, _, names in os.walk(top):
            yield from (os.path.join(place, name) for name in names if name.startswith("brig-mark"))
print(sorted(files()), libc.shmget(0x62726967, 0, 0) >= 0, libc.semget(0x62726967, 0, 0) >= 0)
for place in ("/tmp", "/dev/shm", "/sandbox"):
    open(place + "/brig-mark", "w").close()
libc.shmget(0x62726967, 4096, 0o1666), libc.semget(0x62726967, 1, 0o1666)
subprocess.Popen(["sleep", "60"], start_new_session=True)
"""


def test_nothing_stays(provider):
    """Neither files nor shared memory and semaphores of an earlier run."""
    for _ in range(2):
        assert inside(provider, KEEP) == "[] False False\n"


# --- the supervisor -------------------------------------------------------------------------------

OPEN_FDS = """
import os, stat
def kind(fd):
    try: return stat.S_IFMT(os.fstat(fd).st_mode)
    except OSError: return None
print([fd for fd in range(3, 1024) if kind(fd) is not None], os.environ.get("BRIG_TEST_SECRET"))
"""


def test_nothing_of_the_caller_is_inherited(provider):
    """No descriptor and no variable."""
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    os.set_inheritable(writer, True)
    kept = {"env": {**os.environ, "BRIG_TEST_SECRET": "mine"}, "pass_fds": (reader, writer)}
    try:
        bare = subprocess.run(["/usr/bin/python3", "-c", OPEN_FDS], capture_output=True, text=True, check=True, **kept)
        assert str(reader) in bare.stdout and bare.stdout.endswith(" mine\n")
        assert provider.python(OPEN_FDS, **kept)["stdout"] == "[] None\n"
    finally:
        os.close(reader)
        os.close(writer)


FORGED = """
import os
frames = [bytes([size, 0, 0, 0, kind, 0, 0, 0]) + bytes(size) for kind in range(64) for size in (0, 4, 8, 24)]
for fd in range(3, 256):
    for frame in frames:
        try: os.write(fd, frame)
        except OSError: break
try: os.kill(-1, 0)
except OSError: pass
os._exit(7)
"""


def test_reports_are_not_forged(provider):
    """Frames of an end, on every descriptor."""
    result = provider.python(FORGED)
    assert (result["status"], result["exit_code"], result["stdout"]) == ("failed", 7, ""), result


# --- exhaustion -----------------------------------------------------------------------------------

def test_a_stopped_program_ends(provider):
    """Neither it nor its children can be waited for: the limit on time ends them all."""
    code = ("import os, signal, time\n"
            "for i in range(3):\n"
            "    if os.fork() == 0: break\n"
            "os.kill(os.getpid(), signal.SIGSTOP)\n"
            "time.sleep(100)")
    result = provider.python(code, "--timeout", "1s", *provider.ahead)
    assert result["status"] == "timeout", result


@pytest.mark.root
def test_memory_of_files(provider):
    """Files without a place are memory."""
    code = ("import os\npart = bytes(4 << 20)\n"
            "for i in range(64): os.write(os.memfd_create('x'), part)\nprint('kept')")
    result = provider.python(code, "--memory", "96M")
    assert result["status"] == "memory_limit" and result["stdout"] == "", result


# --- the kernel -----------------------------------------------------------------------------------

# The number of each call, and arguments.
CALLS = """
import ctypes
libc = ctypes.CDLL(None)
page = ctypes.create_string_buffer(4096)
calls = {"io_uring_setup": (425, 1, page), "bpf": (321, 0, page, 48), "perf_event_open": (298, page, 0, -1, -1, 0),
         "userfaultfd": (323, 1), "add_key": (248, b"user", b"brig", b"x", 1, -2), "keyctl": (250, 0, -3, 1),
         "setns": (308, 0, 0), "pivot_root": (155, b"/", b"/"), "chroot": (161, b"/tmp"),
         "open_by_handle_at": (304, -100, page, 0), "kexec_load": (246, 0, 0, 0, 0), "init_module": (175, page, 1, b""),
         "mknodat": (259, -100, b"/tmp/n", 0o20666, 0x501), "mknodat of a disk": (259, -100, b"/tmp/d", 0o60666, 0x800),
         "fsopen": (430, b"tmpfs", 0), "open_tree": (428, -100, b"/", 1), "syslog": (103, 3, page, 4096),
         "reboot": (169, 0, 0, 0, 0), "swapon": (167, b"/tmp/s", 0), "settimeofday": (164, page, 0)}
print([name for name, call in calls.items() if libc.syscall(*call) >= 0])
"""


def test_dangerous_calls(provider):
    assert inside(provider, CALLS) == "[]\n"


def test_kernel_settings(provider):
    """The usual ways from a file of the kernel to a program of the host.

    Nothing is written: newer kernels of gVisor open a sysrq-trigger of their own, which takes nothing.
    """
    code = ("import os\n"
            "def written(path):\n"
            "    try: fd = os.open(path, os.O_WRONLY); os.write(fd, b''); return True\n"
            "    except OSError: return False\n"
            "print([path for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', "
            "'/proc/sys/fs/binfmt_misc/register', '/proc/sysrq-trigger', '/sys/kernel/uevent_helper', "
            "'/sys/fs/cgroup/release_agent', '/proc/sys/vm/overcommit_memory', '/proc/kcore', '/dev/mem', "
            "'/dev/kmsg', '/dev/kvm', '/dev/sda', '/dev/vda', '/dev/loop-control') if written(path)])")
    assert inside(provider, code) == "[]\n"


# --- the network ----------------------------------------------------------------------------------

FAMILIES = """
import socket
kinds = {"packet": (17, 3, 0), "raw": (2, 3, 1), "raw6": (10, 3, 58), "alg": (38, 5, 0), "vsock": (40, 1, 0),
         "key": (15, 3, 2), "xdp": (44, 3, 0), "bluetooth": (31, 1, 3), "kcm": (41, 2, 0), "tipc": (30, 1, 0)}
def opened(kind):
    try: socket.socket(*kind).close(); return True
    except OSError: return False
print([name for name, kind in kinds.items() if opened(kind)])
"""


def test_odd_families(provider):
    assert inside(provider, FAMILIES) == "[]\n"


LISTENING = """
import socket, time
for host, family in (("0.0.0.0", socket.AF_INET), ("::", socket.AF_INET6)):
    try:
        s = socket.socket(family); s.bind((host, {port})); s.listen(); break
    except OSError: pass
print("up", flush=True)
time.sleep(60)
"""


def test_listening_inside(provider):
    """A port of the program is not one of the host."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(provider.words("--lang", "python", "-c", LISTENING.format(port=port)),
                          stdout=subprocess.PIPE) as brig:
        try:
            assert brig.stdout.readline() == b"up\n"
            with pytest.raises(OSError):
                socket.create_connection(("127.0.0.1", port), 2)
        finally:
            brig.kill()
