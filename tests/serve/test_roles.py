# SPDX-License-Identifier: Apache-2.0
"""The processes of the service: their rights, and their ends."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from conftest import BRIG, ROLES, UnixConnection, is_alive, wait_for

CELL_IDS = range(0x70000000, 0x70000000 + 2_000_000)
IS_ROOT = os.geteuid() == 0


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def fds_of(pid):
    folder = f"/proc/{pid}/fd"
    return {int(fd): os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder)}


def limits_of(pid, name):
    for line in Path(f"/proc/{pid}/limits").read_text().splitlines():
        if line.startswith(name):
            return line.removeprefix(name).split()[:2]
    raise AssertionError(name)


def healthy(server):
    return server.request("GET", "/v1/health").status == 200


# --- the rights of each role ---------------------------------------------------------------------


@pytest.mark.parametrize("role", ["front", "ledger"])
def test_sealed_roles(server, role):
    status = status_of(server.roles()[role])
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    for sort in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
        assert int(status[sort], 16) == 0, sort
    if IS_ROOT:
        assert int(status["CapBnd"], 16) == 0
        uids = set(status["Uid"].split())
        assert len(uids) == 1 and uids == set(status["Gid"].split())
        uid = int(uids.pop())
        assert uid >= 65521 and uid not in CELL_IDS
        assert status["Groups"] == ""
        assert str(uid) not in [
            line.split(":")[2] for line in Path("/etc/passwd").read_text().splitlines()
        ]
    assert limits_of(server.roles()[role], "Max core file size") == ["1", "1"]
    assert limits_of(server.roles()[role], "Max processes") == ["0", "0"]


def test_roles_have_ids_of_their_own(server):
    if not IS_ROOT:
        uids = {status_of(pid)["Uid"] for pid in server.roles().values()}
        assert len(uids) == 1
        return
    roles = server.roles()
    front, ledger = (status_of(roles[role])["Uid"] for role in ("front", "ledger"))
    assert front != ledger


def test_warden_keeps_only_what_it_says(server):
    """Root of its own user namespace (role/seal.c explains why), without rights on the host."""
    warden = server.roles()["warden"]
    status = status_of(warden)
    assert status["NoNewPrivs"] == "1"
    uids = set(status["Uid"].split())
    if IS_ROOT:
        assert len(uids) == 1 and int(uids.pop()) >= 65521
        assert status["Groups"].split() == []
        assert os.readlink(f"/proc/{warden}/ns/user") != os.readlink("/proc/self/ns/user")
        for ids in ("uid_map", "gid_map"):
            outside = [
                line.split()[1:] for line in Path(f"/proc/{warden}/{ids}").read_text().splitlines()
            ]
            # Its own processes, and those of cells: no others, above all not root's.
            assert [int(count) for _, count in outside] == [1, 2000000]
            assert min(int(first) for first, _ in outside) >= 65521
    else:
        assert uids == {str(os.geteuid())}
    assert limits_of(server.roles()["warden"], "Max core file size") == ["1", "1"]


@pytest.mark.root
def test_broker_keeps_a_few_capabilities(server):
    """Of root's capabilities: to make nodes and mounts, and to remove what it gave to
    the warden."""
    broker = server.roles()["broker"]
    status = status_of(broker)
    names = {1: "dac_override", 21: "sys_admin", 27: "mknod"}
    kept = sum(1 << number for number in names)
    assert int(status["CapPrm"], 16) == int(status["CapEff"], 16)
    assert int(status["CapPrm"], 16) & ~kept == 0
    for sort in ("CapInh", "CapAmb", "CapBnd"):
        assert int(status[sort], 16) == 0, sort
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
    assert limits_of(broker, "Max core file size") == ["1", "1"]
    # Nothing of the state but the lock; no listening socket, no tokens, no database.
    names = set(fds_of(broker).values())
    files = {name for name in names
             if not name.startswith(("socket:", "/memfd:", "/dev/null", "/sys/fs/cgroup/",
                                     str(server.dir / "log")))}
    assert files == {str(server.state / "lock")}, names
    assert sum(name.startswith("socket:") for name in names) == 2, names


@pytest.mark.root
def test_broker_is_a_program_of_its_own(server):
    """The C library and nothing else: it contains no parsers of text."""
    image = Path(f"/proc/{server.roles()['broker']}/exe").read_bytes()
    assert len(image) < Path(BRIG).stat().st_size / 4
    for word in (b"CREATE TABLE", b"HTTP/1.1", b"/v1/execute", b"invalid token"):
        assert word not in image, word
        assert word in Path(BRIG).read_bytes(), word


@pytest.mark.root
def test_warden_reads_no_file_of_root(server):
    """The rights of the warden: root's files are closed to it."""
    warden = server.roles()["warden"]
    secret = server.dir / "secret"
    secret.write_text("root's alone")
    secret.chmod(0o600)
    deeds = f"id -u; cat {secret}; echo x >/etc/brig-was-here; mknod {server.dir}/n c 1 3"
    probe = subprocess.run(
        ["nsenter", f"--target={warden}", "--user", "--mount", "--setuid=0", "--setgid=0",
         "sh", "-c", deeds], capture_output=True, text=True, check=False)
    assert probe.stdout.splitlines() == ["0"], (probe.stdout, probe.stderr)
    assert "root's alone" not in probe.stdout and not Path("/etc/brig-was-here").exists()
    assert not (server.dir / "n").exists()


@pytest.mark.root
def test_cells_have_every_wall_without_root(server):
    """The same layers as with root alone, each limit by the same means."""
    order = {"language": "python", "code": "print(open('/proc/self/uid_map').read())"}
    served = json.loads(server.request("POST", "/v1/execute", order).body)
    alone = json.loads(subprocess.run(
        [BRIG, "run", "--json", "-c", order["code"]], capture_output=True, check=True).stdout)
    assert served["status"] == alone["status"] == "ok", (served, alone)
    assert served["layers"] == alone["layers"] and served["means"] == alone["means"]


@pytest.mark.root
def test_warden_refuses_rules_that_are_not_roots(make_server):
    """In its namespace root's files look like those of others: the broker can tell them apart."""
    server = make_server().start()
    policies = server.config / "policies"
    policies.mkdir(mode=0o755, exist_ok=True)
    for name, owner in (("mine", 0), ("theirs", 65534)):
        path = policies / f"{name}.json"
        path.write_text('{"extends": "default"}')
        path.chmod(0o644)
        os.chown(path, owner, owner)
    order = {"language": "bash", "code": "echo 1"}
    assert server.request("POST", "/v1/execute", {**order, "policy": "mine"}).status == 200
    refused = server.request("POST", "/v1/execute", {**order, "policy": "theirs"})
    assert refused.status != 200 and b"could change what programs may do" in refused.body
    (policies / "mine.json").chmod(0o600)
    unreadable = server.request("POST", "/v1/execute", {**order, "policy": "mine"})
    assert unreadable.status != 200 and b"chmod o+rX" in unreadable.body, unreadable.body


@pytest.mark.root
def test_front_and_ledger_have_no_network(server):
    roles = server.roles()
    own = os.readlink("/proc/self/ns/net")
    for role in ("front", "ledger"):
        assert os.readlink(f"/proc/{roles[role]}/ns/net") != own
        assert os.readlink(f"/proc/{roles[role]}/ns/ipc") != os.readlink("/proc/self/ns/ipc")
    assert os.readlink(f"/proc/{roles['warden']}/ns/net") == own


@pytest.mark.root
def test_descriptors_by_name(server):
    """Sockets, memory files, the loop, the log, the lock: only the ledger has regular files."""
    roles = server.roles()
    log = str(server.dir / "log")
    harmless = ("socket:", "anon_inode:", "/memfd:", "/dev/null", log)
    for role in ("front", "warden"):
        names = fds_of(roles[role])
        files = {
            name for fd, name in names.items()
            if not name.startswith(harmless) and not name.startswith("pipe:")
        }
        if role == "front":
            assert files == {str(server.state / "lock")}, names
        else:
            assert not [name for name in files if "ledger" in name], names
    for name in fds_of(roles["ledger"]).values():
        inside = name.startswith((str(server.state / "ledger"), str(server.state / "lock")))
        assert inside or name.startswith(harmless), name


def test_environment_is_clean(make_server):
    env = dict(os.environ, SECRET="hunter2", LD_PRELOAD="", AWS_SECRET_ACCESS_KEY="x")
    server = make_server(env=env).start()
    for role, pid in server.roles().items():
        try:
            text = Path(f"/proc/{pid}/environ").read_bytes()
        except PermissionError:
            continue  # a role that this user cannot inspect
        assert b"hunter2" not in text and b"AWS" not in text, role


@pytest.mark.user
def test_sealed_roles_cannot_be_looked_into(server):
    for role in ("front", "ledger"):
        with pytest.raises(PermissionError):
            os.listdir(f"/proc/{server.roles()[role]}/fd")


def test_many_connections_are_possible(server):
    soft, _ = limits_of(server.roles()["front"], "Max open files")
    hard = int(limits_of("self", "Max open files")[1])
    assert int(soft) >= min(12000, hard)


def test_roles_are_no_commands():
    done = subprocess.run(
        ["brig-front", "--role"], executable=BRIG, capture_output=True, timeout=20, check=False
    )
    assert done.returncode == 2
    assert b"roles are started by brig serve only" in done.stderr
    done = subprocess.run([BRIG, "--role"], capture_output=True, timeout=20, check=False)
    assert done.returncode == 2
    assert b"unknown command" in done.stderr


# --- start and end -------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ROLES)
def test_killed_role_comes_back(server, role):
    before = server.roles()
    assert sorted(before) == sorted(ROLES)
    os.kill(before[role], signal.SIGKILL)
    server.wait_ready(times=2)
    after = server.roles()
    assert sorted(after) == sorted(ROLES)
    assert not set(before.values()) & set(after.values())
    assert healthy(server)
    assert f"event=role-ended which={role}" in server.log()


@pytest.mark.root
def test_warden_that_asks_at_the_end_is_answered(server):
    """Its last request comes when the broker has the order to end: no process has to be killed."""
    roles = server.roles()
    os.kill(roles["warden"], signal.SIGSTOP)
    try:
        # Before the order to end a run is in its queue, which has requests.
        connection = UnixConnection(server.socket)
        connection.request("POST", "/v1/execute", b'{"code": "print(1)"}',
                           {"Content-Type": "application/json"})
        wait_for(lambda: [e for e in server.request("GET", "/v1/executions").json()["executions"]
                          if e["status"] == "running"], 10, "the run")
        os.kill(roles["front"], signal.SIGKILL)
        wait_for(lambda: not is_alive(roles["ledger"]), 10, "end of the ledger")
        time.sleep(0.2)
    finally:
        os.kill(roles["warden"], signal.SIGCONT)
    server.wait_ready(times=2)
    connection.close()
    ends = [line for line in server.log().splitlines() if "event=role-ended" in line]
    (warden,) = [line for line in ends if f"which=warden pid={roles['warden']} " in line]
    assert "signal=0" in warden, ends
    assert healthy(server)


def test_requests_wait_while_roles_restart(server):
    """Clients that connect meanwhile are answered, late."""
    os.kill(server.roles()["warden"], signal.SIGKILL)
    time.sleep(0.05)
    assert healthy(server)


def test_terminating_a_role_by_signal_is_ignored(server):
    """A service manager that signals the whole group must not cut the drain short."""
    before = server.roles()
    for pid in before.values():
        os.kill(pid, signal.SIGTERM)
    time.sleep(0.3)
    assert server.roles() == before


def test_killed_supervisor_takes_all_with_it(server):
    roles = server.roles()
    server.process.kill()
    server.process.wait(10)
    wait_for(lambda: not any(is_alive(pid) for pid in roles.values()), 10, "roles gone")


def test_start_after_kill(server, make_server):
    """The socket file and the lock of a killed server are no obstacle."""
    server.process.kill()
    server.process.wait(10)
    assert Path(server.socket).exists()
    again = make_server(directory=server.dir).start()
    again.wait_ready(times=2)
    assert healthy(again)


def test_gives_up(make_server):
    server = make_server("--set", "restart.limit=2", "--set", "restart.delay_max=10ms").start()
    for times in (1, 2, 3):
        server.wait_ready(times=times)
        os.kill(server.roles()["ledger"], signal.SIGKILL)
    assert server.process.wait(20) == 125
    assert "event=gives-up" in server.log()
    assert not Path(server.socket).exists()


def test_roles_that_answer_stay(make_server):
    """All existing roles are queried, and one that never existed is not missed."""
    server = make_server("--set", "answer_timeout=400ms").start()
    roles = server.roles()
    time.sleep(2)
    assert server.roles() == roles, server.log()


def test_hung_role_is_replaced(make_server):
    server = make_server("--set", "answer_timeout=1s").start()
    os.kill(server.roles()["ledger"], signal.SIGSTOP)
    server.wait_ready(times=2)
    assert "event=role-hangs which=ledger" in server.log()


# --- one server at a time ------------------------------------------------------------------------


def run_serve(*options, timeout=30):
    return subprocess.run(
        [BRIG, "serve", *options], capture_output=True, timeout=timeout, check=False,
        stdin=subprocess.DEVNULL,
    )


def test_two_servers_on_one_state_directory(server, tmp_path):
    other = f"unix:{server.dir}/other.sock"
    done = run_serve("--listen", other, "--state", server.state, "--config", server.config)
    assert done.returncode != 0
    assert b"another server uses the state directory" in done.stderr
    assert not (server.dir / "other.sock").exists()
    assert healthy(server)


def test_two_servers_on_one_socket(server):
    done = run_serve(
        "--listen", f"unix:{server.socket}", "--state", server.dir / "state2",
        "--config", server.config,
    )
    assert done.returncode != 0
    assert b"another process listens on" in done.stderr
    assert healthy(server)


def test_stale_socket_is_replaced(make_server):
    server = make_server()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(server.socket)
    stale.close()
    server.start()
    assert healthy(server)


def test_other_files_are_not_replaced(make_server):
    server = make_server()
    Path(server.socket).write_text("precious")
    server.start(ready=False)
    assert server.process.wait(20) != 0
    assert "is in the way and is no socket" in server.log()
    assert Path(server.socket).read_text() == "precious"


def test_socket_has_its_mode_from_the_start(make_server):
    server = make_server("--socket-mode", "0640").start()
    assert Path(server.socket).stat().st_mode & 0o777 == 0o640
    assert server.stop() == 0
    assert [p.name for p in server.dir.iterdir() if p.is_socket()] == []


# --- configuration -------------------------------------------------------------------------------


def write_config(directory, text):
    path = directory / "serve.json"
    path.write_text(text)
    path.chmod(0o644)
    return path


@pytest.mark.parametrize(
    "text, place, words",
    [
        ('{\n  "listne": []\n}', "2:3", "unknown key"),
        ('{\n "http": {\n  "connexions": 5 } }', "3:3", "unknown key"),
        ('{\n "http": {\n  "connections": "many" } }', "3:3", "is not a whole number"),
        ('{"log_level": "loud"}', "1:2", "is not one of"),
        ('{"runs": 7}', "1:2", "must be an object"),
        ('{"listen": "unix:/x"}', "1:2", "must be a list"),
        ('{"listen": [5]}', "1:13", "must be a text"),
        ('{"insecure_bind": "yes"}', "1:2", "must be true or false"),
        ('{"tokens": "a", "tokens": "b"}', "1:", "duplicate"),
        ('{"uids": ["0"]}', "1:2", "unknown key"),
        ('{"http.connections": 5}', "1:2", "unknown key"),
        ("{", "1:", ""),
    ],
)
def test_wrong_configuration(tmp_path, text, place, words):
    tmp_path.chmod(0o755)
    path = write_config(tmp_path, text)
    done = run_serve("--check", "--config", tmp_path)
    assert done.returncode == 2
    message = done.stderr.decode()
    assert f"{path}:{place}" in message
    assert words in message


def test_configuration_of_others(tmp_path):
    tmp_path.chmod(0o755)
    write_config(tmp_path, "{}").chmod(0o666)
    done = run_serve("--check", "--config", tmp_path)
    assert done.returncode == 2
    assert b"others may write to it" in done.stderr and b"chmod go-w" in done.stderr


def test_options_go_before_the_file(tmp_path):
    tmp_path.chmod(0o755)
    write_config(
        tmp_path,
        """{ // comments are fine
        "listen": ["unix:/nowhere"], "state_dir": "/nowhere", "log_level": "error",
        "http": {"connections": 5, "idle_timeout": "1.5s"} }""",
    )
    done = run_serve(
        "--check", "--config", tmp_path, "--listen", "127.0.0.1:0", "--state", tmp_path / "s",
        "--set", "http.connections=7", "--set", "warm.enabled=false",
    )
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)
    assert config["listen"] == ["127.0.0.1:0"]
    assert config["state_dir"] == str(tmp_path / "s")
    assert config["log_level"] == "error"
    assert config["http"]["connections"] == 7
    assert config["http"]["idle_timeout"] == "1.5s"
    assert config["warm"]["enabled"] is False


def test_check_prints_what_holds(tmp_path):
    """No zeroes for values that are not set: each default comes from the part that has it."""
    tmp_path.chmod(0o755)
    write_config(tmp_path, "{}")
    done = run_serve("--check", "--config", tmp_path)
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)
    unset = {(group, key) for group in ("http", "runs", "sessions", "warm", "results")
             for key, value in config[group].items() if value in (0, "0s")}
    assert not unset
    assert config["sessions"]["idle"] == "10m"
    assert config["runs"]["max"] == 2 * os.cpu_count()
    # A configured value is used.
    done = run_serve("--check", "--config", tmp_path, "--set", "sessions.idle=5s")
    assert json.loads(done.stdout)["sessions"]["idle"] == "5s"
    # A person reads it: a line for each key, and nothing that is only for roles.
    assert done.stdout.count(b"\n") > 40
    assert not {"listeners", "broker", "uids", "hold_queue", "dev"} & set(config)


@pytest.mark.parametrize("words, said", [
    (["--tokens", "wrong.json"], "name and hash are needed"),
    (["--tokens", "none.json"], "there is no file"),
    (["--set", "users=nobody-of-this-name"], "there is no user"),
    (["--set", "tls.certificate=/nothing", "--set", "tls.key=/nothing"], "there is no file"),
    (["--listen", "0.0.0.0:8080"], "--insecure-bind"),
    (["--listen", "127.0.0.1:http"], "127.0.0.1:http")])
def test_check_looks_at_what_a_start_looks_at(tmp_path, words, said):
    tmp_path.chmod(0o755)
    write_config(tmp_path, "{}")
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"tokens": [{"name": "x"}]}')
    wrong.chmod(0o600)
    words = [tmp_path / word if word.endswith(".json") else word for word in words]
    done = run_serve("--check", "--config", tmp_path, *words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr.decode(), done.stderr


@pytest.mark.parametrize("word, said", [("nokey=1", "unknown key"), ("runs.max", "KEY=VALUE"),
                                        ("runs.max=x", "is not a whole number"),
                                        ("listeners=3", "unknown key")])
def test_wrong_words(tmp_path, word, said):
    tmp_path.chmod(0o755)
    done = run_serve("--check", "--config", tmp_path, "--set", word)
    assert done.returncode == 2
    assert said.encode() in done.stderr


@pytest.mark.parametrize("place", ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"])
def test_networks_need_a_word(tmp_path, place):
    tmp_path.chmod(0o755)
    done = run_serve("--listen", place, "--state", tmp_path / "s", "--config", tmp_path)
    assert done.returncode == 2
    assert b"in clear" in done.stderr and b"--insecure-bind" in done.stderr


@pytest.mark.parametrize("place", ["localhost", "example.org:80", "127.0.0.1:65536", "::1:80",
                                   "unix:" + "/x" * 60])
def test_wrong_places(tmp_path, place):
    tmp_path.chmod(0o755)
    done = run_serve("--listen", place, "--state", tmp_path / "s", "--config", tmp_path)
    assert done.returncode == 2
    assert b"listen" in done.stderr


def test_state_directory_of_others(tmp_path):
    tmp_path.chmod(0o755)
    state = tmp_path / "s"
    state.mkdir()
    state.chmod(0o777)
    done = run_serve("--state", state, "--config", tmp_path, "--listen", f"unix:{tmp_path}/x")
    assert done.returncode == 2
    assert b"others may write to it" in done.stderr


# --- stopping, reloading -------------------------------------------------------------------------


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_stop(server, sign):
    roles = server.roles()
    assert server.stop(sign) == 0
    assert not any(is_alive(pid) for pid in roles.values())
    assert not Path(server.socket).exists()
    assert "event=stopped" in server.log()


def test_stop_drains(server):
    """Requests in progress are answered, although no new ones are accepted."""
    answers = []
    body = {"language": "python", "code": "import time; time.sleep(2); print('done')"}

    def ask():
        answers.append(server.request("POST", "/v1/execute", body))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_for(lambda: [one["status"] for one in
                      server.request("GET", "/v1/executions").json()["executions"]] == ["running"])
    assert server.stop() == 0
    thread.join(20)
    assert [answer.status for answer in answers] == [200]
    assert answers[0].json()["stdout"] == "done\n"


def test_idle_connections_do_not_hold_it_up(server):
    connection = UnixConnection(server.socket)
    connection.request("GET", "/v1/health")
    connection.getresponse().read()
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 5
    connection.close()


def test_reload(server):
    before = server.roles()
    write_config(server.config, '{"http": {"connections": 77}}')
    os.kill(server.pid, signal.SIGHUP)
    server.wait_ready(times=2)
    assert not set(before.values()) & set(server.roles().values())
    assert healthy(server)


def test_wrong_reload_changes_nothing(server):
    before = server.roles()
    write_config(server.config, '{"nonsense": 1}')
    os.kill(server.pid, signal.SIGHUP)
    wait_for(lambda: "event=reload-refused" in server.log(), 10, "refusal")
    assert server.roles() == before
    assert healthy(server)


def test_trial_leaves_nothing(tmp_path):
    env = dict(os.environ, TMPDIR=str(tmp_path))
    log = tmp_path / "log"
    with open(log, "wb") as out:
        process = subprocess.Popen([BRIG, "serve", "--dev"], stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, env=env)
    try:
        wait_for(lambda: "event=ready" in log.read_text(), 20, "ready")
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0, log.read_text()
    assert [entry.name for entry in tmp_path.iterdir()] == ["log"]


# --- service managers ----------------------------------------------------------------------------


def test_notify_and_watchdog(make_server, tmp_path):
    path = f"/tmp/brig-notify-{os.getpid()}"
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(path)
    manager.settimeout(20)
    try:
        env = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="400000")
        server = make_server(env=env).start()
        words = manager.recv(4096)
        while words == b"WATCHDOG=1":  # it is alive while it starts, too, if that takes long
            words = manager.recv(4096)
        assert b"READY=1" in words.split(b"\n")
        assert manager.recv(4096) == b"WATCHDOG=1"
        assert server.stop() == 0
        words = b""
        while b"STOPPING=1" not in words:
            words = manager.recv(4096)
    finally:
        manager.close()
        os.unlink(path)


def test_socket_activation(make_server):
    server = make_server()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(server.socket)
    listening.listen()
    script = 'exec 3<&%d; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"' % listening.fileno()
    with open(server.dir / "log", "wb") as log:
        server.process = subprocess.Popen(
            ["bash", "-c", script, "-", BRIG, "serve", "--state", server.state,
             "--config", server.config, "--log-level", "info"],
            pass_fds=[listening.fileno()], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
        )
    server.wait_ready()
    assert f"place=unix:{server.socket}" in server.log()
    assert healthy(server)
    assert server.stop() == 0
    assert Path(server.socket).exists()  # it belongs to the manager
    listening.close()


def children_of(pid):
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_the_flusher_is_sealed_and_dies_with_the_ledger(make_server):
    """It has the ledger's directory, its ids and its filter, and none of its connections."""
    server = make_server().start()
    ledger = server.roles()["ledger"]
    (flusher,) = children_of(ledger)
    own, parent = status_of(flusher), status_of(ledger)
    assert own["Name"] == "brig-flusher"
    for key in ("Uid", "Gid", "Groups", "CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp"):
        assert own[key] == parent[key], key
    os.kill(ledger, signal.SIGKILL)
    wait_for(lambda: not is_alive(flusher), what="the flusher is gone")
    wait_for(lambda: healthy_again(server), what="the service is back")


def healthy_again(server):
    try:
        return healthy(server)
    except OSError:
        return False
