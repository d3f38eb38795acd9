# SPDX-License-Identifier: Apache-2.0
"""`brig run` with the user's warm service: the same as without, option by option."""

import json
import os
import re
import signal
import subprocess
import time

import pytest
import warm_service
from warm_service import BRIG, Service

PRINT = "print(6 * 7)"
OUT = "import os; open('out/a', 'w').write('x'); os.chmod('out/a', 0o755); open('b', 'w')"
LOOP = "while True: pass"


@pytest.fixture(scope="module")
def service():
    made = Service()
    yield made
    made.stop()


@pytest.fixture
def places(tmp_path):
    """Two directories with the same files, one for each way."""
    for way in ("cold", "warm"):
        place = tmp_path / way
        (place / "project" / "below").mkdir(parents=True)
        (place / "config" / "policies").mkdir(parents=True)
        (place / "data").write_text("some data\n")
        (place / "code.py").write_text("import helper\nprint(helper.WORD)\n")
        (place / "project" / "main.py").write_text("import helper\nprint(helper.WORD)\n")
        (place / "project" / "helper.py").write_text("WORD = 'helped'\n")
        (place / "blank.py").write_text(" \n")
        (place / "script.sh").write_text("#!/bin/bash\necho from a script \"$@\"; exit 4\n")
        (place / "config" / "policies" / "mine.json").write_text(
            '{"extends": "default", "limits": {"wall": "7s"}}')
    return tmp_path / "cold", tmp_path / "warm"


def plain(text, place):
    """Without what no two runs have in common."""
    text = text.replace(os.fsencode(place), b"PLACE")
    text = re.sub(rb'"id":"[0-9A-Z]{26}"', b'"id":"-"', text)
    return re.sub(rb"(?m)^brig: time: .*$", b"brig: time: -", text)


def result_of(text):
    """The parts of a result that every run with the same request has."""
    result = json.loads(text)
    for name in ("id", "usage", "start", "duration_ms"):
        result.pop(name, None)
    for event in result.get("events", []):
        event.pop("first_ms", None)
        event.pop("first_ns", None)
    if result.get("limit"):
        result.pop("peak", None)
        if isinstance(result["limit"], dict):
            result["limit"].pop("peak", None)
    return result


def files_below(place):
    return {str(path.relative_to(place)): (path.stat().st_mode,
                                           path.read_bytes() if path.is_file() else None)
            for path in sorted(place.rglob("*")) if path.name != "audit"}


def compare(service, places, *words, warm=True, **options):
    """Both ways; returns what the warm one gave."""
    cold = service.run(*words, env={**service.cold_env, **options.get("extra", {})},
                       cwd=places[0], **options.get("more", {}))
    before = service.counts()
    done = service.run(*words, env={**service.env, **options.get("extra", {})}, cwd=places[1],
                       **options.get("more", {}))
    after = service.counts()
    assert after[0] - before[0] == (1 if warm else 0), (done, service.status())
    assert done.returncode == cold.returncode, (cold, done)
    assert plain(done.stderr, places[1]) == plain(cold.stderr, places[0])
    if "--json" in words and cold.stdout.startswith(b"{"):
        assert result_of(done.stdout) == result_of(cold.stdout)
    else:
        assert done.stdout == cold.stdout
    assert files_below(places[1]) == files_below(places[0])
    return done


# For each option at least one command line; with --json the whole result is compared.
CASES = {
    "-c": [["-c", PRINT], ["-c", "import sys; print(sys.argv)", "--", "a", "b c"],
           ["-c", ""], ["-c"], ["-c", "raise ValueError('x')"], ["-c", "import os; os.abort()"]],
    "--lang": [["--lang", "bash", "-c", "echo $0; exit 3"], ["--lang", "klingon", "-c", "1"]],
    "--policy": [["--policy", "strict", "--json", "-c", PRINT], ["--policy", "none", "-c", "1"],
                 ["--policy=open", "-c", PRINT]],
    "--provider": [["--provider", "native", "--json", "-c", PRINT],
                   ["--provider", "balloon", "-c", PRINT]],
    "--venv": [["--venv", "./no-such", "-c", PRINT]],
    "--timeout": [["--timeout", "300ms", "-c", LOOP], ["--timeout", "1s", "--json", "-c", "1"],
                  ["--timeout", "often", "-c", "1"]],
    "--cpu-time": [["--cpu-time", "300ms", "-c", LOOP]],
    "--cpu": [["--cpu", "0.5", "--json", "-c", PRINT]],
    "--memory": [["--memory", "64M", "--json", "-c", PRINT], ["--memory", "1", "-c", PRINT]],
    "--processes": [["--processes", "5", "--json", "-c", PRINT]],
    "--disk": [["--disk", "1M", "-c", "open('f', 'w').write('x' * 3000000)"]],
    "--inodes": [["--inodes", "100", "--json", "-c", PRINT]],
    "--open-files": [["--open-files", "20", "-c",
                      "import resource as r; print(r.getrlimit(r.RLIMIT_NOFILE))"]],
    "--file-size": [["--file-size", "1M", "-c",
                     "import resource as r; print(r.getrlimit(r.RLIMIT_FSIZE))"]],
    "--stdout": [["--stdout", "1000", "-c", "print('x' * 5000)"]],
    "--stderr": [["--stderr", "1000", "-c", "import sys; sys.stderr.write('x' * 5000)"]],
    "--net-bytes": [["--net-bytes", "1000", "--json", "-c", PRINT]],
    "--grace": [["--grace", "100ms", "--timeout", "300ms", "--json", "-c", PRINT]],
    "--instructions": [["--instructions", "1000", "-c", PRINT]],
    "--clamp": [["--clamp", "--timeout", "900h", "--json", "-c", PRINT]],
    "--guard": [["--guard", "imports", "-c", "import ctypes"],
                ["--guard", "strict", "-c", PRINT]],
    "--check": [["--check", "-c", "import os; os.system('ls')"]],
    "--in": [["--in", "data", "-c", "print(open('data').read())"],
             ["--in", "x=data", "--in", "code.py", "--json", "-c", "print(open('x').read())"],
             ["--in", "missing", "-c", PRINT]],
    "--project": [["--project", "project/main.py"], ["code.py"]],
    "--out": [["--out", "b", "-c", OUT], ["--out", "*", "--json", "-c", OUT]],
    "--out-dir": [["--out-dir", "got", "-c", OUT], ["--out-dir", "data", "-c", OUT]],
    "--out-exec": [["--out-exec", "--out-dir", "got", "-c", OUT]],
    "--force": [["--out", "data", "-c", "open('data', 'w').write('new')"],
                ["--force", "--out", "data", "-c", "open('data', 'w').write('new')"]],
    "--changes": [["--changes", "-c", OUT], ["--changes", "--json", "-c", OUT]],
    "--ro": [["--ro", "project", "-c", "import os; print(sorted(os.listdir('/mnt/project')))"],
             ["--ro", "missing", "-c", PRINT]],
    "--rw": [["--rw", "project", "-c", "open('/mnt/project/new', 'w').write('x')"]],
    "--net": [["--net", "not a host", "-c", PRINT]],
    "--env": [["--env", "A=b", "--env", "GIVEN", "-c",
               "import os; print(os.environ['A'], os.environ['GIVEN'])"],
              ["--env", "NOT_SET_AT_ALL", "-c", PRINT]],
    "--yes": [["--yes", "--policy", "open", "-c", PRINT]],
    "--no-cache": [["--no-cache", "--json", "-c", PRINT]],
    "--config": [["--config", "config", "--policy", "mine", "--json", "-c", PRINT],
                 ["--config", "missing", "-c", PRINT]],
    "--audit": [["--audit", "audit", "-c", PRINT], ["--audit", "missing/audit", "-c", PRINT]],
    "-it": [["-it", "-c", PRINT], ["-it", "--json", "-c", PRINT]],
    "--tty": [["--tty", "-c", PRINT]],
    "--service": [["--service", "http://127.0.0.1:1", "-c", PRINT],
                  ["--service", "unix:no.sock", "--json", "-c", PRINT]],
    "--start": [["--start", "cold", "-c", PRINT], ["--start", "tepid", "-c", PRINT]],
    "--tenant": [["--tenant", "ada", "-c", PRINT]],
    "--value": [["--value", "-c", "40 + 2"], ["--value", "--json", "-c", "{'a': [1]}"]],
    "--time": [["--time", "-c", PRINT]],
    "--json": [["--json", "-c", PRINT], ["--json", "missing.py"], ["--json", "--timeout", "x"]],
    "--json-schema": [["--json-schema"]],
    "--help": [["--help"]],
}
OTHERS = [["script.sh", "--", "word"], ["blank.py"], ["--", "/bin/ls", "/"], ["--", "no-such"],
          ["--no-such", "x"], ["-", "--", "x"], ["code.py", "more"]]


def test_every_option_has_a_case():
    text = subprocess.run([BRIG, "run", "--help"], capture_output=True, check=True, text=True)
    assert set(re.findall(r"(?m)^  (-[-a-z]+)", text.stdout)) == set(CASES)


@pytest.mark.parametrize("words", [words for cases in CASES.values() for words in cases] + OTHERS,
                         ids=lambda words: " ".join(words)[:60])
def test_an_option(service, places, words):
    compare(service, places, *words, extra={"GIVEN": "a value"})


def test_the_start_is_all_that_differs(service):
    results = [json.loads(service.run("--json", "-c", PRINT, env=env).stdout)
               for env in (service.cold_env, service.env, service.env)]
    assert [result["start"] for result in results] == ["cold", results[1]["start"], "warm"]
    assert len({tuple(sorted(result)) for result in results}) == 1


# --- streams ------------------------------------------------------------------------------------

@pytest.mark.parametrize("stdin", [b"", b"one\ntwo\n", b"x" * 300000])
def test_stdin(service, places, stdin):
    compare(service, places, "-c", "import sys; print(len(sys.stdin.read()))",
            more={"stdin": stdin})


def test_code_from_stdin(service, places):
    compare(service, places, "-", "--", "a", more={"stdin": b"import sys; print(sys.argv[1:])"})


def test_large_output_on_both(service, places):
    code = "import sys; print('x' * 700000); print('y' * 700000, file=sys.stderr)"
    compare(service, places, "-c", code)


def test_a_slow_reader_does_not_keep_others_waiting(service):
    slow = service.open("-c", "print('x' * 900000)")
    with service.taken():
        assert service.run("-c", PRINT).stdout == b"42\n"
    assert len(slow.communicate(timeout=60)[0]) == 900001
    assert slow.returncode == 0


@pytest.mark.parametrize("way", ["env", "cold_env"])
def test_a_reader_that_leaves(service, way):
    run = service.open("-c", "while True: print('y')", env=getattr(service, way))
    run.stdout.readline()
    run.stdout.close()
    assert run.wait(timeout=60) == 128 + signal.SIGPIPE
    run.stderr.close()


def test_streams_end_with_the_run(service):
    """Nothing in the service keeps a stream of the client open: else this would hang."""
    for _ in range(3):
        line = [BRIG, "run", "-c", PRINT]
        first = subprocess.Popen(line, env=service.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE)
        assert subprocess.run(["cat"], stdin=first.stdout, capture_output=True, timeout=60,
                              check=True).stdout == b"42\n"
        first.stdout.close()
        assert first.wait(timeout=60) == 0


def test_descriptors_of_the_client_are_named_cold(service, tmp_path):
    """In the service /dev/fd/N would be another file."""
    (tmp_path / "code.py").write_text(PRINT)
    with open(tmp_path / "code.py", "rb") as file:
        done = service.run("--lang", "python", f"/dev/fd/{file.fileno()}",
                           pass_fds=[file.fileno()])
    assert (done.stdout, done.returncode) == (b"42\n", 0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream(service, closed):
    line = f"'{BRIG}' run -c 'print(6 * 7)' {closed}"
    ends = []
    for env in (service.cold_env, service.env):
        done = subprocess.run(["bash", "-c", line], env=env, capture_output=True, timeout=60,
                              check=False)
        ends.append((done.stdout, done.stderr, done.returncode))
    assert ends[0] == ends[1]


# --- what a worker takes over -------------------------------------------------------------------

@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
def test_the_umask(service, places, mask):
    before = os.umask(mask)
    try:
        compare(service, places, "--out-dir", "got", "--out-exec", "-c", OUT)
    finally:
        os.umask(before)
    assert (places[1] / "got" / "out" / "a").stat().st_mode & 0o777 == 0o777 & ~mask


def test_nothing_stays_from_run_to_run(service, places):
    """Environment, directory and umask are those of each client."""
    compare(service, places, "--env", "GIVEN", "-c", PRINT, extra={"GIVEN": "secret"})
    compare(service, places, "--env", "GIVEN", "-c", PRINT)
    done = service.run("--in", "data", "-c", PRINT, cwd="/")
    assert done.returncode != 0


def test_variables_of_the_library_make_a_context_of_their_own(service, places):
    done = [json.loads(compare(service, places, "--json", "-c", PRINT, extra=extra).stdout)
            for extra in ({"BRIG_NO_CGROUP": "1"}, {})]
    assert not [layer for layer in done[0]["layers"] if layer.startswith("cgroup-")]


def test_all_variables_that_the_library_reads_are_known():
    """A context stays as long as they are the same: see run_context.c."""
    tree = os.environ.get("BRIG_TREE", ".")
    with open(f"{tree}/src/cli/run/run_context.c", encoding="utf-8") as file:
        known = set(re.findall(r'"([A-Z_]+)"', file.read()))
    # Of other programs and of commands; and those by which a run gets a context of its own.
    others = {"NO_COLOR", "TERM", "BRIG_TOKEN", "BRIG_URL", "BRIG_SOCKET", "BRIG_CA", "BRIG_START",
              "BRIG_AUDIT", "JOURNAL_STREAM", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
              "LISTEN_PID", "LISTEN_FDS"}
    layers = ("base kernel net broker_client provider run native local holder oci launcher vm wasm "
              "daemon policy runtime lib").split()
    found = set()
    for layer in layers:
        text = subprocess.run(["grep", "-rhoE", r'getenv\("[A-Z_]+"', f"{tree}/src/{layer}"],
                              capture_output=True, text=True, check=False).stdout
        found |= set(re.findall(r'"([A-Z_]+)"', text))
    assert found - others <= known


def test_a_policy_that_changes(service, tmp_path):
    policies = tmp_path / "policies"
    policies.mkdir()
    (tmp_path / "runtimes").mkdir()
    for seconds in (7, 6, 5):
        (policies / "mine.json").write_text(
            '{"extends": "default", "limits": {"wall": "%ds"}}' % seconds)
        with service.taken(3):
            for _ in range(3):
                done = service.run("--config", str(tmp_path), "--policy", "mine", "--json", "-c",
                                   PRINT)
                assert json.loads(done.stdout)["limits"]["wall_ms"] == seconds * 1000
    (policies / "mine.json").write_text("{")
    assert service.run("--config", str(tmp_path), "--policy", "mine", "-c", PRINT).returncode == 126


def test_many_at_one_time(service):
    runs = [service.open("-c", f"import time; time.sleep(0.3); print({i})") for i in range(12)]
    for i, run in enumerate(runs):
        out, err = run.communicate(timeout=120)
        assert (out, err, run.returncode) == (f"{i}\n".encode(), b"", 0)
    assert len(service.workers()) <= 4


# --- signals ------------------------------------------------------------------------------------

def start_and_await(service, way, code="print('begun', flush=True); import time; time.sleep(60)",
                    **options):
    run = service.open("-c", code, env=getattr(service, way), **options)
    assert run.stdout.readline() == b"begun\n"
    return run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal(service, number):
    ends = []
    for way in ("cold_env", "env"):
        run = start_and_await(service, way)
        run.send_signal(number)
        out, err = run.communicate(timeout=60)
        ends.append((run.returncode, out, err))
    assert ends[0] == ends[1]
    assert ends[1][0] == 128 + number


def test_a_signal_before_the_program(service):
    """While the code is still read from stdin the signal just ends brig."""
    ends = []
    for way in ("cold_env", "env"):
        run = service.open("-", env=getattr(service, way), stdin=subprocess.PIPE)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        ends.append(run.wait(timeout=60))
        for stream in (run.stdin, run.stdout, run.stderr):
            stream.close()
    assert ends == [-signal.SIGINT, -signal.SIGINT]


@pytest.mark.parametrize("way", ["cold_env", "env"])
def test_an_ignored_signal_stays_ignored(service, way):
    run = start_and_await(service, way, "print('begun', flush=True); import time; time.sleep(1); "
                          "print('ended')", prefix=["nohup"])
    run.send_signal(signal.SIGHUP)
    assert run.communicate(timeout=60)[0] == b"ended\n"
    assert run.returncode == 0


def beats(path):
    return path.stat().st_size if path.exists() else 0


BEAT = """
import time
print('begun', flush=True)
while True:
    with open('/mnt/beat/count', 'a') as file:
        file.write('.')
    time.sleep(0.02)
"""


@pytest.fixture
def beating(service, tmp_path):
    """A run that writes to a file all the time."""
    (tmp_path / "beat").mkdir()
    (tmp_path / "beat").chmod(0o777)
    run = service.open("--rw", str(tmp_path / "beat"), "-c", BEAT)
    assert run.stdout.readline() == b"begun\n"
    yield run, tmp_path / "beat" / "count"
    warm_service.kill(run.pid)
    run.wait(timeout=60)
    run.stdout.close()
    run.stderr.close()


def stands_still(path):
    before = beats(path)
    time.sleep(0.5)
    return beats(path) == before


def test_a_killed_client_ends_its_run(service, beating):
    run, path = beating
    warm_service.wait_for(lambda: beats(path) > 0)
    run.kill()
    warm_service.wait_for(lambda: stands_still(path))
    assert service.run("-c", PRINT).stdout == b"42\n"


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


def test_a_stopped_client(service):
    """The worker stops with its client, and goes on with it."""
    run = start_and_await(service, "env", process_group=0)
    run.send_signal(signal.SIGTSTP)
    warm_service.wait_for(lambda: state_of(run.pid) == "T")
    warm_service.wait_for(lambda: "T" in [state_of(pid) for pid in service.workers()])
    run.send_signal(signal.SIGCONT)
    warm_service.wait_for(lambda: "T" not in [state_of(pid) for pid in service.workers()])
    run.send_signal(signal.SIGTERM)
    run.communicate(timeout=60)
    assert run.returncode == 128 + signal.SIGTERM


# --- the service's own life ---------------------------------------------------------------------

def test_start_stop_status():
    own = Service()
    try:
        again = own.warm("start")
        assert (again.returncode, f"pid {own.pid}" in again.stderr) == (0, True)
        assert "a run from here is warm" in own.status()
        assert own.run("-c", PRINT).stdout == b"42\n"
        assert own.warm("stop").returncode == 0
        assert own.warm("status").returncode == 125
        assert own.warm("stop").returncode == 125
        assert own.run("-c", PRINT).stdout == b"42\n"
        own.start()
    finally:
        own.stop()


@pytest.mark.parametrize("words", [["start", "--workers", "0"], ["start", "--workers", "x"],
                                   ["serve", "--idle", "0"], ["sing"], []])
def test_wrong_words(words):
    own = Service(start=False)
    done = own.warm(*words)
    assert (done.returncode, done.stdout) == (2, "")
    own.stop()


def test_it_ends_when_nobody_comes():
    own = Service("--idle", "500ms")
    assert own.run("-c", PRINT).stdout == b"42\n"
    warm_service.wait_for(lambda: warm_service.is_zombie(own.pid))
    assert not os.path.exists(own.socket)
    own.stop()


def test_it_ends_after_its_runs():
    own = Service()
    run = start_and_await(own, "env", "print('begun', flush=True); import time; time.sleep(1); "
                          "print('ended')")
    stopping = subprocess.Popen([BRIG, "warm", "stop"], env=own.env)
    assert run.communicate(timeout=60) == (b"ended\n", b"")
    assert stopping.wait(timeout=60) == 0
    own.stop()


def test_another_one_while_it_ends():
    """A service that waits for its last runs keeps nobody waiting: its place is free."""
    own = Service()
    first = own.pid
    run = own.open("-c", "print('begun', flush=True); input()", stdin=subprocess.PIPE)
    assert run.stdout.readline() == b"begun\n"
    stopping = subprocess.Popen([BRIG, "warm", "stop"], env=own.env)
    warm_service.wait_for(lambda: not os.path.exists(own.socket))
    assert own.run("-c", PRINT).stdout == b"42\n"  # waits a minute for one that does not answer
    own.start()
    assert own.pid != first
    with own.taken():
        assert own.run("-c", PRINT).stdout == b"42\n"
    assert stopping.poll() is None
    assert run.communicate(b"\n", timeout=60) == (b"", b"")
    assert stopping.wait(timeout=60) == 0
    assert os.path.exists(own.socket)  # that of the second one
    own.stop()


def test_a_socket_that_is_left_from_a_killed_service():
    own = Service()
    warm_service.kill(own.pid)
    warm_service.wait_for(lambda: warm_service.is_zombie(own.pid))
    assert os.path.exists(own.socket)
    assert own.run("-c", PRINT).stdout == b"42\n"
    own.start()
    with own.taken():
        assert own.run("-c", PRINT).stdout == b"42\n"
    own.stop()


def test_socket_activation(tmp_path):
    """As by systemd: the socket is there before the service, and stays behind it."""
    own = Service(start=False)
    os.mkdir(os.path.dirname(own.socket), 0o700)
    script = ("import os, socket, sys\n"
              "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
              "s.bind(sys.argv[1]); s.listen(); os.dup2(s.fileno(), 9); os.dup2(9, 3)\n"
              "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))\n"
              "os.execv(sys.argv[2], [sys.argv[2], 'warm', 'serve', '--idle', '2s'])\n")
    serving = subprocess.Popen(["python3", "-c", script, own.socket, BRIG], env=own.env)
    warm_service.wait_for(lambda: own.warm("status").returncode == 0)
    own.pid = serving.pid
    with own.taken():
        assert own.run("-c", PRINT).stdout == b"42\n"
    assert serving.wait(timeout=60) == 0
    assert os.path.exists(own.socket)
    os.unlink(own.socket)
    own.stop()
