# SPDX-License-Identifier: Apache-2.0
"""Forks of sessions: carried and lost state, and owners."""

import threading
import time

import pytest
from conftest import serve


def open_session(client, **fields):
    answer = client.ask("POST", "/v1/sessions", fields)
    assert answer.status == 201, answer.body
    return answer.json()["id"]


def run(client, session, code, **fields):
    answer = client.ask("POST", f"/v1/sessions/{session}/execute", {"code": code, **fields})
    assert answer.status == 200, answer.body
    assert answer.json()["status"] == "ok", answer.json()["stderr"]
    return answer.json()["stdout"]


def fork(client, session):
    answer = client.ask("POST", f"/v1/sessions/{session}/fork")
    assert answer.status == 201, answer.body
    made = answer.json()
    assert answer.header("Location") == "/v1/sessions/" + made["id"]
    assert made["forked_from"] == session and made["id"] != session
    assert made["state"] == "idle" and made["runs"] == 0
    return made


def left(made):
    return {one["name"]: one["why"] for one in made["left"]}


@pytest.fixture
def session(unix):
    """session(language, **fields): closed at the end, with all of its forks."""
    yield lambda language, **fields: open_session(unix, language=language, **fields)
    for one in unix.ask("GET", "/v1/sessions").json()["sessions"]:
        unix.ask("DELETE", f"/v1/sessions/{one['id']}")


PYTHON = """
import json, os.path as p, threading
from collections import OrderedDict
from dataclasses import dataclass
numbers = [1, 2, 3]
same = numbers
def twice(x, by=2, *, plus=0):
    "doubles"
    return x * by + plus + len(numbers)
def counter():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count
count = counter()
count()
square = lambda x: x ** 2
table = {"f": square, "deep": [{"g": twice}]}
@dataclass
class Point:
    x: int
    y: int = len(json.dumps([1]))
    def sum(self):
        return self.x + self.y + twice(0)
class Point3(Point):
    z = 9
point = Point3(1)
ordered = OrderedDict(a=1)
lock = threading.Lock()
running = (i for i in range(3))
log = open("log.txt", "w")
list = "shadowed"
"""


def test_python(unix, session):
    old = session("python", env={"WORD": "hello"})
    run(unix, old, PYTHON)
    run(unix, old, "import os; os.makedirs('sub'); os.chdir('sub'); os.environ['MORE'] = 'yes'")
    made = fork(unix, old)
    new = made["id"]
    assert {"numbers", "twice", "count", "square", "table", "Point", "Point3", "point", "json", "p",
            "OrderedDict", "dataclass", "ordered", "list", "os"} <= set(made["carried"])
    assert left(made).keys() == {"lock", "running", "log"}
    assert "pickle" in left(made)["lock"] and not made["truncated"]
    assert run(unix, new, """
numbers.append(4)
print(same is numbers, twice(2, plus=1), twice.__doc__, count(), square(3), table["f"] is square)
print(point.sum(), point.z, isinstance(point, Point), type(point).__name__, p.basename("/a/b"), list)
print(os.environ["WORD"], os.environ["MORE"], os.path.basename(os.getcwd()), sorted(globals())[:3])
""") == ("True 9 doubles 2 9 True\n"
         "8 9 True Point3 b shadowed\n"
         "hello yes sandbox ['OrderedDict', 'Point', 'Point3']\n")
    # Independent from here on.
    assert run(unix, old, "print(numbers, count())") == "[1, 2, 3] 2\n"
    assert "fork" not in run(unix, old, "print([n for n in globals() if 'fork' in n], os.listdir('/sandbox'))")
    assert "fork" not in run(unix, new, "print([n for n in globals() if 'fork' in n], os.listdir('/sandbox'))")
    # A fork can be forked, and its classes too.
    assert run(unix, fork(unix, new)["id"], "print(numbers, count())") == "[1, 2, 3, 4] 3\n"


def test_javascript(unix, session):
    old = session("javascript", env={"WORD": "hello"})
    run(unix, old, """
const fs = require('fs');
let list = [1, 2, { a: new Map([[1, new Set([2])]]) }], same = list;
const f = (x) => x * list.length;
function g(a, b = 2) { return a + b + f(1); }
class A { constructor(x) { this.x = x; } get double() { return 2 * this.x; } }
class B extends A { }
var plain = new Date(0);
implicit = 'global';
const big = 12n, nothing = undefined, bytes = new Uint8Array([1, 2]);
const instance = new B(4);
const closure = (() => { let n = 0; return () => ++n; })();
const promise = new Promise(() => 0), symbol = Symbol('x');
""")
    run(unix, old, "fs.mkdirSync('sub'); fs.writeFileSync('sub/x', ''); process.chdir('sub'); process.env.MORE = 'yes'")
    made = fork(unix, old)
    new = made["id"]
    assert {"fs", "list", "same", "f", "g", "A", "B", "plain", "implicit", "big", "nothing", "bytes"} <= \
        set(made["carried"])
    assert left(made).keys() == {"instance", "closure", "promise", "symbol"}
    assert "B" in left(made)["instance"] and "closure" in left(made)["closure"]
    assert run(unix, new, """
list.push(9);
console.log(same === list, f(2), g(1), new B(4).double, new B(1) instanceof A, plain.getTime(), implicit);
console.log(big, nothing, bytes[1], list[2].a.get(1).has(2), typeof fs.readFileSync);
console.log(process.env.WORD, process.env.MORE, process.cwd());
""") == ("true 8 7 8 true 0 global\n12n undefined 2 true function\nhello yes /sandbox/sub\n")
    assert run(unix, old, "console.log(list.length)") == "3\n"


def test_bash(unix, session):
    old = session("bash", env={"WORD": "hello"})
    run(unix, old, """
x='two  words'; export exported=1; readonly fixed=2
arr=(a 'b c'); declare -A map=([k]='v w')
greet() { echo "hi $1 $x"; }
shopt -s nullglob extglob; set -u
mkdir -p sub; echo 1 > sub/file; cd sub; sleep 100 & 
""")
    made = fork(unix, old)
    new = made["id"]
    assert {"x", "exported", "fixed", "arr", "map", "greet", "WORD"} <= set(made["carried"])
    assert not made["left"] and not [name for name in made["carried"] if "brig" in name]
    assert run(unix, new, """
greet you; echo "${arr[1]} ${map[k]} $exported $fixed $WORD $(basename "$PWD") $(cat file)"
shopt nullglob; [[ $- == *u* ]] && echo unset; env | grep -c exported; jobs | wc -l; ls -A /sandbox
""") == "hi you two  words\nb c v w 1 2 hello sub 1\nnullglob       \ton\nunset\n1\n0\nout\nsub\n"
    assert run(unix, old, "x=3; greet you") == "hi you 3\n"
    assert run(unix, new, "greet you") == "hi you two  words\n"


def test_files(unix, session):
    old = session("python")
    base = f"/v1/sessions/{old}/files"
    unix.ask("PUT", base + "/a/b/data.bin", bytes(range(256)) * 1000)
    run(unix, old, "import os; open('tool', 'w').write('#!/bin/sh\\necho ran'); os.chmod('tool', 0o755)\n"
                   "os.symlink('/etc/passwd', 'link'); os.mkfifo('pipe'); os.mkdir('empty')\n"
                   "for i in range(200): open(f'a/{i}', 'w').write(str(i))")
    made = fork(unix, old)
    assert made["files"] == {"copied": 202, "left": []}
    new = f"/v1/sessions/{made['id']}/files"
    assert unix.ask("GET", new + "/a/b/data.bin").body == bytes(range(256)) * 1000
    names = {f["path"] for f in unix.ask("GET", new).json()["files"]}
    assert names == {"a/b/data.bin", "tool", *(f"a/{i}" for i in range(200))}
    assert run(unix, made["id"], "import subprocess; print(subprocess.run(['./tool'], capture_output=True).stdout)") \
        == "b'ran\\n'\n"
    unix.ask("DELETE", new + "/tool")
    assert unix.ask("GET", base + "/tool").status == 200


def test_limits_and_leases(unix, session):
    old = session("bash", limits={"processes": 9, "memory_bytes": 96 << 20, "wall_ms": 3000},
                  idle_timeout_ms=54321)
    made = fork(unix, old)
    assert made["idle_timeout_ms"] == 54321 and made["policy"] == "default"
    answer = unix.ask("POST", f"/v1/sessions/{made['id']}/execute", {"code": ":"}).json()
    assert (answer["limits"]["processes"], answer["limits"]["memory_bytes"]) == (9, 96 << 20)
    assert answer["limits"]["wall_ms"] == 3000


@pytest.mark.parametrize("guard", ["imports", "strict"])
def test_guard_is_kept(unix, session, guard):
    """A request of the opener beyond the policy also holds for the fork, and for its forks."""
    first = session("python", guard=guard)
    run(unix, first, "n = 3")
    for one in (fork(unix, first)["id"], fork(unix, fork(unix, first)["id"])["id"]):
        answer = unix.ask("POST", f"/v1/sessions/{one}/execute", {"code": "import socket"})
        assert answer.json()["status"] == "rejected"
        assert run(unix, one, "print(1)") == "1\n"


def test_hosts_are_kept(make_service):
    service = make_service()
    policies = service.server.config / "policies"
    policies.mkdir(exist_ok=True)
    (policies / "net.json").write_text('{"extends": "default", "network": {"allow": ["a.example:7", '
                                       '"b.example:7"]}}')
    client = service.unix()
    look = ("import socket\nfor name in 'ab':\n    try: print(name, bool(socket.getaddrinfo("
            "name + '.example', 7)))\n    except OSError: print(name, False)")
    for hosts, said in ((["a.example:7"], "a True\nb False\n"), ([], "a False\nb False\n"),
                        (None, "a True\nb True\n")):
        fields = {} if hosts is None else {"network": hosts}
        first = open_session(client, language="python", policy="net", **fields)
        for one in (first, fork(client, first)["id"]):
            assert run(client, one, look) == said, hosts


def test_large_state_is_left(unix, session):
    old = session("python")
    run(unix, old, "large = bytes(9 << 20); small = 1; many = list(range(10 ** 6))")
    made = fork(unix, old)
    assert "small" in made["carried"] and "8 MiB" in left(made)["large"]
    assert run(unix, old, "print(len(large), len(many))") == "9437184 1000000\n"


def test_busy(unix, session):
    old = session("bash")
    thread = threading.Thread(target=lambda: run(unix, old, "sleep 1.5"))
    thread.start()
    serve.wait_for(lambda: unix.ask("GET", f"/v1/sessions/{old}").json()["state"] == "busy", 10, "busy")
    answer = unix.ask("POST", f"/v1/sessions/{old}/fork")
    assert (answer.status, answer.code) == (409, "session_busy")
    thread.join()
    assert len(unix.ask("GET", "/v1/sessions").json()["sessions"]) == 1


HOSTILE = [
    # The new interpreter is made to fail, to hang or to die: at worst there is no state, or no
    # fork.
    "class X:\n  def __reduce__(self): return (__import__('os')._exit, (3,))\nx = X()",
    "class X:\n  def __reduce__(self): return (__import__('time').sleep, (100,))\nx = X()",
    "class X:\n  def __reduce__(self): raise KeyboardInterrupt\nx = X()",
    # The lists and files of the original are misleading.
    "import os, threading, time\ndef spoil():\n  while True:\n    for n in os.listdir('/sandbox'):\n"
    "      if 'fork' in n:\n        try: os.unlink('/sandbox/' + n); os.symlink('/etc/passwd', '/sandbox/' + n)\n"
    "        except OSError: pass\nthreading.Thread(target=spoil, daemon=True).start()",
    "import sys\nsys.exit = None\nimport os\nos.getcwd = lambda: '\\n+forged\\n-x'",
    "globals()['a\\n+forged'] = 1\nglobals()['\\u202eevil'] = 2",
    "import pickle\npickle.Pickler = None",
    "import builtins\nbuiltins.open = lambda *a, **k: None",
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_state(unix, session, number):
    old = session("python", timeout_ms=3000)
    run(unix, old, HOSTILE[number])
    answer = unix.ask("POST", f"/v1/sessions/{old}/fork")
    # An interpreter that ends because of its input is the caller's own fault.
    assert answer.status == (400 if number < 2 else 201), answer.body
    assert b"root:" not in answer.body and b"forged" not in answer.body.replace(b"+forged", b"")
    if answer.status == 201:
        assert run(unix, answer.json()["id"], "print(1)") == "1\n"
        assert answer.json()["state"] == "idle"
    # Nothing is left of a failed fork.
    living = {s["id"] for s in unix.ask("GET", "/v1/sessions").json()["sessions"]}
    assert living <= {old, answer.json().get("id")}


def test_who_leaves_gets_none(unix, session):
    old = session("python")
    run(unix, old, "class X:\n  def __reduce__(self):\n    import time; time.sleep(2); return (int, ())\nx = X()")
    connection = serve.UnixConnection(unix.connect().path, 30)
    connection.request("POST", f"/v1/sessions/{old}/fork")
    time.sleep(0.7)
    assert len(unix.ask("GET", "/v1/sessions").json()["sessions"]) == 2
    connection.close()
    serve.wait_for(lambda: len(unix.ask("GET", "/v1/sessions").json()["sessions"]) == 1, 10, "its end")
    serve.wait_for(lambda: unix.ask("GET", f"/v1/sessions/{old}").json()["state"] == "idle", 10, "idle")
    assert run(unix, old, "print(2)") == "2\n"


def test_of_others(alice, bob):
    theirs = open_session(alice, language="bash")
    answer = bob.ask("POST", f"/v1/sessions/{theirs}/fork")
    assert (answer.status, answer.code) == (404, "not_found")
    alice.ask("DELETE", f"/v1/sessions/{theirs}")
    answer = alice.ask("POST", f"/v1/sessions/{theirs}/fork")
    assert (answer.status, answer.code) == (410, "session_gone")
    assert bob.ask("POST", f"/v1/sessions/{theirs}/fork").status == 404


def test_counts_as_a_session(make_service):
    client = make_service("--set", "sessions.per_tenant=2").unix()
    old = open_session(client, language="bash")
    fork(client, old)
    answer = client.ask("POST", f"/v1/sessions/{old}/fork")
    assert (answer.status, answer.code) == (429, "session_limit")


def test_policies_of_tokens(make_service):
    """Two tokens of a tenant: one that may not open such a session may not fork one either."""
    service = make_service(tokens=[("large", "--tenant", "firm"),
                                   ("small", "--tenant", "firm", "--policy", "other")])
    policies = service.server.config / "policies"
    policies.mkdir(exist_ok=True)
    (policies / "other.json").write_text('{"extends": "default", "description": "another"}')
    large, small = service.tcp("large"), service.tcp("small")
    answer = small.ask("POST", f"/v1/sessions/{open_session(large, language='bash')}/fork")
    assert (answer.status, answer.code) == (403, "policy_not_allowed")
    made = fork(small, open_session(large, language="bash", policy="other"))
    assert made["policy"] == "other"


def whole(client, session, code):
    return client.ask("POST", f"/v1/sessions/{session}/execute", {"code": code}).json()


@pytest.fixture
def wired(make_service):
    """A service with a policy that allows hosts."""
    service = make_service()
    policies = service.server.config / "policies"
    policies.mkdir(exist_ok=True)
    path = policies / "wired.json"
    path.write_text('{"extends": "default", "network": {"allow": ["a.invalid:80", "b.invalid:80"]}}')
    path.chmod(0o644)
    return service.unix()


NAMES = """
import socket
for name in ("a.invalid", "b.invalid"):
    try: print(name, socket.gethostbyname(name))
    except OSError: print(name, None)
"""


@pytest.mark.parametrize("hosts, reached", [
    ([], 0), (["b.invalid:80"], 1), (None, 2),
])
def test_network_is_not_wider_than_it_was(wired, hosts, reached):
    """Requested less than the policy allows: the fork, and a fork of that, have no more."""
    fields = {} if hosts is None else {"network": hosts}
    one = open_session(wired, language="python", policy="wired", **fields)
    for _ in range(3):
        result = whole(wired, one, NAMES)
        assert result["stdout"].count("198.18.") == reached, result["stdout"]
        assert ("network" in result) == (reached > 0)
        one = fork(wired, one)["id"]


def test_a_run_cannot_choose_the_network(wired):
    """A field that could not be kept is refused, above all when it requests less."""
    old = open_session(wired, language="python", policy="wired")
    for hosts in ([], ["a.invalid:80"], ["c.invalid"]):
        answer = wired.ask("POST", f"/v1/sessions/{old}/execute", {"code": "1", "network": hosts})
        assert (answer.status, answer.code) == (400, "invalid_request"), answer.body
        assert "network" in answer.json()["detail"]


def test_guard_is_not_less_than_it_was(unix, session):
    old = session("python", guard="strict")
    made = fork(unix, old)["id"]
    for one in (old, made, fork(unix, made)["id"]):
        assert whole(unix, one, "import os")["status"] == "rejected"
        assert whole(unix, one, "import math")["status"] == "ok"


def test_gone_after_a_restart(make_service):
    service = make_service()
    client = service.unix()
    made = fork(client, open_session(client, language="bash"))["id"]
    assert service.server.stop() == 0
    service.server.start()
    service.server.wait_ready(times=2)
    answer = client.ask("POST", f"/v1/sessions/{made}/fork")
    assert (answer.status, answer.code) == (410, "session_gone") and "lost" in answer.json()["detail"]
