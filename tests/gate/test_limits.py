# SPDX-License-Identifier: Apache-2.0
"""Bytes, connections, rules of policies and requests, credentials, and a gate that dies."""

import ast
import json
import os

import pytest

GET = "import urllib.request as u; print(len(u.urlopen({!r}, timeout=20).read()))"


@pytest.fixture
def policy(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "policies").mkdir()

    def make(text, name="net"):
        (tmp_path / "policies" / f"{name}.json").write_text(
            '{"extends": "default", ' + text + "}")
        return ["--config", str(tmp_path), "--policy", name]

    make.directory = tmp_path
    return make


def test_byte_limit_ends_the_run(run):
    code = GET.format("http://public.test/bytes/3000000")
    result = run(code, "public.test", options=["--net-bytes", "1M"])
    assert result["status"] == "network_limit", result
    assert result["verdict"]["cause"] == "net" and result["verdict"]["limit_name"] == "net_bytes"
    assert result["verdict"]["limit"] == result["usage"]["net_bytes"] == 1 << 20
    assert result["network"][0]["verdict"] == "limit", result
    assert sum(e["bytes_up"] + e["bytes_down"] for e in result["network"]) <= 1 << 20
    result = run(code, "public.test", options=["--net-bytes", "4M"])
    assert result["stdout"] == "3000000\n"
    assert 3000000 < result["usage"]["net_bytes"] < 3001000


def test_exit_status_of_the_byte_limit(world):
    done = world.brig("run", "--net", "public.test", "--net-bytes", "100K", "-c",
                      GET.format("http://public.test/bytes/3000000"))
    assert done["status"] == 116 and "network" in done["stderr"], done


def test_connections_at_a_time_and_in_all(run, policy):
    code = """
import socket
kept = []
for i in range(6):
    try:
        s = socket.create_connection(("public.test", 7000), timeout=5)
        s.sendall(b"x")
        print(s.recv(1).decode() or "closed", end=" ")
        kept.append(s)
    except OSError as error:
        print(type(error).__name__, end=" ")
"""
    options = policy('"network": {"allow": ["public.test:7000"], "connections": 2}')
    result = run(code, options=options)
    assert result["stdout"].split()[:2] == ["x", "x"]
    assert "x" not in result["stdout"].split()[2:]
    verdicts = [entry["verdict"] for entry in result["network"]]
    assert verdicts.count("refused_count") == 4 and verdicts.count("allowed") == 2
    options = policy('"network": {"allow": ["public.test:7000"], "connections_total": 3}')
    assert run(code, options=options)["stdout"].split().count("x") == 3
    options = policy('"network": {"allow": ["public.test:7000"], "rate": 4}')
    assert run(code, options=options)["stdout"].split().count("x") == 4


def test_told_connections_are_bounded(run, policy):
    code = """
import socket
for i in range(300):
    try:
        socket.create_connection(("public.test", 7001), timeout=5).recv(1)
    except OSError:
        pass
"""
    options = policy('"network": {"allow": ["public.test:7001"], "rate": 10000}')
    result = run(code, options=options)
    assert len(result["network"]) == 128 and result["network_untold"] == 172


def test_request_only_selects(run, policy, world):
    get = GET.format("http://public.test/")
    options = policy('"network": {"allow": ["*.wild.test", "public.test"], "caller": "none"}')
    assert run(get, options=options)["status"] == "ok"
    assert run(get, "public.test:80", options=options)["status"] == "ok"
    assert run(get, "a.wild.test", options=options)["status"] == "failed"
    for more in ("other.test", "*", "public.test:8080", "*.test", "local:public.test", "wild.test",
                 "93.184.216.34:80"):
        result = run(get, more, options=options)
        assert result["error"]["code"] == "policy" and more in result["error"]["message"]
    options = policy('"network": {"allow": [], "caller": "public"}')
    assert run(get, "public.test", options=options)["status"] == "ok"
    assert run(get, "local:public.test", options=options)["error"]["code"] == "policy"
    options = policy('"network": "none"')
    assert run(get, "public.test", options=options)["error"]["code"] == "policy"
    result = run(get, "public.test", options=["--policy", "strict"])
    assert result["error"]["code"] in ("policy", "host")  # an ordinary user lacks layers first


def test_operators_ceiling(run, policy):
    options = policy('"network": {"allow": ["public.test"]}')
    (policy.directory / "ceiling.json").write_text('{"network": "none"}')
    assert run(GET.format("http://public.test/"), options=options)["status"] == "failed"
    assert run("1", "public.test", options=options)["error"]["code"] == "policy"


@pytest.mark.parametrize("text,word", [
    ('"network": {"allow": ["a b"]}', "allow[0]"),
    ('"network": {"allow": [{"ports": "1"}]}', "host"),
    ('"network": {"allow": [{"host": "a.test", "port": "1"}]}', "port"),
    ('"network": {"allow": [{"host": "a.test", "ports": "1-"}]}', "ports"),
    ('"network": {"alow": []}', "alow"),
    ('"network": {"connections": 0}', "connections"),
    ('"network": {"credentials": [{"host": "a.test"}]}', "credentials[0]"),
    ('"network": {"credentials": [{"host": "a.test", "header": "A: b", "file": "/x"}]}', "header"),
    ('"network": true', "network"),
])
def test_malformed_policies(run, policy, text, word):
    result = run("1", options=policy(text))
    assert result["error"]["code"] == "policy" and word in result["error"]["message"], result


def test_too_many_ports(run, policy):
    options = policy('"network": {"allow": ["public.test:1-65535"]}')
    result = run("1", options=options)
    assert "ports" in result["error"]["message"]
    assert run(GET.format("http://public.test/"), "public.test:80", options=options)["status"] == "ok"


def test_credentials_are_added_and_cannot_be_read(run, policy, world, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("Bearer s3cret\n")
    options = policy('"network": {"allow": ["public.test", "other.test"], "credentials": ['
                     f'{{"host": "public.test", "header": "Authorization", "file": "{secret}"}}]}}')
    code = """
import json, urllib.request as u
def get(host):
    request = u.Request(f"http://{host}/", headers={"Authorization": "mine"})
    return json.loads(u.urlopen(request, timeout=5).read())["headers"]["Authorization"]
print(get("public.test"), get("other.test"))
"""
    result = run(code, options=options)
    assert result["stdout"] == "Bearer s3cret mine\n", result
    # The response is the server's; a request that is its own response would reveal the credential.
    code = """
import socket
for method in ("TRACE", "trace", "Trace", "OPTIONS", "TRACK", "DEBUG", "CONNECT"):
    for target in ("/", "*", "http://public.test/"):
        s = socket.create_connection(("public.test", 80), timeout=5)
        s.sendall(f"{method} {target} HTTP/1.1\\r\\nHost: public.test\\r\\n\\r\\n".encode())
        while data := s.recv(65536):
            print(data.decode("latin-1"))
"""
    result = run(code, options=options)
    assert result["status"] == "ok" and result["stdout"].count("HTTP/1.1") >= 21, result
    assert "s3cret" not in result["stdout"]
    secret.unlink()
    assert "credential" in run(code, options=options)["error"]["message"]


MEMORY = r"""
import os, re, subprocess, sys, time
brig, options, marker = sys.argv[1], sys.argv[3:], sys.argv[2].encode()
run = subprocess.Popen([brig, "run", *options, "-c", "import time; time.sleep(5)"])
def children(pid):
    return [int(word) for word in open(f"/proc/{pid}/task/{pid}/children").read().split()]
def copies(pid):
    count = 0
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in open(f"/proc/{pid}/maps"):
            begin, end, mode = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
            begin, end = int(begin, 16), int(end, 16)
            while mode[0] == "r" and "[v" not in line and begin < end:
                memory.seek(begin)
                try:
                    data = memory.read(min(end - begin, 1 << 20))
                except OSError:
                    break
                count += data.count(marker)
                begin += len(data)
    return count
deadline = time.monotonic() + 10
while time.monotonic() < deadline and not any(children(pid) for pid in children(run.pid)):
    time.sleep(0.05)
time.sleep(0.5)
found = {"brig": copies(run.pid), "gate": 0, "init": 0, "program": 0}
for pid in children(run.pid):
    if open(f"/proc/{pid}/comm").read() == "brig-gate\n":
        found["gate"] += copies(pid)
        continue
    found["init"] += copies(pid)
    found["program"] += sum(map(copies, children(pid)))
run.kill()
print(found)
"""


@pytest.mark.root
def test_credentials_are_not_in_the_cell(world, policy, tmp_path):
    """The cell's init begins as a copy of brig; it must not have the credential."""
    secret = tmp_path / "secret"
    secret.write_text("Bearer in-no-other-memory\n")
    options = policy('"network": {"allow": ["public.test"], "credentials": ['
                     f'{{"host": "public.test", "header": "Authorization", "file": "{secret}"}}]}}')
    done = world.command("/usr/bin/python3", "-c", MEMORY, os.environ.get("BRIG", "build/brig"),
                         "in-no-other-memory", *options)
    found = ast.literal_eval(done["stdout"])
    assert found["brig"] and found["gate"], done  # the control: it is found where it must be
    assert (found["init"], found["program"]) == (0, 0)


def test_gate_that_is_killed_ends_the_run(world):
    script = f"""
import json, os, signal, subprocess, time
brig = subprocess.Popen([{os.environ.get("BRIG", "build/brig")!r}, "run", "--json", "--net",
                         "public.test", "-c", "import time; time.sleep(30)"],
                        stdout=subprocess.PIPE)
deadline = time.monotonic() + 20
def gates():
    for pid in open(f"/proc/{{brig.pid}}/task/{{brig.pid}}/children").read().split():
        try:
            if open(f"/proc/{{pid}}/comm").read() == "brig-gate\\n":
                yield int(pid)
        except OSError:
            pass
# A cell may be built a second time, with a gate of its own: the one that stays is meant.
gate, before = None, []
while not gate and time.monotonic() < deadline:
    now = list(gates())
    gate = now[0] if now and now == before else None
    before = now
    time.sleep(0.5)
status = open(f"/proc/{{gate}}/status").read()
print([line for line in status.splitlines() if line.startswith(("Uid", "CapEff", "Seccomp:", "NoNew"))])
os.kill(gate, signal.SIGKILL)
print(brig.stdout.read().decode())
"""
    done = world.command("/usr/bin/python3", "-c", script)
    first, second = done["stdout"].splitlines()[:2]
    result = json.loads(second)
    assert result["status"] == "error" and result["verdict"]["cause"] == "gate"
    assert "CapEff:\\t0000000000000000" in first and "Seccomp:\\t2" in first, first
    assert "NoNewPrivs:\\t1" in first
    if os.geteuid() == 0:
        assert "Uid:\\t0" not in first


def test_gate_dies_with_brig(world):
    script = f"""
import os, signal, subprocess, time
brig = subprocess.Popen([{os.environ.get("BRIG", "build/brig")!r}, "run", "--net", "public.test",
                         "-c", "import time; time.sleep(30)"])
gate = None
while not gate:
    for pid in open(f"/proc/{{brig.pid}}/task/{{brig.pid}}/children").read().split():
        if open(f"/proc/{{pid}}/comm").read() == "brig-gate\\n":
            gate = pid
time.sleep(0.3)
brig.send_signal(signal.SIGKILL)
brig.wait()
for _ in range(50):
    try:
        if open(f"/proc/{{gate}}/stat").read().split()[2] == "Z":
            raise FileNotFoundError
    except FileNotFoundError:
        print("gone")
        break
    time.sleep(0.1)
"""
    assert world.command("/usr/bin/python3", "-c", script)["stdout"] == "gone\n"


NAMES = """
import os, socket
for i in range(400):
    name = os.urandom(30).hex()[:60] + {!r}
    try:
        socket.create_connection((name, 7000), timeout=5).close()
    except OSError:
        pass
print("all of them")
"""


@pytest.mark.parametrize("below,rule", [(".wild.test", "*.wild.test:7000"), (".evil.test", "a.test:7000")])
def test_names_count_as_bytes(run, world, below, rule):
    """A name is a message to the name server: also one that is refused."""
    result = run(NAMES.format(below), rule, options=["--net-bytes", "1K"])
    assert result["status"] == "network_limit" and "all" not in result["stdout"], result
    assert result["usage"]["net_bytes"] == 1024, result
    assert sum(len(name) for name, _ in world.visits()[1]) < 1024


def test_names_that_are_asked_for_by_tcp_count(run, world):
    code = """
import socket, struct
def ask(name):
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    query = b"ab\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + labels + b"\\0\\0\\1\\0\\1"
    s = socket.create_connection(("127.0.0.53", 53), timeout=5)
    s.sendall(struct.pack(">H", len(query)) + query)
    return s.recv(512)
answered = 0
for i in range(40):
    answered += len(ask("%060d.evil.test" % i)) > 0
    print(answered, flush=True)
"""
    result = run(code, "a.test:7000", options=["--net-bytes", "1K"])
    assert result["status"] == "network_limit", result
    # The gate stops answering at the limit. The program may continue for a moment, and gets
    # nothing: how far it gets depends on timing.
    assert int(result["stdout"].split()[-1]) <= 1024 // 90, result
    assert result["usage"]["net_bytes"] <= 1024 + 2 * 110, result
    result = run(code, "a.test:7000", options=["--net-bytes", "1M"])
    assert result["stdout"].split()[-1] == "40", result
    # Queries of 90 bytes, and responses that repeat them.
    assert 40 * 2 * 90 <= result["usage"]["net_bytes"] <= 40 * 2 * 110, result
