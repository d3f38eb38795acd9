# SPDX-License-Identifier: Apache-2.0
"""Programs that are not aware of the gate."""

import json
import os
import shutil

import pytest

BRIG = os.environ.get("BRIG", "build/brig")


def needs(program):
    return pytest.mark.skipif(not shutil.which(program, path="/usr/local/bin:/usr/bin"),
                              reason=f"there is no {program}")


def hosts(result):
    return {(entry["host"], entry["port"], entry["verdict"]) for entry in result["network"]}


@needs("curl")
def test_curl(run, world):
    ca = ["--in", f"ca.pem={world.directory}/ca.pem"]
    result = run(None, "public.test", options=ca,
                 args=["--", "curl", "-sS", "--cacert", "/sandbox/ca.pem", "https://public.test/a",
                       "http://public.test/b"])
    assert result["status"] == "ok", result["stderr"]
    assert '"/a"' in result["stdout"] and '"/b"' in result["stdout"]
    assert hosts(result) == {("public.test", 443, "allowed"), ("public.test", 80, "allowed")}
    result = run(None, "public.test", args=["--", "curl", "-sS", "-k", "--connect-to",
                                            "evil.test:443:public.test:443", "https://evil.test/"])
    assert hosts(result) == {("public.test", 443, "refused_protocol")}


@needs("node")
def test_node_fetch(run, world):
    code = """
    (async () => {
        const a = await fetch("http://public.test/node");
        console.log((await a.json()).path);
        try { await fetch("http://evil.test/"); } catch (e) { console.log(e.cause.code); }
    })();
    """
    result = run(code, "public.test", options=["--lang", "javascript"])
    assert result["stdout"] == "/node\nENOTFOUND\n", result
    assert hosts(result) == {("public.test", 80, "allowed"), ("evil.test", 0, "refused_name")}


def test_pip_install(run):
    code = """
import subprocess, sys
subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--index-url",
                "http://public.test/simple/", "--trusted-host", "public.test", "--target", "lib",
                "tinypkg"], check=True)
sys.path.insert(0, "lib")
import tinypkg
print(tinypkg.answer)
"""
    result = run(code, "public.test", options=["--timeout", "5m"], timeout=400)
    if "No module named pip" in result["stderr"]:
        pytest.skip("there is no pip")
    assert result["stdout"] == "42\n", result["stderr"]


@needs("npm")
def test_npm_install(run):
    result = run(None, "public.test",
                 options=["--memory", "1G", "--processes", "200", "--timeout", "5m", "--out",
                          "node_modules/**"],
                 args=["--", "npm", "install", "--registry", "http://public.test/", "--no-audit",
                       "--no-fund", "--no-update-notifier", "tinynpm"], timeout=400)
    assert result["status"] == "ok", (result["stdout"], result["stderr"])
    assert "node_modules/tinynpm/index.js" in [file["path"] for file in result["files"]]


@pytest.mark.root  # the server needs an account that is not root
@needs("psql")
def test_psql(world):
    binaries = "/usr/lib/postgresql/15/bin"
    if not os.path.exists(f"{binaries}/postgres"):
        pytest.skip("there is no PostgreSQL server")
    script = f"""
import os, shutil, subprocess, tempfile, time
who = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
directory = tempfile.mkdtemp(dir="/tmp")
os.chown(directory, 65534, 65534)
data = directory + "/db"
quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
subprocess.run([*who, "{binaries}/initdb", "-D", data, "-A", "trust", "-U", "me"], check=True, **quiet)
server = subprocess.Popen([*who, "{binaries}/postgres", "-D", data, "-c",
                           "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-p", "5433",
                           "-c", "fsync=off"], **quiet)
try:
    for _ in range(20):
        done = subprocess.run([{BRIG!r}, "run", "--net", "local:localhost:5433", "--", "psql", "-h",
                               "localhost", "-p", "5433", "-U", "me", "postgres", "-Atc",
                               "select 6 * 7"], capture_output=True, text=True)
        if done.returncode == 0:
            break
        time.sleep(0.5)
    print(done.stdout, done.stderr)
finally:
    server.terminate()
    server.wait()
    shutil.rmtree(directory)
"""
    done = world.command("/usr/bin/python3", "-c", script, timeout=90)
    assert done["stdout"].startswith("42\n"), done


SERVICE = """
import http.client, json, os, signal, socket, subprocess, sys, tempfile, time
brig, requests = sys.argv[1], json.loads(sys.argv[2])
directory = tempfile.mkdtemp(prefix="brig-gate-", dir="/tmp")
os.chmod(directory, 0o711)
os.makedirs(directory + "/config/policies")
os.chmod(directory + "/config", 0o755)
with open(directory + "/config/policies/net.json", "w") as file:
    file.write('{"extends": "default", "network": {"allow": ["public.test", "*.wild.test"]}}')
log = open(directory + "/log", "w+")
server = subprocess.Popen([brig, "serve", "--listen", f"unix:{directory}/s", "--state",
                           directory + "/state", "--config", directory + "/config"], stderr=log)
class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(directory + "/s")
def ask(path, body):
    connection = Connection("localhost", timeout=60)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    return json.loads(connection.getresponse().read())
try:
    for _ in range(300):
        if "role=supervisor event=ready" in open(directory + "/log").read():
            break
        time.sleep(0.1)
    answers = []
    session = None
    for path, body in requests:
        answer = ask(path.replace("SESSION", session or ""), body)
        session = answer.get("session_id") or answer.get("id") if path == "/v1/sessions" else session
        answers.append(answer)
    audit = subprocess.run([brig, "audit", "list", "--json", "--state", directory + "/state"],
                           capture_output=True, text=True)
    print(json.dumps([answers, audit.stdout]))
finally:
    server.send_signal(signal.SIGTERM)
    server.wait(30)
    log.seek(0)
    print(log.read(), file=sys.stderr)
"""


def test_service(world):
    get = "import urllib.request as u; print(len(u.urlopen('http://public.test/', timeout=9).read()) > 9)"
    requests = [
        ("/v1/execute", {"code": get, "policy": "net"}),
        ("/v1/execute", {"code": get, "policy": "net", "network": ["public.test:80"]}),
        ("/v1/execute", {"code": get, "policy": "net", "network": []}),
        ("/v1/execute", {"code": get, "policy": "net", "network": ["other.test"]}),
        ("/v1/execute", {"code": get, "network": ["public.test"]}),
        ("/v1/execute", {"code": get, "policy": "net", "network": ["a b"]}),
        ("/v1/execute", {"code": get}),
        ("/v1/sessions", {"language": "python", "policy": "net"}),
        ("/v1/sessions/SESSION/execute", {"code": get}),
        ("/v1/sessions/SESSION/execute", {"code": "print(1)"}),
        ("/v1/sessions/SESSION/execute", {"code": get}),
    ]
    done = world.command("/usr/bin/python3", "-c", SERVICE, BRIG, json.dumps(requests), timeout=120)
    assert done["status"] == 0, done["stderr"]
    answers, _ = json.loads(done["stdout"])
    assert answers[0]["stdout"] == "True\n" and answers[0]["network"][0]["verdict"] == "allowed"
    assert answers[1]["stdout"] == "True\n"
    assert answers[2]["status"] == "failed" and "network" not in answers[2]
    for refused in answers[3:6]:
        assert refused["status"] in (400, 403, 422), refused
        assert "public.test" in refused["detail"] or "other.test" in refused["detail"] or "a b" in refused["detail"]
    assert answers[6]["status"] == "failed" and "network" not in answers[6]
    # In a session a connection is reported with the run in which the gate saw its end.
    assert [answer["stdout"] for answer in answers[8:]] == ["True\n", "1\n", "True\n"]
    told = [entry["verdict"] for answer in answers[8:] for entry in answer["network"]]
    assert told in (["allowed"], ["allowed"] * 2)
