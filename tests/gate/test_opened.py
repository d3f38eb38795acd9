# SPDX-License-Identifier: Apache-2.0
"""TLS that the operator lets the gate open: programs work unmodified, and never have the
credential."""

import json
import shutil

import pytest

SECRET = "Bearer of-the-operator"

URLLIB = """
import urllib.request as u
print(u.urlopen("https://api.test/x", timeout=10).read().decode())
"""


def headers(result):
    assert result["status"] == "ok", result
    return json.loads(result["stdout"])["headers"]


def test_the_header_is_added(opened, world):
    result = opened.run(URLLIB)
    assert headers(result)["Authorization"] == SECRET
    assert [(e["host"], e["port"], e["verdict"]) for e in result["network"]] == [
        ("api.test", 443, "allowed")]
    assert "reason" not in result["network"][0]
    visits = world.visits()[0]
    assert [visit[:2] for visit in visits] == [["::ffff:93.184.216.34", 443]]


def test_what_the_program_sends_under_that_name_is_replaced(opened):
    code = """
import urllib.request as u
r = u.Request("https://api.test/", headers={"authorization": "mine", "X-Own": "kept"})
print(u.urlopen(r, timeout=10).read().decode())
"""
    sent = headers(opened.run(code))
    assert sent["Authorization"] == SECRET and sent["X-Own"] == "kept"


def test_bodies(opened):
    code = """
import http.client, ssl
for body, more in ((b"x" * 3000000, {}), (iter([b"x" * 100000] * 30), {"encode_chunked": True})):
    c = http.client.HTTPSConnection("api.test", timeout=30)
    c.request("POST", "/size", body, {"Transfer-Encoding": "chunked"} if more else {}, **more)
    print(c.getresponse().read().decode())
c = http.client.HTTPSConnection("api.test", timeout=30)
c.request("GET", "/bytes/20000000")
print(len(c.getresponse().read()))
"""
    result = opened.run(code, options=["--timeout", "60s"])
    assert result["stdout"].split() == ["3000000", "3000000", "20000000"], result


def test_many_at_once(opened):
    code = """
import concurrent.futures, json, ssl, urllib.request as u
context = ssl.create_default_context() # takes long, and once is enough
def one(i):
    return json.loads(u.urlopen(f"https://api.test/{i}", timeout=100, context=context).read())["path"]
with concurrent.futures.ThreadPoolExecutor(16) as pool:
    print(sorted(pool.map(one, range(64)), key=lambda path: int(path[1:])) == [f"/{i}" for i in range(64)])
"""
    assert opened.run(code, options=["--timeout", "110s"], timeout=150)["stdout"] == "True\n"


def test_other_hosts_pass_as_they_are(opened, world):
    """Their certificate is the real one, of the tests' authority, and there is no header."""
    code = """
import json, ssl, socket
for host, file in (("public.test", "/sandbox/ca.pem"), ("api.test", None)):
    context = ssl.create_default_context(cafile=file)
    s = context.wrap_socket(socket.create_connection((host, 443), timeout=10), server_hostname=host)
    issuer = dict(item[0] for item in s.getpeercert()["issuer"])
    s.sendall(f"GET / HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    print(issuer.get("commonName"), issuer.get("organizationName"), b"of-the-operator" in s.recv(65536))
"""
    result = opened.run(code, options=["--in", f"ca.pem={world.directory}/ca.pem"])
    assert result["stdout"].splitlines() == ["test authority None False", "None brig True"], result


@pytest.mark.parametrize("command", [
    ["curl", "-sS", "https://api.test/x"],
    ["python3", "-c", "from pip._vendor import requests as r; print(r.get('https://api.test/x').text)"],
    ["node", "-e", "fetch('https://api.test/x').then(r => r.text()).then(t => console.log(t))"],
    ["wget", "-q", "-O", "-", "https://api.test/x"],
])
def test_programs(opened, command):
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    result = opened.run(None, args=["--", *command], options=["--timeout", "60s", "--memory", "1G"])
    assert headers(result)["Authorization"] == SECRET


def test_pip(opened):
    pytest.importorskip("pip")
    result = opened.run(None, options=["--timeout", "60s"], args=[
        "--", "python3", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check",
        "--target", "/tmp/t", "--index-url", "https://api.test/simple/", "tinypkg"])
    assert result["status"] == "ok" and "Successfully installed tinypkg" in result["stdout"], result


def test_npm(opened):
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    result = opened.run(None, options=["--timeout", "120s", "--memory", "1G"], args=[
        "--", "npm", "view", "tinynpm", "version", "--registry", "https://api.test/"])
    assert result["status"] == "ok" and "1.0.0" in result["stdout"], result


def test_git(opened, world):
    """It gets as far as the server's response, which is no repository: TLS was fine."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    result = opened.run(None, args=["--", "git", "ls-remote", "https://api.test/x.git"])
    assert "certificate" not in result["stderr"].lower(), result
    assert result["network"][0]["verdict"] == "allowed"


def test_tls_one_two_and_three(opened):
    code = """
import socket, ssl
for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
    context = ssl.create_default_context()
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2", "http/1.1"])
    s = context.wrap_socket(socket.create_connection(("api.test", 443)), server_hostname="api.test")
    print(s.version(), s.selected_alpn_protocol())
"""
    assert opened.run(code)["stdout"].split() == ["TLSv1.2", "http/1.1", "TLSv1.3", "http/1.1"]


def test_the_end_is_passed_on_as_it_was(opened):
    """A body without a length that the host cuts off must not look complete."""
    code = """
import socket, ssl
context = ssl.create_default_context()
context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
for path in ("/clean", "/ragged"):
    s = context.wrap_socket(socket.create_connection(("api.test", 443)), server_hostname="api.test",
                            suppress_ragged_eofs=False)
    s.sendall(f"GET {path} HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n".encode())
    data = b""
    try:
        while piece := s.recv(65536):
            data += piece
        print("whole", data.endswith(b"lasts"))
    except OSError as error:
        print("cut", data.endswith(b"lasts"))
"""
    assert opened.run(code)["stdout"].splitlines() == ["whole True", "cut True"]


def test_explain_says_so(opened, world):
    done = world.brig("explain", *opened.options, "-c", "1")
    lines = [line for line in done["stdout"].splitlines() if "api.test" in line]
    assert any("ca-certificates.crt" in line for line in lines), done["stdout"]
    assert any("brig-cell.pem" in line for line in lines), done["stdout"]
    done = world.brig("policy", "show", *opened.options[:2], "open")
    assert "api.test: Authorization, in opened TLS" in done["stdout"], done


def test_only_where_the_run_reaches_the_host(opened):
    """A run without it has no trace of it: no authority, no variables."""
    code = "import os; print(os.path.exists('/etc/ssl/brig-cell.pem'), 'NODE_EXTRA_CA_CERTS' in os.environ)"
    assert opened.run(code)["stdout"] == "True True\n"
    assert opened.run(code, "public.test")["stdout"] == "False False\n"
    assert opened.run(code, "api.test:80")["stdout"] == "False False\n"
