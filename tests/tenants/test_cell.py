# SPDX-License-Identifier: Apache-2.0
"""From inside of a cell no part of the service is reachable: no socket, no file, no process."""

import json
import os
import socket
import subprocess
import threading

import pytest

LOOK = r"""
import json, os, socket, sys
facts = json.loads(sys.stdin.read())
found = {}
def attempt(name, what):
    try: found[name] = str(what())[:20000]
    except OSError as e: found[name] = e.__class__.__name__
def connect(family, address):
    s = socket.socket(family); s.settimeout(1); s.connect(address); s.send(b'GET / HTTP/1.0\r\n\r\n'); return s.recv(99)
attempt('unix', lambda: connect(socket.AF_UNIX, facts['socket']))
attempt('abstract', lambda: connect(socket.AF_UNIX, '\0' + facts['abstract']))
for host in ('127.0.0.1', '0.0.0.0', 'localhost'):
    attempt('tcp ' + host, lambda: connect(socket.AF_INET, (host, facts['port'])))
attempt('tcp6', lambda: connect(socket.AF_INET6, ('::1', facts['port'])))
for path in (facts['state'], facts['dir'], facts['tokens'], facts['log'], '/run/brig', '/var/lib/brig'):
    attempt(path, lambda: os.stat(path))
    attempt('open ' + path, lambda: os.listdir(path))
for pid in facts['pids']:
    attempt('proc %d' % pid, lambda: open('/proc/%d/cmdline' % pid).read())
    attempt('kill %d' % pid, lambda: os.kill(pid, 0))
fds = {}
for fd in range(256):
    try: fds[fd] = os.readlink('/proc/self/fd/%d' % fd)
    except OSError: pass
text = ' '.join(list(os.environ.values()) + sys.argv[1:] + open('/proc/self/cmdline').read().split('\0'))
attempt('unix table', lambda: open('/proc/net/unix').read())
attempt('mounts', lambda: open('/proc/self/mounts').read())
print(json.dumps([found, fds, text]))
"""


@pytest.fixture
def abstract():
    """A target that would be found if the cell were in the host's network."""
    name = f"brig-tenants-test-{os.getpid()}"  # the other pass has one as well
    with socket.socket(socket.AF_UNIX) as door:
        door.bind("\0" + name)
        door.listen()
        yield name


def facts_of(house, abstract):
    server = house.server
    return {"socket": server.socket, "abstract": abstract, "port": house.port, "state": str(server.state),
            "dir": str(server.dir), "tokens": str(house.file), "log": str(server.dir / "log"),
            "pids": [server.pid, *server.roles().values()]}


@pytest.mark.parametrize("way", ["run", "cold", "session", "mcp"])
def test_nothing_of_the_service(house, mallory, abstract, way):
    facts = facts_of(house, abstract)
    code = LOOK
    if way == "mcp":
        text = mallory.mcp().call("execute_code", code=code, stdin=json.dumps(facts))["structuredContent"]["stdout"]
    elif way == "session":
        session = mallory.session()
        text = mallory.run_in(session, code, stdin=json.dumps(facts))["stdout"]
        mallory.ask("DELETE", f"/v1/sessions/{session}")
    else:
        text = mallory.run(code, stdin=json.dumps(facts), start="cold" if way == "cold" else "auto")["stdout"]
    found, fds, words = json.loads(text)
    tables = {name: found.pop(name) for name in ("unix table", "mounts")}
    # Process numbers of the host may also be numbers in the cell; those are not the service's.
    reached = {k: v for k, v in found.items() if not v.endswith("Error") and k.split()[0] not in ("kill", "proc")}
    assert not reached, reached
    for name, value in found.items():
        assert "brig-front" not in value and "brig-warden" not in value, name
    everything = json.dumps([fds, words, tables])
    for secret in (facts["dir"], facts["socket"], "brig.sock", abstract, "ledger", house.tokens["alice"]):
        assert secret not in everything, (secret, everything)
    # Besides its own streams: the memory for its value, or its session's channel.
    more = [v for n, v in fds.items() if int(n) > 2 and "memfd:brig-value" not in v]
    assert len(more) <= (way == "session"), fds


def test_control_on_the_host(house, abstract, tmp_path):
    """The same search from a plain process finds all of it."""
    done = subprocess.run(["python3", "-c", LOOK], check=True, capture_output=True, text=True,
                          cwd=tmp_path, input=json.dumps(facts_of(house, abstract)))
    found, _, _ = json.loads(done.stdout)
    assert "HTTP/1.1" in found["unix"] and "HTTP/1.1" in found["tcp 127.0.0.1"]
    assert found["abstract"] in ("b''", "TimeoutError") and found[str(house.server.state)].startswith("os.stat")
    assert "brig-front" in str(found)


def test_nothing_of_other_runs(house, mallory, alice):
    """Two tenants' cells at once: no process, file or shared memory of the other is visible."""
    marker = "marker-of-alice-4711"
    results = []
    thread = threading.Thread(target=lambda: results.append(alice.run(
        f"import time, os\nopen('/sandbox/{marker}', 'w'); open('/tmp/{marker}', 'w')\n"
        f"os.environ['X'] = {marker!r}\ntime.sleep(3); print({marker!r})", args=[marker])))
    thread.start()
    look = ("import os\nfor d, s, f in os.walk('/'):\n  s[:] = [x for x in s if d != '/' or x not in ('usr', 'sys')]\n"
            "  print(d, s, f)\nfor p in os.listdir('/proc'):\n  try: print(open('/proc/' + p + '/cmdline').read(),"
            " open('/proc/' + p + '/environ').read())\n  except OSError: pass\n")
    for _ in range(3):
        assert marker not in json.dumps(mallory.run(look, limits={"stdout_bytes": 1 << 20}))
    thread.join()
    assert results[0]["stdout"] == marker + "\n"


HELD = r"""
import json, os, subprocess, sys
def held(fds):
    links = []
    for fd in fds:
        try: links.append(os.readlink('/proc/self/fd/%s' % fd))
        except OSError: pass
    return [link for link in links if link.startswith('socket:')]
child = subprocess.run([sys.executable, '-c', "import os\nfor f in os.listdir('/proc/self/fd'):\n"
    "  try: print(os.readlink('/proc/self/fd/' + f))\n  except OSError: pass"],
    capture_output=True, text=True, close_fds=False).stdout.split()
print(json.dumps([held(os.listdir('/proc/self/fd')), [x for x in child if x.startswith('socket:')]]))
"""


def test_no_channel_but_its_own(house, mallory, alice):
    """Cells made ahead have both a value and a channel: a run gets no channel, a session only its
    own, and no child of either has one."""
    for client in (mallory, alice):  # pools
        for _ in range(3):
            client.run("1")
    seen, runs, lock = {}, [], threading.Lock()

    def sessions(client):
        for _ in range(6):
            session = client.session(language="python")
            own, child = json.loads(client.run_in(session, HELD)["stdout"])
            with lock:
                seen[session] = (own, child, client)

    def plain(client):
        for number in range(12):
            result = client.run(HELD, want_value=number % 2 == 0)
            with lock:
                runs.append((result["start"], json.loads(result["stdout"])))

    threads = [threading.Thread(target=what, args=(client,))
               for client in (mallory, alice) for what in (sessions, plain)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(runs) == 24 and all(held == [[], []] for _, held in runs), runs
    assert len(seen) == 12 and all(len(own) == 1 and child == [] for own, child, _ in seen.values())
    assert len({own[0] for own, _, _ in seen.values()}) == 12
    for session, (_, _, client) in seen.items():
        client.ask("DELETE", f"/v1/sessions/{session}")


FORGE = r"""
import os, socket
fd = next(int(f) for f in os.listdir('/proc/self/fd')
          if os.path.exists('/proc/self/fd/' + f) and os.readlink('/proc/self/fd/' + f).startswith('socket:'))
door = socket.socket(fileno=os.dup(fd))
%s
"""


@pytest.mark.parametrize("what", [
    "door.sendall(b'done 1 0 4\\n1234')", "door.sendall(b'done 2 0 0\\n' * 100)", "door.sendall(b'x' * 100000)",
    "door.sendall(b'ready\\n')", "door.shutdown(socket.SHUT_RDWR)", "os.close(fd)",
    "socket.send_fds(door, [b'done 1 0 0\\n'], [0, 1, 2])",
])
def test_a_channel_broken_into(house, mallory, alice, what):
    """Messages of a session on its own channel are about itself, and at worst its end."""
    bystander, mine = alice.session(language="python"), mallory.session(language="python")
    alice.run_in(bystander, "kept = 7")
    mallory.run_in(mine, FORGE % what)
    answer = mallory.ask("POST", f"/v1/sessions/{mine}/execute", {"code": "1"})
    assert answer.status in (200, 410), answer.body
    assert alice.run_in(bystander, "print(kept)")["stdout"] == "7\n"
    for client, session in ((alice, bystander), (mallory, mine)):
        client.ask("DELETE", f"/v1/sessions/{session}")
