# SPDX-License-Identifier: Apache-2.0
"""`brig run --service URL` and similar: a service elsewhere, by socket, TCP and TLS."""

import json
import os
import subprocess

import pytest
from conftest import BRIG
from test_certificates import encrypted, pair  # noqa: F401: fixtures

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("BRIG_")}


def brig(*words, url=None, token=None, ca=None, stdin=b"", cwd=None):
    env = dict(CLEAN)
    for name, value in (("BRIG_URL", url), ("BRIG_TOKEN", token), ("BRIG_CA", ca)):
        if value:
            env[name] = str(value)
    return subprocess.run([BRIG, *map(str, words)], input=stdin, capture_output=True, env=env,
                          timeout=60, check=False, cwd=cwd)


@pytest.fixture
def run(server):
    def of(*words, **more):
        return brig("run", "--service", f"unix:{server.socket}", *words, **more)
    return of


def test_streams_and_status(run):
    done = run("--lang", "bash", "-c", "cat; echo e >&2; exit 3", stdin=b"in \xff\0 put")
    assert (done.stdout, done.stderr, done.returncode) == (b"in \xff\0 put", b"e\n", 3)


def test_code_from_stdin_file_and_arguments(run, tmp_path):
    assert run("-", "--", "a", stdin=b"import sys; print(sys.argv[1:])").stdout == b"['a']\n"
    (tmp_path / "x.sh").write_text('echo "$1"\n')
    assert run(str(tmp_path / "x.sh"), "--", "b").stdout == b"b\n"


def test_limits_environment_and_verdict(run):
    done = run("--timeout", "300ms", "-c", "while True: pass")
    assert done.returncode == 124 and b"brig: timeout" in done.stderr
    done = run("--env", "A=1=2", "-c", "import os; print(os.environ['A'])")
    assert done.stdout == b"1=2\n"
    done = run("--memory", "9999G", "-c", "1")
    assert done.returncode != 0 and b"ceiling" in done.stderr


@pytest.mark.parametrize("words, status", [
    (["--policy", "strict", "--lang", "c", "-c", "int main(void) { return 0; }"], 126),
    (["--policy", "open", "-c", "1"], 126), (["--policy", "open", "--yes", "-c", "1"], 126),
    (["--lang", "cobol", "-c", "1"], 127), (["--timeout", "0", "-c", "1"], 2)])
def test_a_refusal_has_the_status_that_it_has_without_a_service(run, words, status):
    done = run(*words)
    assert done.returncode == status, done.stderr
    if "--yes" not in words:
        assert brig("run", *words).returncode == status


def test_files(run, tmp_path):
    (tmp_path / "in.bin").write_bytes(b"\0\xff")
    done = run("--in", tmp_path / "in.bin", "--out-dir", tmp_path / "o", "-c",
               "open('out/copy', 'wb').write(open('in.bin', 'rb').read() * 2)")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "o" / "out" / "copy").read_bytes() == b"\0\xff\0\xff"


def test_files_of_20_mib_go_and_more_is_told(run, tmp_path):
    (tmp_path / "f").write_bytes(bytes(20 << 20))
    done = run("--in", tmp_path / "f", "-c", "import os; print(os.path.getsize('f'))")
    assert done.stdout == b"20971520\n", done.stderr
    (tmp_path / "f").write_bytes(bytes(60 << 20))
    done = run("--in", tmp_path / "f", "-c", "1")
    assert done.returncode == 125 and b"http.json_bytes" in done.stderr, done


def test_json_is_what_the_service_says(run):
    result = json.loads(run("--json", "--value", "-c", "[1, 2]").stdout)
    assert result["status"] == "ok" and result["value"] == [1, 2]


@pytest.mark.parametrize("words, what", [
    (["--", "ls"], "-- CMD"), (["--ro", "/usr", "-c", "1"], "--ro"),
    (["--tenant", "x", "-c", "1"], "--tenant"), (["--no-cache", "-c", "1"], "--no-cache")])
def test_what_only_this_host_can_do(run, words, what):
    done = run(*words)
    assert f"--service cannot be combined with {what}".encode() in done.stderr


def test_output_that_nobody_reads_ends_the_run(server):
    """The reader is gone: the connection is closed, and with it the run."""
    words = [BRIG, "run", "--service", f"unix:{server.socket}", "-c",
             "while True: print('x' * 1000)"]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, env=CLEAN)
    run.stdout.read(10)
    run.stdout.close()
    assert run.wait(30) in (-13, 128 + 13)


def test_tcp_and_tls(encrypted):
    token = encrypted.headers["Authorization"].split()[1]
    ca = encrypted.config / "own.pem"
    for host in ("localhost", "127.0.0.1"):
        url = f"https://{host}:{encrypted.port}"
        done = brig("run", "--service", url, "-c", "print(6 * 7)", token=token, ca=ca)
        assert done.stdout == b"42\n", done.stderr
    assert b"\n" in brig("ps", "--all", "--service", url, token=token, ca=ca).stdout
    done = brig("ps", url=url, token=token, ca=ca)
    assert done.returncode == 0, done.stderr
    # A token that is missing or wrong, an authority that is not configured, no TLS.
    done = brig("run", "--service", url, "-c", "1", ca=ca)
    assert done.returncode != 0 and b"$BRIG_TOKEN" in done.stderr, done.stderr
    done = brig("run", "--service", url, "-c", "1", token="x\r\nA: b", ca=ca)
    assert b"BRIG_TOKEN is not a brig token" in done.stderr
    done = brig("run", "--service", url, "-c", "1", token=token)
    assert b"TLS handshake with 127.0.0.1" in done.stderr and b"BRIG_CA" in done.stderr
    # Whether its response comes in time or not: a service that hangs up is an error, not silence.
    (encrypted.config / "f").write_bytes(bytes(60 << 20))
    done = brig("run", "--service", url, "--in", encrypted.config / "f", "-c", "1", token=token, ca=ca)
    assert done.returncode == 125 and b"brig: the " in done.stderr, done
    done = brig("run", "--service", url.replace("https", "http"), "-c", "1", token=token)
    assert done.returncode != 0


@pytest.mark.parametrize("url", ["http://", "http://:80", "http://a:0", "http://a:99999",
                                 "http://a:1x", "https://u@h", "ftp://h", "unix:", "http://-x",
                                 "http://[::1", "http://[::1]x", "http://a/path", "http://a b"])
def test_addresses_that_are_none(url):
    done = brig("run", "--service", url, "-c", "1")
    assert b"is not a valid service address" in done.stderr, done


def test_a_host_that_is_not_there():
    done = brig("run", "--service", "http://no-such-host.invalid:80", "-c", "1")
    assert b"host not found" in done.stderr
    done = brig("run", "--service", "http://127.0.0.1:1", "-c", "1")
    assert b"no service answers at 127.0.0.1 port 1" in done.stderr


@pytest.mark.root
def test_a_token_is_not_sent_in_clear(tmp_path):
    """To another host only by TLS; the other host is an address of a network of the test."""
    script = """
ip link set lo up; ip addr add 198.18.0.1/32 dev lo
python3 -m http.server --bind 198.18.0.1 8000 >"$1/seen" 2>&1 & server=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
    BRIG_TOKEN=brig_secret "$2" ps --service http://198.18.0.1:8000 2>"$1/said" && break
    grep -q "in clear" "$1/said" && break
    sleep 0.5
done
kill $server
"""
    subprocess.run(["unshare", "-n", "sh", "-c", script, "sh", tmp_path, BRIG], timeout=60, check=False)
    assert "BRIG_TOKEN would be sent to 198.18.0.1:8000 in clear" in (tmp_path / "said").read_text()
    assert "GET" not in (tmp_path / "seen").read_text()
