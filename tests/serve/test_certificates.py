# SPDX-License-Identifier: Apache-2.0
"""TLS of the service: its files, their errors, and loading new ones."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from conftest import BRIG, wait_for


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def make_pair(place, name="own", kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), days=30):
    """NAME.pem and NAME.key, for localhost."""
    place.mkdir(exist_ok=True, mode=0o755)
    certificate, key = place / f"{name}.pem", place / f"{name}.key"
    openssl("req", "-x509", "-newkey", *kind, "-nodes", "-days", days, "-subj", f"/CN={name}",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", key, "-out", certificate)
    certificate.chmod(0o644)
    key.chmod(0o600)
    return certificate, key


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    return make_pair(tmp_path_factory.mktemp("pair"))


def write_config(place, **keys):
    place.mkdir(exist_ok=True, mode=0o755)
    (place / "serve.json").write_text(json.dumps(keys))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fill(place, pair):
    """A configuration with this certificate."""
    for file, end in zip(pair, (".pem", ".key")):
        shutil.copy(file, place / f"own{end}")
    write_config(place, tls={"certificate": "own.pem", "key": "own.key"})


@pytest.fixture
def encrypted(make_server, pair, tmp_path):
    """A server with TLS on .port; .headers hold a token."""
    port = free_port()
    tokens = tmp_path / "tokens.json"
    done = subprocess.run([BRIG, "token", "new", "t", "--json", "--file", tokens],
                          capture_output=True, check=True)
    server = make_server("--listen", f"127.0.0.1:{port}", "--tokens", tokens)
    fill(server.config, pair)
    server.port, server.tokens = port, tokens
    server.headers = {"Authorization": "Bearer " + json.loads(done.stdout)["token"],
                      "Content-Type": "application/json"}
    server.start()
    return server


def ask(server, method, path, body=None, certificate=None):
    context = ssl.create_default_context(cafile=certificate or server.config / "own.pem")
    connection = http.client.HTTPSConnection("localhost", server.port, timeout=30, context=context)
    headers = getattr(server, "headers", {})
    connection.request(method, path, json.dumps(body) if body else None, headers)
    return connection, connection.getresponse()


def subject(server):
    """The name of the certificate that is presented."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.port), 10) as raw:
        with context.wrap_socket(raw, server_hostname="localhost") as tls:
            der = tls.getpeercert(binary_form=True)
    text = subprocess.run(["openssl", "x509", "-inform", "der", "-noout", "-subject"], input=der,
                          capture_output=True, check=True).stdout.decode()
    return re.search(r"CN ?= ?(\S+)", text).group(1)


# --- served --------------------------------------------------------------------------------------


def test_runs_code(encrypted):
    """The sealed front uses TLS: OpenSSL makes no call outside of its list."""
    connection, answer = ask(encrypted, "POST", "/v1/execute",
                             {"language": "python", "code": "print(6 * 7)"})
    assert answer.status == 200
    assert json.loads(answer.read())["stdout"] == "42\n"
    connection.request("GET", "/v1/runtimes", headers=encrypted.headers)
    assert connection.getresponse().read()  # the same connection
    assert encrypted.request("GET", "/v1/health").status == 200  # by the unix socket, in clear
    assert "signal=31" not in encrypted.log()


def test_streams(encrypted):
    code = "import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.3)\n"
    start = time.monotonic()
    _, answer = ask(encrypted, "POST", "/v1/execute",
                    {"language": "python", "code": code, "stream": True})
    first = answer.readline() + answer.readline() + answer.readline()
    assert time.monotonic() - start < 10 and first
    rest = answer.read()
    assert b"event:" in first + rest and b"ok" in rest


def test_token_is_still_needed(encrypted):
    context = ssl.create_default_context(cafile=encrypted.config / "own.pem")
    connection = http.client.HTTPSConnection("localhost", encrypted.port, context=context)
    connection.request("GET", "/v1/executions")
    assert connection.getresponse().status == 401


def test_clear_is_refused(encrypted):
    connection = http.client.HTTPConnection("localhost", encrypted.port, timeout=10)
    connection.request("GET", "/v1/health")
    answer = connection.getresponse()
    assert answer.status == 400 and "https://" in json.loads(answer.read())["detail"]


def test_failed_handshakes_need_no_file(encrypted):
    """OpenSSL's error messages come from memory too."""
    front = encrypted.roles()["front"]
    for data in (b"\x16\x03\x01\x00\x05hello", b"\x80" * 100, os.urandom(500), b"\x15\x03\x01\0\2\2\0"):
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", encrypted.port), 5) as raw:
                raw.sendall(data)
                raw.shutdown(socket.SHUT_WR)
                try:
                    while raw.recv(1000):
                        pass
                except OSError:
                    pass
    assert ask(encrypted, "GET", "/v1/health")[1].status == 200
    assert encrypted.roles()["front"] == front


@pytest.mark.root
def test_key_is_the_fronts_alone(encrypted):
    """No memory file with it is left open, and no other role has it in its memory."""
    lines = Path(encrypted.config / "own.key").read_text().splitlines()
    secret = lines[1].encode()
    for role, pid in encrypted.roles().items():
        names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        assert not [name for name in names if name.startswith("/memfd:brig ")], role
        assert secret not in memory_of(pid), role
    assert secret in memory_of(encrypted.pid)  # the supervisor's, for the next front


def memory_of(pid):
    """All that can be written to."""
    parts = []
    with open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            where, mode = line.split()[:2]
            if "rw" not in mode:
                continue
            start, end = (int(word, 16) for word in where.split("-"))
            memory.seek(start)
            try:
                parts.append(memory.read(end - start))
            except OSError:
                pass
    return b"".join(parts)


# --- errors of the files -------------------------------------------------------------------------


def start_with(tmp_path, **keys):
    """The error message of `brig serve` when it cannot start."""
    write_config(tmp_path / "config", **keys)
    done = subprocess.run(
        [BRIG, "serve", "--dev", "--listen", "127.0.0.1:0", "--config", tmp_path / "config"],
        capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert "event=ready" not in done.stderr
    return done.stderr


def broken(pair, place):
    """Name -> (certificate, key, words of the error)."""
    certificate, key = pair
    other, other_key = make_pair(place, "other")
    own = certificate.read_bytes()

    def made(name, data, mode=0o600):
        (place / name).write_bytes(data)
        (place / name).chmod(mode)
        return place / name

    lines = own.splitlines(keepends=True)
    damaged = made("damaged.pem", b"".join(lines[:2] + [b"!!!!\n"] + lines[3:]))
    short = made("short.pem", own[:200])
    spoiled = made("spoiled.key", key.read_bytes().replace(b"M", b"A", 3))
    openssl("pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", place / "closed.key")
    openssl("x509", "-in", certificate, "-outform", "der", "-out", place / "own.der")
    weak = make_pair(place, "weak", ("rsa:1024",))
    return {
        "no certificate": (place / "none.pem", key, "there is no file"),
        "no key": (certificate, place / "none.key", "there is no file"),
        "another key": (certificate, other_key, "is not the key of"),
        "another certificate": (other, key, "is not the key of"),
        "swapped": (key, made("swapped.key", own), "holds no certificate"),
        "an empty certificate": (made("empty", b""), key, "is empty"),
        "binary": (place / "own.der", key, "PEM form"),
        "text": (made("text", b"hello\n"), key, "holds no certificate in PEM form"),
        "damaged": (damaged, key, "is damaged"),
        "cut": (short, key, "damaged"),
        "a damaged chain": (made("chain.pem", own + own[:200]), key, "damaged"),
        "a key that is none": (certificate, made("text.key", b"hello\n"), "holds no private key"),
        "a damaged key": (certificate, spoiled, "tls.key"),
        "a passphrase": (certificate, place / "closed.key", "has a passphrase"),
        "too weak": (*weak, "cannot be used"),
        "a directory": (place, key, "not a regular file"),
        "readable by all": (certificate, made("open.key", key.read_bytes(), 0o604), "others may read"),
        "writable by all": (made("w.pem", own, 0o666), key, "others may write"),
    }


CASES = ("no certificate", "no key", "another key", "another certificate", "swapped",
         "an empty certificate", "binary", "text", "damaged", "cut", "a damaged chain",
         "a key that is none", "a damaged key", "a passphrase", "too weak", "a directory",
         "readable by all", "writable by all")


@pytest.fixture(scope="session")
def wrong(pair, tmp_path_factory):
    cases = broken(pair, tmp_path_factory.mktemp("wrong"))
    assert tuple(cases) == CASES
    return cases


@pytest.mark.parametrize("case", CASES)
def test_wrong_files(tmp_path, wrong, case):
    certificate, key, words = wrong[case]
    text = start_with(tmp_path, tls={"certificate": str(certificate), "key": str(key)})
    assert words in text, text
    assert str(certificate) in text or str(key) in text
    assert "PRIVATE" not in text.replace("-----BEGIN PRIVATE KEY-----", "")


def at_time(tmp_path, pair, start, end):
    """The same key, with another time."""
    certificate = tmp_path / "timed.pem"
    (tmp_path / "index").write_text("")
    (tmp_path / "ca.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n"
        "[p]\ncommonName=supplied\n" % tmp_path)
    openssl("req", "-new", "-key", pair[1], "-subj", "/CN=timed", "-out", tmp_path / "csr")
    openssl("ca", "-batch", "-config", tmp_path / "ca.cnf", "-selfsign", "-keyfile", pair[1],
            "-in", tmp_path / "csr", "-notext", "-out", certificate, "-outdir", tmp_path,
            "-startdate", start, "-enddate", end)
    certificate.chmod(0o644)
    return certificate


@pytest.mark.parametrize(("start", "end", "words"), [
    ("20200101000000Z", "20210102030400Z", "has expired on 2021-01-02 03:04 UTC"),
    ("20990101000000Z", "21000101000000Z", "is not valid before 2099-01-01"),
])
def test_wrong_time(tmp_path, pair, start, end, words):
    certificate = at_time(tmp_path, pair, start, end)
    text = start_with(tmp_path, tls={"certificate": str(certificate), "key": str(pair[1])})
    assert words in text and str(certificate) in text


@pytest.mark.parametrize(("tls", "words"), [
    ({"certificate": "own.pem"}, "tls.key is not set"),
    ({"key": "own.key"}, "tls.certificate is not set"),
    ({"certificate": 1, "key": "x"}, "must be a text"),
    ({"cert": "x"}, "allowed: certificate, key"),
    ({"print": "x"}, "unknown key"),
])
def test_wrong_keys(tmp_path, tls, words):
    assert words in start_with(tmp_path, tls=tls)


def test_soon_over(make_server, pair, tmp_path):
    """A certificate that expires soon is used, and the log reports it."""
    soon = make_pair(tmp_path, "soon", days=3)
    server = make_server("--listen", "127.0.0.1:0")
    fill(server.config, soon)
    server.start()
    assert re.search(r"event=certificate-expires .*days=[23]\b", server.log())


def test_links_are_followed(make_server, pair):
    """The layout of certbot: names that stay, files that change."""
    server = make_server("--listen", f"127.0.0.1:{free_port()}")
    (server.config / "archive").mkdir(mode=0o755)
    fill(server.config, pair)
    for end in (".pem", ".key"):
        (server.config / f"own{end}").rename(server.config / "archive" / f"own1{end}")
        (server.config / f"own{end}").symlink_to(f"archive/own1{end}")
    server.start()


def test_links_of_others_are_not(tmp_path, pair):
    """A directory that others may write to can hold any link."""
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(0o777)
    (place / "own.pem").symlink_to(pair[0])
    text = start_with(tmp_path, tls={"certificate": str(place / "own.pem"), "key": str(pair[1])})
    assert "others may write" in text


# --- networks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["0.0.0.0:0", "[::]:0"])
def test_networks_need_tls_or_a_word(make_server, pair, tmp_path, place):
    done = subprocess.run([BRIG, "serve", "--dev", "--listen", place, "--config", tmp_path],
                          capture_output=True, text=True, timeout=30)
    assert done.returncode != 0
    assert "in clear" in done.stderr and "tls.certificate" in done.stderr
    assert "--insecure-bind" in done.stderr
    server = make_server("--listen", place)
    fill(server.config, pair)
    server.start()
    assert f"place={place[:-1]}" in server.log()


def test_reload_does_not_open_networks(make_server, pair):
    """Without TLS the sockets of the start would be in clear: refused, and TLS stays."""
    port = free_port()
    server = make_server("--listen", f"0.0.0.0:{port}")
    server.port = port
    fill(server.config, pair)
    server.start()
    write_config(server.config)
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "event=reload-refused" in server.log(), what="refusal")
    assert "in clear" in server.log()
    assert ask(server, "GET", "/v1/health")[1].status == 200


# --- reload --------------------------------------------------------------------------------------


def renew(server, times=1):
    """SIGHUP, and the new certificate is used without a restart."""
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: server.log().count("event=reloaded restart=false") >= times, what="reload")


def test_renewal_keeps_sessions(encrypted, tmp_path):
    """New connections get the new certificate; sessions and open connections stay."""
    roles = encrypted.roles()
    connection, answer = ask(encrypted, "POST", "/v1/sessions", {"language": "python"})
    session = json.loads(answer.read())["id"]
    old = encrypted.config / "before.pem"
    shutil.copy(encrypted.config / "own.pem", old)

    def run(on, code):
        on.request("POST", f"/v1/sessions/{session}/execute", json.dumps({"code": code}),
                   encrypted.headers)
        answer = on.getresponse()
        assert answer.status == 200, answer.read()
        return json.loads(answer.read())["stdout"]

    assert run(connection, "x = 41") == ""
    fill(encrypted.config, make_pair(tmp_path, "fresh"))
    renew(encrypted)
    assert subject(encrypted) == "fresh"
    assert run(connection, "print(x + 1)") == "42\n"  # over the connection that was open
    other, answer = ask(encrypted, "GET", f"/v1/sessions/{session}")
    assert answer.status == 200 and answer.read()
    assert run(other, "print(x + 2)") == "43\n"
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(encrypted, "GET", "/v1/health", certificate=old)
    assert encrypted.roles() == roles
    assert "signal=31" not in encrypted.log()  # loading it needs no call outside of the front's list


def test_handshake_over_a_renewal(encrypted, tmp_path):
    """A connection that was accepted before ends its handshake with the earlier certificate."""
    front = encrypted.roles()["front"]
    with socket.create_connection(("127.0.0.1", encrypted.port), 10) as raw:
        assert ask(encrypted, "GET", "/v1/health")[1].status == 200  # so `raw` was accepted too
        old = ssl.create_default_context(cadata=(encrypted.config / "own.pem").read_text())
        for times, name in enumerate(("second", "third"), 1):
            fill(encrypted.config, make_pair(tmp_path, name))
            renew(encrypted, times)
        with old.wrap_socket(raw, server_hostname="localhost") as tls:
            tls.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert tls.recv(100).startswith(b"HTTP/1.1 200")
    assert subject(encrypted) == "third"
    assert encrypted.roles()["front"] == front


def test_renewal_holds_for_the_next_front(encrypted, tmp_path):
    fill(encrypted.config, make_pair(tmp_path, "fresh"))
    renew(encrypted)
    os.kill(encrypted.roles()["front"], signal.SIGKILL)
    encrypted.wait_ready(2)
    assert subject(encrypted) == "fresh"


def test_renewal_with_other_tokens_too(encrypted, tmp_path):
    """Both changed: both are used, and nothing is restarted."""
    roles = encrypted.roles()
    fill(encrypted.config, make_pair(tmp_path, "fresh"))
    text = json.loads(encrypted.tokens.read_text())
    text["tokens"][0]["name"] = "renamed"
    encrypted.tokens.write_text(json.dumps(text))
    renew(encrypted)
    assert subject(encrypted) == "fresh"
    assert "event=tokens-changed count=1" in encrypted.log()
    assert ask(encrypted, "GET", "/v1/executions")[1].status == 200
    assert encrypted.roles() == roles


def test_wrong_tokens_keep_the_certificate(encrypted, tmp_path):
    """All or nothing: a reload that is refused leaves the old pair in use."""
    roles = encrypted.roles()
    fill(encrypted.config, make_pair(tmp_path, "fresh"))
    encrypted.tokens.write_text('{"tokens": [{}]}')
    encrypted.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "event=reload-refused" in encrypted.log(), what="refusal")
    assert subject(encrypted) == "own"
    assert encrypted.roles() == roles


def test_reload_with_another_configuration_too(encrypted, tmp_path):
    """More than the certificate has changed: the roles begin anew, with both."""
    fill(encrypted.config, make_pair(tmp_path, "fresh"))
    write_config(encrypted.config, tls={"certificate": "own.pem", "key": "own.key"},
                 hosts=["brig.example.org"])
    encrypted.process.send_signal(signal.SIGHUP)
    encrypted.wait_ready(2)
    assert "event=reloaded restart=true" in encrypted.log()
    assert subject(encrypted) == "fresh"


@pytest.mark.parametrize("what", ["key", "certificate", "gone"])
def test_wrong_reload_keeps_the_old_one(encrypted, tmp_path, what):
    front = encrypted.roles()["front"]
    certificate, key = make_pair(tmp_path, "fresh")
    if what == "key":
        shutil.copy(key, encrypted.config / "own.key")
    elif what == "certificate":
        (encrypted.config / "own.pem").write_text("half a fi")
    else:
        (encrypted.config / "own.key").unlink()
    encrypted.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "event=reload-refused" in encrypted.log(), what="refusal")
    assert subject(encrypted) == "own"
    assert encrypted.roles()["front"] == front


def test_killed_front_has_it_again(encrypted):
    """Also when the files are gone: the supervisor keeps the contents."""
    for end in (".pem", ".key"):
        (encrypted.config / f"own{end}").rename(encrypted.config / f"gone{end}")
    os.kill(encrypted.roles()["front"], signal.SIGKILL)
    encrypted.wait_ready(2)
    assert subject(encrypted) == "own"


# --- many ----------------------------------------------------------------------------------------


def test_many_idle(encrypted):
    """500 connections that send nothing after the handshake: the service continues."""
    context = ssl.create_default_context(cafile=encrypted.config / "own.pem")
    idle = []
    for _ in range(500):
        raw = socket.create_connection(("127.0.0.1", encrypted.port), 10)
        idle.append(context.wrap_socket(raw, server_hostname="localhost"))
    start = time.monotonic()
    assert ask(encrypted, "GET", "/v1/health")[1].status == 200
    assert time.monotonic() - start < 2
    for one in idle:
        one.close()


def test_no_configuration_of_openssl(make_server, pair, tmp_path):
    """Neither the host's, nor one of the environment: it could load modules."""
    trap = tmp_path / "openssl.cnf"
    trap.write_text("openssl_conf = x\n[x]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\n"
                    "MaxProtocol = TLSv1.2\n")
    server = make_server("--listen", f"127.0.0.1:{free_port()}",
                         env=dict(os.environ, OPENSSL_CONF=str(trap)))
    server.port = int(server.options[1].rsplit(":", 1)[1])
    fill(server.config, pair)
    server.start()
    connection, answer = ask(server, "GET", "/v1/health")
    assert answer.status == 200 and connection.sock.version() == "TLSv1.3"
