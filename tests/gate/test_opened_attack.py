# SPDX-License-Identifier: Apache-2.0
"""Attacks on opened TLS: on the credential, on the authority, on the identity of the host."""

import json
import re
import subprocess

import pytest

SECRET = "of-the-operator"

GET = """
import urllib.error, urllib.request as u
try:
    print(u.urlopen("https://{}/x", timeout=10).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
except OSError as error:
    print(type(error).__name__, error)
"""

TALK = """
import socket, ssl
context = ssl.create_default_context({trust})
context.check_hostname = False
{more}
try:
    s = socket.create_connection(({host!r}, 443), timeout=10)
    s = context.wrap_socket(s, server_hostname={name!r})
    for piece in {pieces!r}:
        s.sendall(piece)
    data = b""
    while piece := s.recv(65536):
        data += piece
    print(data.decode("latin-1"))
except OSError as error:
    print(type(error).__name__, error)
"""


def talk(opened, pieces=(), host="api.test", name="api.test", trust="", more="", **options):
    pieces = [pieces] if isinstance(pieces, bytes) else list(pieces)
    code = TALK.format(pieces=pieces, host=host, name=name, trust=trust, more=more)
    return opened.run(code, **options)


def verdicts(result):
    return [entry["verdict"] for entry in result["network"]]


def requests_of(world):
    return [visit for visit in world.visits()[0] if "HTTP/1" in visit[2]]


# --- the peer's identity -------------------------------------------------------------------------


@pytest.mark.parametrize("host,word", [
    ("selfsigned.test", "not signed by a trusted authority"), ("wrongname.test", "another name"),
    ("expired.test", "expired"), ("client.test", "not valid for a server"),
    ("api.test:8444", "TLS 1.2")])
def test_hosts_that_do_not_prove_who_they_are(opened, world, host, word):
    name, port = host.split(":") if ":" in host else (host, "443")
    opened.write([opened.credential(name)], [{"host": name, "ports": port, "protocol": "tls"}])
    result = opened.run(GET.format(host))
    assert result["stdout"].startswith("502 brig: the host did not prove"), result
    entry = result["network"][0]
    assert entry["verdict"] == "refused_peer" and word in entry["reason"], entry
    assert entry["address"] == "93.184.216.34" and entry["bytes_down"] == 0
    assert requests_of(world) == []


def test_the_remedy_names_cause_and_repair(opened):
    opened.write([opened.credential("expired.test")], ["expired.test"])
    result = opened.run("import urllib.request as u; u.urlopen('https://expired.test/')")
    assert result["status"] == "failed" and "expired" in result["verdict"]["remedy"], result
    assert "authorities" in result["verdict"]["operator_remedy"]


def test_without_a_file_the_hosts_own_list_counts(opened, world):
    """And the tests' authority is not in it. The cell's trusted authorities do not
    affect the gate."""
    opened.write([opened.credential("api.test", authorities=None)])
    text = json.loads((opened.directory / "policies" / "open.json").read_text())
    del text["network"]["credentials"][0]["authorities"]
    (opened.directory / "policies" / "open.json").write_text(json.dumps(text))
    result = opened.run(GET.format("api.test"))
    assert verdicts(result) == ["refused_peer"] and "not signed by a trusted authority" in result["network"][0]["reason"]
    assert requests_of(world) == []


# --- the requested host ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["public.test", "evil.test", "x.api.test", "api.test.evil.test", None])
def test_sni_must_be_the_host(opened, world, name):
    result = talk(opened, b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n", name=name)
    assert verdicts(result) == ["refused_protocol"], result
    assert "unrecognized name" in result["stdout"].lower().replace("_", " "), result
    # There is no certificate for that name, and no other host's connection is opened by it.
    result = talk(opened, b"GET / HTTP/1.1\r\nHost: api.test\r\n\r\n", host="public.test",
                  name="api.test")
    assert verdicts(result) == ["refused_protocol"], result
    assert requests_of(world) == []


REFUSED = [
    b"GET / HTTP/1.1\r\nHost: public.test\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: api.test\r\nHost: public.test\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: api.test:80\r\n\r\n",
    b"GET https://public.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
    b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n",
    b"CONNECT public.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    b"POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n4;x\r\n",
    b"GET / HTTP/1.1\r\nHost: api.test\r\nX: a\r\n Authorization: b\r\n\r\n",
    b"\x16\x03\x01\x00\x05hello",
]


@pytest.mark.parametrize("request_", REFUSED)
def test_requests_that_are_refused(opened, world, request_):
    result = talk(opened, request_)
    assert result["stdout"].startswith("HTTP/1.1 403 Forbidden"), result["stdout"]
    assert verdicts(result) == ["refused_protocol"]
    assert requests_of(world) == []


def test_https_in_the_target_is_fine(opened, world):
    result = talk(opened, b"GET https://api.test/whole HTTP/1.1\r\nHost: api.test:443\r\n\r\n")
    assert result["stdout"].startswith("HTTP/1.1 200 OK") and '"/whole"' in result["stdout"], result


@pytest.mark.parametrize("first", [
    b"POST /echo HTTP/1.1\r\nHost: api.test\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST /echo HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n"])
def test_a_second_request_never_arrives(opened, world, first):
    second = b"GET /second HTTP/1.1\r\nHost: api.test\r\nX-Evil: 1\r\n\r\n"
    for pieces in ([first + second], [first[:70], first[70:] + second, second]):
        result = talk(opened, pieces)
        assert result["stdout"].count("HTTP/1.1") == 1 and "abcd" in result["stdout"], result
    assert "second" not in json.dumps(world.visits()[0])


# --- accepted protocols ---------------------------------------------------------------------------


def test_http2_is_not_agreed_on(opened, world):
    result = talk(opened, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", more="context.set_alpn_protocols(['h2'])")
    assert "application protocol" in result["stdout"].lower(), result
    assert verdicts(result) == ["refused_protocol"] and "HTTP/1.1" in result["network"][0]["reason"]
    assert requests_of(world) == []


def test_no_older_tls(opened, world):
    more = "\n".join(["context.set_ciphers('ALL:@SECLEVEL=0')",
                      "context.minimum_version = ssl.TLSVersion.TLSv1",
                      "context.maximum_version = ssl.TLSVersion.TLSv1_1"])
    result = talk(opened, more=more)
    assert "Error" in result["stdout"] and verdicts(result) == ["refused_protocol"], result
    result = talk(opened, more="context.maximum_version = ssl.TLSVersion.TLSv1_2\n"
                               "context.set_ciphers('AES128-SHA:AES128-GCM-SHA256')")
    assert "Error" in result["stdout"] and verdicts(result) == ["refused_protocol"], result


def test_in_clear_there_is_no_credential(opened, world):
    """A request by http:// would send it in clear."""
    code = ("import urllib.request as u\n"
            "print(u.urlopen('http://api.test/x', timeout=10).read().decode())")
    result = opened.run(code)
    assert result["status"] == "ok" and SECRET not in result["stdout"], result
    assert "Authorization" not in json.loads(result["stdout"])["headers"]


def test_a_program_that_does_not_trust_it(opened, world):
    """A program that pins its authorities refuses, and the log gives the reason."""
    result = talk(opened, trust="cafile='/sandbox/ca.pem'",
                  options=["--in", f"ca.pem={world.directory}/ca.pem"])
    assert "CERTIFICATE_VERIFY_FAILED" in result["stdout"], result
    assert verdicts(result) == ["refused_protocol"]
    assert "does not trust" in result["network"][0]["reason"]


def test_garbage_does_no_harm(opened, world):
    """Broken records, at each point; the gate survives, and the next connection works."""
    code = """
import os, random, socket, ssl, urllib.request as u
random.seed(7)
context = ssl.create_default_context()
def hello():
    out = ssl.MemoryBIO()
    o = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="api.test")
    try:
        o.do_handshake()
    except ssl.SSLWantReadError:
        return out.read()
for i in range(60):
    s = socket.create_connection(("api.test", 443), timeout=10)
    first = bytearray(hello())
    if i % 3 == 0:
        first[random.randrange(60, len(first))] ^= 1 << random.randrange(8)
    s.sendall(first)
    if i % 3 == 1:
        s.sendall(bytes([random.choice([20, 21, 22, 23, 24, 255]), 3, 3, 0, 40]) + os.urandom(40))
    if i % 3 == 2:
        s.recv(100)
        s.sendall(os.urandom(300))
    if i % 4:
        s.close()
for i in range(20):
    s = context.wrap_socket(socket.create_connection(("api.test", 443)), server_hostname="api.test")
    raw = socket.socket(fileno=os.dup(s.fileno()))
    raw.sendall(bytes([23, 3, 3, 0, 60]) + os.urandom(60))
    try:
        s.recv(100)
    except OSError:
        pass
print(len(u.urlopen("https://api.test/x", timeout=10).read()) > 10)
"""
    opened.write(rate=1000, connections=256)
    result = opened.run(code, options=["--timeout", "60s"])
    assert result["stdout"] == "True\n", result
    assert len(requests_of(world)) == 1


# --- visible to the cell --------------------------------------------------------------------------


SEARCH = """
import os, sys
words = [b"of-the-" + b"operator", b"PRIVATE " + b"KEY"]
found = []
def look(path):
    try:
        with open(path, "rb") as file:
            data = file.read(1 << 22)
    except OSError:
        return
    found.extend((path, word) for word in words if word in data)
for top in ("/etc", "/tmp", "/sandbox", "/dev/shm", "/run", "/var", "/proc"):
    for directory, _, files in os.walk(top):
        for name in files:
            path = os.path.join(directory, name)
            if os.path.isfile(path) and name not in ("mem", "pagemap") and "code" not in name:
                look(path)
print([pid for pid in os.listdir("/proc") if pid.isdigit() and "gate" in open(f"/proc/{pid}/comm").read()])
print(found, any("operator" in value for value in os.environ.values()))
"""


def test_neither_credential_nor_key_is_in_the_cell(opened):
    result = opened.run(SEARCH, options=["--timeout", "60s"])
    assert result["stdout"].splitlines() == ["[]", "[] False"], result


AUTHORITY = "print(open('/etc/ssl/brig-cell.pem').read())"


def test_the_authority_is_for_these_hosts_and_this_cell(opened, tmp_path):
    texts = [opened.run(AUTHORITY)["stdout"] for _ in range(2)]
    assert texts[0] != texts[1] and all(text.count("BEGIN CERTIFICATE") == 1 for text in texts)
    shown = subprocess.run(["openssl", "x509", "-noout", "-text"], input=texts[0], text=True,
                           capture_output=True, check=True).stdout
    assert re.search(r"Basic Constraints: critical\s+CA:TRUE, pathlen:0", shown)
    assert re.search(r"Name Constraints: critical\s+Permitted:\s+DNS:api.test\s+Excluded:", shown)
    assert "NIST CURVE: P-256" in shown and "Certificate Sign\n" in shown
    bundle = opened.run("print(open('/etc/ssl/certs/ca-certificates.crt').read())")["stdout"]
    assert bundle.count("BEGIN CERTIFICATE") > 1 and "PRIVATE" not in bundle
    # The authority that one cell trusts is not trusted by another.
    (tmp_path / "other.pem").write_text(texts[0])
    result = talk(opened, trust="cafile='/sandbox/other.pem'",
                  options=["--in", f"other.pem={tmp_path}/other.pem"])
    assert "CERTIFICATE_VERIFY_FAILED" in result["stdout"], result


def test_the_certificate_is_for_the_host_alone(opened):
    code = """
import socket, ssl
s = ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", 443)),
                                             server_hostname="api.test")
print(s.getpeercert()["subjectAltName"])
print(ssl.DER_cert_to_PEM_cert(s.getpeercert(True)))
"""
    result = opened.run(code)
    assert result["stdout"].startswith("(('DNS', 'api.test'),)\n"), result
    shown = subprocess.run(["openssl", "x509", "-noout", "-text"], text=True, capture_output=True,
                           input=result["stdout"].split("\n", 1)[1], check=True).stdout
    assert "CA:FALSE" in shown and "TLS Web Server Authentication" in shown


def test_the_list_cannot_be_written(opened):
    code = """
for path in ("/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/brig-cell.pem"):
    try:
        open(path, "a").write("x")
        print("written")
    except OSError as error:
        print(error.errno)
"""
    assert "written" not in opened.run(code)["stdout"]


# --- the operator's configuration -----------------------------------------------------------------


@pytest.mark.parametrize("more,word", [
    ({"tls": "yes"}, "tls"), ({"tls": True}, "tls"), ({"tls": "pass"}, "authorities"),
    ({"authorities": "ca.pem"}, "absolute"), ({"host": "*.api.test"}, "host"),
])
def test_malformed_credentials(opened, more, word):
    opened.write([opened.credential(**{"host": "api.test", **more})])
    result = opened.run("1")
    assert result["error"]["code"] == "policy" and word in result["error"]["message"], result


def test_two_opinions_on_one_host(opened):
    opened.write([opened.credential("api.test"),
                  opened.credential("api.test", header="X", authorities="/etc/other.pem")])
    assert "authorities" in opened.run("1")["error"]["message"]


def test_two_headers_and_many_hosts(opened):
    hosts = [f"h{i}.test" for i in range(14)]
    opened.write([opened.credential("api.test"), opened.credential("api.test", header="X-Also"),
                  *map(opened.credential, hosts)], ["api.test", *hosts])
    result = opened.run(GET.format("api.test"))
    sent = json.loads(result["stdout"])["headers"]
    assert sent["X-Also"] == sent["Authorization"] == "Bearer of-the-operator"


@pytest.mark.parametrize("text", ["", "nothing", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_authorities_that_are_none(opened, tmp_path, text):
    (tmp_path / "bad.pem").write_text(text)
    opened.write([opened.credential("api.test", authorities=str(tmp_path / "bad.pem"))])
    result = opened.run("1")
    assert result["error"]["code"] == "policy" and "authorities" in json.dumps(result["error"]), result


def test_authorities_that_are_missing(opened):
    opened.write([opened.credential("api.test", authorities="/nonexistent/ca.pem")])
    result = opened.run("1")
    assert result["error"]["code"] == "policy" and "/nonexistent/ca.pem" in result["error"]["message"]


def test_byte_limit(opened):
    code = "import urllib.request as u; print(len(u.urlopen('https://api.test/bytes/3000000').read()))"
    result = opened.run(code, options=["--net-bytes", "1M"])
    assert result["status"] == "network_limit", result
    assert result["usage"]["net_bytes"] == 1 << 20
