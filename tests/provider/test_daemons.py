# SPDX-License-Identifier: Apache-2.0
"""The providers docker and podman: what a container is, daemons on bad days, and killed processes."""

import hashlib
import io
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import tarfile
import tempfile
import time
import urllib.parse

import pytest

import daemons
from conftest import BRIG, DAEMON, DAEMONS, ROOT, Provider, write_policy
from false_daemon import WAYS, Between, FalseDaemon

VARIABLES = {"docker": "DOCKER_HOST", "podman": "CONTAINER_HOST"}  # as their own clients have them
LONG = 60  # seconds that only a hang reaches
root = pytest.mark.root


@pytest.fixture
def short():
    """A directory whose name is short enough for sockets, open to all."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="brig-socket-") as place:
        os.chmod(place, 0o755)
        yield pathlib.Path(place)


@pytest.fixture(params=DAEMONS)
def kind(request):
    return request.param


@pytest.fixture
def daemon(request, kind):
    """The daemon that other tests have too."""
    return request.getfixturevalue(kind)


@pytest.fixture
def own_daemon(config, kind):
    """One for a single test, which may kill it."""
    made = []

    def make(size="1g"):
        made.append(daemons.Daemon(kind, size).start())
        write_policy(config, f"own-{kind}", {**DAEMON, "provider": kind,
                                             kind: {"socket": made[-1].socket}})
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def at(config, schema, kind):
    """A provider of a daemon at this socket."""
    def make(path, **settings):
        write_policy(config, "at", {**DAEMON, "provider": kind,
                                    kind: {"socket": str(path), **settings}})
        made = Provider("at", config, schema)
        made.kind = kind
        return made

    return make


def brigs(daemon, **filters):
    """The containers that are not of these tests."""
    return {name: labels for name, labels in daemon.containers(**filters).items() if "mine" not in labels}


def wait_for(find, seconds=LONG):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = find()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def start(provider, code="echo up; sleep 1000"):
    return subprocess.Popen(provider.words("--timeout", "5m", "--lang", "bash", "-c", code),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def running(provider, daemon, **options):
    """A run whose program is there, and its container."""
    before = set(brigs(daemon))
    brig = start(provider, **options)
    assert brig.stdout.readline() == b"up\n", brig.communicate(timeout=LONG)
    new = set(brigs(daemon)) - before
    assert len(new) == 1, new
    return brig, new.pop()


def finish(brig):
    if brig.poll() is None:
        brig.kill()
    brig.communicate(timeout=LONG)


def refused_in_time(provider, *args, **options):
    """An error, and not the end of brig itself; in bounded time."""
    began = time.monotonic()
    done = provider.plain("--json", "--timeout", "3s", *args, "--lang", "bash", "-c", "echo ran", timeout=LONG,
                          **options)
    assert done.returncode > 1, done
    assert time.monotonic() - began < LONG
    answer = json.loads(done.stdout)
    assert "error" in answer or answer["status"] in ("error", "timeout"), answer
    if "error" not in answer:
        return answer["verdict"]
    assert answer["error"]["message"] and answer["error"]["remedy"], answer
    assert "\x1b" not in json.loads(json.dumps(answer["error"]["message"])), answer
    return answer["error"]


def next_works(provider):
    result = provider.bash("echo next")
    assert (result["status"], result["stdout"]) == ("ok", "next\n"), json.dumps(result["verdict"])


# --- a container ----------------------------------------------------------------------------------


@root
def test_walls_as_the_daemon_sees_them(config, schema, daemon, kind):
    provider = Provider(kind, config, schema)
    brig, name = running(provider, daemon)
    try:
        seen = daemon.inspect(name)
    finally:
        finish(brig)
    host = seen["HostConfig"]
    assert host["NetworkMode"] == "none" and host["ReadonlyRootfs"] and not host["Privileged"]
    assert "no-new-privileges" in " ".join(host["SecurityOpt"])
    assert "unconfined" not in " ".join(host["SecurityOpt"])
    assert host["Memory"] == host["MemorySwap"] > 0 and host["PidsLimit"] > 0
    assert not host.get("CapAdd") and not host.get("Devices") and not host.get("PortBindings")
    assert host["PidMode"] in ("", "private")
    # Podman names its own namespace so, which others of the daemon's may join; no program can.
    assert host["IpcMode"] in ("private", "none", "shareable" if kind == "podman" else "private")
    assert host.get("UTSMode", "") in ("", "private") and host["AutoRemove"]
    assert host["LogConfig"]["Type"] in ("none", "k8s-file") and host["RestartPolicy"]["Name"] in ("", "no")
    assert seen["Config"]["User"] not in ("", "0", "root")
    assert seen["Config"]["Healthcheck"]["Test"] == ["NONE"], seen["Config"]
    for bind in host["Binds"] or []:
        assert "ro" in bind.split(":")[2].split(","), bind
        assert not bind.startswith(("/:", "/etc/shadow", "/root", "/home", "/var/run", "/run", "/proc", "/sys"))
    for mount in seen["Mounts"]:
        assert "sock" not in mount["Source"] and not mount["RW"] or mount.get("Type") == "tmpfs", mount


INSIDE = """
import json, os, socket, stat, sys
found = {"sockets": [], "connected": [], "devices": sorted(os.listdir("/dev")), "env": dict(os.environ)}
for place, names, files in os.walk("/"):
    names[:] = [n for n in names if place != "/" or n not in ("proc", "sys")]
    for name in files:
        path = os.path.join(place, name)
        try:
            if stat.S_ISSOCK(os.stat(path).st_mode): found["sockets"].append(path)
        except OSError: pass
for path in sys.argv[1:]:
    one = socket.socket(socket.AF_UNIX)
    try: one.connect(path); found["connected"].append(path)
    except OSError: pass
def can(path, how):
    try:
        with open(path, how) as f: return how != "rb" or bool(f.read(1))
    except OSError: return False
found["written"] = [p for p in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory",
    "/sys/kernel/uevent_helper", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/cgroup.procs") if can(p, "r+b")]
found["read"] = [p for p in ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats",
    "/sys/firmware/dmi/tables/DMI", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda") if can(p, "rb")]
found["mounts"] = open("/proc/self/mounts").read() if os.path.exists("/proc/self/mounts") else ""
print(json.dumps(found))
"""


@root
def test_what_the_program_can_reach(config, schema, daemon, kind):
    """Each of these is there on the host, for root."""
    assert stat_is_socket(daemon.socket)
    places = [daemon.socket, "/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock",
              "/run/containerd/containerd.sock"]
    outside = subprocess.run(["/usr/bin/python3", "-c", INSIDE.replace('os.walk("/")', 'os.walk("/dev/null")'),
                              daemon.socket], capture_output=True, check=True, env={"A": "b"})
    assert json.loads(outside.stdout)["connected"] == [daemon.socket]
    result = Provider(kind, config, schema).result("--lang", "python", "-c", INSIDE, "--", *places)
    assert result["status"] == "ok", result
    found = json.loads(result["stdout"])
    assert (found["sockets"], found["connected"], found["written"], found["read"]) == ([], [], [], [])
    assert set(found["devices"]) <= {"console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random",
                                     "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"}
    assert not {"DOCKER_HOST", "container", "HOSTNAME"} & set(found["env"])
    assert "sock" not in found["mounts"]


WRITABLE = """
import os
found = []
for place, names, files in os.walk("/"):
    names[:] = [n for n in names if place != "/" or n not in ("proc", "sys", "usr")]
    if os.access(place, os.W_OK): found.append(place)
print(sorted(found))
"""


@root
def test_places_where_it_can_write(config, schema, kind, daemon):
    """Those with limits, and no others: Podman adds some of its own to a read-only root."""
    result = Provider(kind, config, schema).python(WRITABLE)
    assert daemon.answers()
    assert set(json.loads(result["stdout"].replace("'", '"'))) <= {
        "/dev/mqueue", "/dev/shm", "/sandbox", "/sandbox/out", "/tmp"}, result


@root
def test_no_names_of_the_host(config, schema, kind, daemon):
    """Podman copies the host's /etc/hosts, with the names and addresses of its network."""
    result = Provider(kind, config, schema).bash("while read -r line; do echo \"$line\"; done < /etc/hosts")
    assert daemon.answers()
    for line in result["stdout"].splitlines():
        address, *names = line.split() or ["#"]
        assert address[0] == "#" or address in ("127.0.0.1", "::1", "fe00::0", "ff00::0", "ff02::1", "ff02::2"), line
        assert set(names) <= {"localhost", "brig", "ip6-localhost", "ip6-loopback", "ip6-localnet", "ip6-mcastprefix",
                              "ip6-allnodes", "ip6-allrouters"}, line


def stat_is_socket(path):
    return pathlib.Path(path).is_socket()


OTHER = """
import json, os
seen = [p for p in os.listdir("/proc") if p.isdigit()]
words = []
for pid in seen:
    try: words.append(open(f"/proc/{pid}/cmdline").read())
    except OSError: pass
print(json.dumps([len(seen), [w for w in words if "4321" in w], os.listdir("/tmp")]))
"""


@root
def test_another_container_is_not_visible(config, schema, daemon, kind):
    """Neither one of brig's nor one of others, nor the processes of the host."""
    provider = Provider(kind, config, schema)
    brig, _ = running(provider, daemon, code="touch /tmp/mark; echo up; sleep 4321")
    try:
        count, others, names = json.loads(provider.python(OTHER)["stdout"])
    finally:
        finish(brig)
    assert others == [] and names == [] and count <= 3, (count, others, names)


@root
def test_nothing_is_left_after_a_run(config, schema, daemon, kind):
    provider = Provider(kind, config, schema)
    for code, options in (("print(1)", ()), ("import os; os.abort()", ()),
                          ("while True: pass", ("--timeout", "1s")),
                          ("x = []\nwhile True: x.append(bytearray(8 << 20))", ("--memory", "64M"))):
        provider.python(code, *options)
    wait_for(lambda: not brigs(daemon))


LACKS = {
    "mounts": (["--ro", "d=/usr"], {}),
    "network": (["--net", "example.org"], {}),
    "venv": (["--venv", "/opt"], {}),
    "call-watch": ([], {"monitor": {"calls": ["execve"]}}),
}


@root
@pytest.mark.parametrize("ability", list(LACKS))
def test_what_it_lacks_is_refused(of, kind, ability):
    words, more = LACKS[ability]
    error = of("lacks", {**DAEMON, "provider": kind, **more}).refused(*words, "--lang", "python", "-c", "1")
    assert kind in error["message"] and error["remedy"], error


# --- settings -------------------------------------------------------------------------------------


@root
@pytest.mark.parametrize("settings", [
    {"socket": 7}, {"socket": ""}, {"socket": "relative/sock"}, {"socket": "/tmp/" + "x" * 200},
    {"socket": "tcp://127.0.0.1:2375"}, {"image": 7}, {"image": ""},
    {"image": "a b"}, {"image": "../x"}, {"image": "x" * 5000}, {"image": "-v"}, {"image": "a?b=c"},
    {"image": "a\r\nHost: x"}, {"unknown": 1},
])
def test_settings_that_are_wrong(at, kind, settings):
    provider = at("/tmp/none", **settings) if "socket" not in settings else at(settings["socket"])
    error = provider.refused("-c", "1")
    assert error["message"] and kind in error["message"] + str(error.get("path")), error
    assert "unknown value" not in error["message"], error  # the provider itself is known


@root
def test_runtime_of_docker(of):
    for name in ("../runc", "", "a b", "x" * 5000, 7, "-"):
        assert "runtime" in of("runtime", {**DAEMON, "provider": "docker",
                                           "docker": {"runtime": name}}).refused("-c", "1")["message"]
    error = of("runtime", {**DAEMON, "provider": "docker",
                           "docker": {"runtime": "nosuch"}}).refused("-c", "1")
    assert "nosuch" in error["message"] and error["remedy"], error
    result = of("runtime", {**DAEMON, "provider": "docker",
                            "docker": {"runtime": "runc"}}).python("print(1)")
    assert result["stdout"] == "1\n"


@root
@pytest.mark.parametrize("host", ["tcp://127.0.0.1:2375", "ssh://host", "http://127.0.0.1", "fd://", "unix://",
                                  "unix://relative", "/tmp/sock", "npipe:////./pipe/x"])
def test_variable_that_names_no_socket(config, schema, kind, host):
    """A daemon that is reached by the network is refused, and nothing is sent to it."""
    write_policy(config, "by-env", {**DAEMON, "provider": kind})
    provider = Provider("by-env", config, schema)
    provider.kind = kind
    with socket.create_server(("127.0.0.1", 0)) as server:
        host = host.replace("2375", str(server.getsockname()[1]))
        error = refused_in_time(provider, env={**os.environ, VARIABLES[kind]: host})
        assert VARIABLES[kind] in error["message"] + error["remedy"], error
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@root
def test_variable(config, schema, daemon, kind):
    """Without a socket in the policy; one in the policy is stronger."""
    write_policy(config, "by-env", {**DAEMON, "provider": kind})
    provider = Provider("by-env", config, schema)
    provider.kind = kind
    env = {**os.environ, VARIABLES[kind]: f"unix://{daemon.socket}"}
    assert provider.python("print(1)", env=env)["stdout"] == "1\n"
    env[VARIABLES[kind]] = "unix:///nonexistent/sock"
    assert Provider(kind, config, schema).python("print(1)", env=env)["stdout"] == "1\n"


@root
@pytest.mark.parametrize("image, words", [("localhost/nosuch", "nosuch"), ("localhost/nosuch:v1", "nosuch:v1")])
def test_image_that_is_missing(at, daemon, image, words):
    """It is never fetched from a registry."""
    error = at(daemon.socket, image=image).refused("-c", "1")
    assert words in error["message"] and "pull" in error["remedy"], error


def tar_of(**files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(text), 0o755
            archive.addfile(entry, io.BytesIO(text))
    return out.getvalue()


@root
def test_images_with_little_in_them(at, daemon):
    """One without a shell, a place for anything, or an agent: a run or an error, and nothing is left."""
    for name, archive in (("no-shell", tar_of(file=b"text")), ("own-agent", tar_of(**{"brig-agent": b"#!/bin/sh\n"}))):
        daemon.load(archive, name)
        done = at(daemon.socket, image=f"localhost/{name}").plain(
            "--json", "--timeout", "5s", "--lang", "python", "-c", "print(6 * 7)", timeout=LONG)
        answer = json.loads(done.stdout)
        assert answer.get("stdout") == "42\n" or "error" in answer or answer["status"] == "error", answer
    wait_for(lambda: not brigs(daemon))


@root
def test_image_with_volumes(at, daemon):
    """Each would be writable, without the limit of the disk."""
    changes = urllib.parse.quote("VOLUME /data")
    status, answer = daemon.ask("POST", f"/v1.40/images/create?fromSrc=-&repo=localhost/volumes&changes={changes}",
                                tar_of(file=b"text"), "application/x-tar")
    assert status == 200, answer
    seen = daemon.ask("GET", "/v1.40/images/localhost/volumes/json")[1]
    assert seen["Config"]["Volumes"] == {"/data": {}}, seen["Config"]
    error = at(daemon.socket, image="localhost/volumes").refused("-c", "1")
    assert "volumes" in error["message"] and "VOLUME" in error["remedy"], error
    assert not brigs(daemon)


LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def peer_of(path):
    """The process that listens there."""
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
        return struct.unpack("3i", one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


@root
def test_a_mount_beneath_a_bound_directory(config, schema, own_daemon, kind):
    """It would be writable in the container. Docker leaves it out; Podman binds it too, which is seen."""
    daemon = own_daemon()
    provider = Provider(f"own-{kind}", config, schema)
    provider.kind = kind
    space = f"/proc/{peer_of(daemon.socket)}/ns/mnt"
    assert os.readlink(space) != os.readlink("/proc/self/ns/mnt")
    place = next(entry.path for entry in os.scandir(LIBRARIES) if entry.is_dir(follow_symlinks=False))
    subprocess.run(["nsenter", f"--mount={space}", "mount", "-t", "tmpfs", "tmpfs", place], check=True)
    assert place not in pathlib.Path("/proc/self/mountinfo").read_text()
    if kind == "docker":
        result = provider.bash(f"touch {place}/x && echo written; echo ran")
        assert result["stdout"] == "ran\n", result
    else:
        error = provider.refused("--lang", "bash", "-c", "echo ran")
        assert place in error["message"] and "mount" in error["remedy"], error
        assert error["step"] == "walls", error
    wait_for(lambda: not brigs(daemon))


def base_images(provider, *args, language="bash"):
    return subprocess.run([BRIG, "image", "build-base", language, "--json", "--policy", provider.name, "--config",
                           str(provider.config), *args], capture_output=True, timeout=LONG, check=False)


def built(*args, **options):
    done = base_images(*args, **options)
    assert done.returncode == 0, done
    return json.loads(done.stdout)["images"]


@root
def test_base_image(config, schema, daemon, kind, tmp_path):
    """Before a run, or by hand from a file: runs use it by its name, which is that of its content."""
    provider = Provider(kind, config, schema)
    [image] = built(provider, "--output", str(tmp_path))
    [file] = tmp_path.iterdir()
    name, tar = image["image"], file.read_bytes()
    assert name.rpartition("brig-base:")[2] == hashlib.sha256(tar).hexdigest()[:40]
    assert daemon.ask("DELETE", f"/v1.40/images/{name}?force=1")[0] in (200, 404)
    assert built(provider) == [{"image": name, "made": True}]
    assert built(provider) == [{"image": name, "made": False}]
    brig, container = running(provider, daemon)
    try:
        assert daemon.inspect(container)["Config"]["Image"] == name
    finally:
        finish(brig)
    wait_for(lambda: not brigs(daemon))
    assert daemon.ask("DELETE", f"/v1.40/images/{name}?force=1")[0] == 200
    status, _ = daemon.ask("POST", f"/v1.40/images/create?fromSrc=-&repo={name}", tar, "application/x-tar")
    assert status == 200
    assert built(provider) == [{"image": name, "made": False}]


@root
def test_base_images_of_a_compiled_language(config, schema, daemon, kind):
    names = [image["image"] for image in built(Provider(kind, config, schema), language="c")]
    assert len(set(names)) == 2, names
    assert all(daemon.ask("GET", f"/v1.40/images/{name}/json")[0] == 200 for name in names)


@root
def test_base_images_that_cannot_be_made(at, daemon, short):
    def error_of(provider, *args, **options):
        done = base_images(provider, *args, **options)
        assert done.returncode > 1, done
        error = json.loads(done.stdout)["error"]
        assert error["remedy"], error
        return error["message"]

    provider = at(daemon.socket)
    assert "nosuch" in error_of(provider, language="nosuch")
    built(provider, "--output", str(short))
    assert "exists" in error_of(provider, "--output", str(short))
    assert "nosuch" in error_of(provider, "--output", str(short / "nosuch"))
    assert "x:1" in error_of(at(daemon.socket, image="x:1"))
    assert "/nonexistent/sock" in error_of(at("/nonexistent/sock"))
    provider.name = "default"
    assert "native" in error_of(provider)


# --- sockets --------------------------------------------------------------------------------------


def make_place(short, what):
    path = short / "sock"
    if what == "file":
        path.write_text("")
    elif what == "directory":
        path.mkdir()
    elif what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        path.symlink_to("/nonexistent")
    elif what == "nobody-listens":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(path))
    elif what == "datagrams":
        one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        one.bind(str(path))
    return path


@root
@pytest.mark.parametrize("what", ["missing", "file", "directory", "fifo", "link", "nobody-listens", "datagrams"])
def test_sockets_that_are_none(at, short, what):
    path = make_place(short, what)
    error = refused_in_time(at(path))
    assert str(path) in error["message"], error


@pytest.mark.user
def test_socket_of_others(at, short):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(short / "sock"))
        one.listen()
        os.chmod(short / "sock", 0)
        error = refused_in_time(at(short / "sock"))
    assert str(short / "sock") in error["message"] and "ermission" in error["message"], error


# --- daemons that are wrong -----------------------------------------------------------------------


@root
def test_a_daemon_that_accepts_nothing(at, short):
    false = FalseDaemon(short / "sock", None)
    try:
        refused_in_time(at(short / "sock"))
    finally:
        false.close()


@root
@pytest.mark.parametrize("way", list(WAYS))
def test_a_daemon_that_answers_wrongly(at, short, way):
    false = FalseDaemon(short / "sock", WAYS[way])
    try:
        error = refused_in_time(at(short / "sock"))
        assert false.heads, "it was not asked"
        if way == "old":
            assert "1.12" in error["message"], error
    finally:
        false.close()


CALLS = {"create": [b"/containers/create"], "attach": [b"/attach"], "start": [b"/start"]}
LATER = {"end": [b"/wait", b"/kill"], "look": [b"/json"], "removal": [b"DELETE"]}
IN_THE_MIDDLE = [(call, way) for call in CALLS for way in WAYS if (call, way) != ("attach", "switch")]


@root
@pytest.mark.parametrize("call, way", IN_THE_MIDDLE)
def test_a_call_that_fails(at, short, daemon, call, way):
    """The daemon is a true one until then. Its container is removed, at the next start at the latest."""
    false = Between(short / "sock", daemon.socket, CALLS[call], WAYS[way])
    try:
        refused_in_time(at(short / "sock"))
        assert false.met.is_set(), false.heads
    finally:
        false.close()
    next_works(at(daemon.socket))
    wait_for(lambda: not brigs(daemon))


@root
@pytest.mark.parametrize("call", list(LATER))
def test_a_later_call_that_hangs(at, short, daemon, call):
    """The program has run: the result is there, or an error; and in time."""
    false = Between(short / "sock", daemon.socket, LATER[call], WAYS["silence"])
    try:
        began = time.monotonic()
        done = at(short / "sock").plain("--json", "--timeout", "5s", "--lang", "bash", "-c", "echo ran",
                                        timeout=LONG)
        assert time.monotonic() - began < LONG and done.returncode >= 0
        answer = json.loads(done.stdout)
        assert "error" in answer or answer["status"] in ("ok", "error"), answer
    finally:
        false.close()
    next_works(at(daemon.socket))
    wait_for(lambda: not brigs(daemon))


@root
def test_a_list_of_providers_passes_it_over(config, schema, kind):
    write_policy(config, "listed", {**DAEMON, "provider": [kind, "native"],
                                    kind: {"socket": "/nonexistent/sock"}})
    listed = Provider("listed", config, schema)
    listed.kind = "native"
    assert listed.python("print(1)")["stdout"] == "1\n"


# --- killed processes -----------------------------------------------------------------------------


@pytest.fixture
def of_others(daemon):
    """A container that is not brig's, and shall live."""
    daemon.load(tar_of(file=b""), "others")
    name = daemon.create("others", ["/usr/bin/sleep", "1000"], Binds=["/usr:/usr:ro", "/lib:/lib:ro", "/lib64:/lib64:ro"])
    status, answer = daemon.ask("POST", f"/v1.40/containers/{name}/start")
    assert status == 204, answer
    yield name
    daemon.ask("DELETE", f"/v1.40/containers/{name}?force=1")


def lives(daemon, name):
    seen = daemon.inspect(name)
    return seen is not None and seen["State"]["Running"]


@root
def test_brig_is_killed(config, schema, daemon, kind, of_others):
    brig, name = running(Provider(kind, config, schema), daemon)
    brig.kill()
    brig.communicate()
    wait_for(lambda: name not in brigs(daemon))
    assert lives(daemon, of_others)


@root
@pytest.mark.parametrize("after", [0.02, 0.06, 0.15, 0.3])
def test_brig_is_killed_while_it_starts(config, schema, daemon, kind, of_others, after):
    """The container may be there, and never attached or started: the next start removes it."""
    provider = Provider(kind, config, schema)
    brig = start(provider)
    time.sleep(after)
    brig.kill()
    brig.communicate()
    next_works(provider)
    wait_for(lambda: not brigs(daemon))
    assert lives(daemon, of_others)


@root
def test_brig_is_interrupted(config, schema, daemon, kind):
    brig, _ = running(Provider(kind, config, schema), daemon)
    brig.send_signal(signal.SIGINT)
    brig.communicate(timeout=LONG)
    wait_for(lambda: not brigs(daemon))


@root
def test_waiting_containers_end_with_brig(config, schema, daemon, kind):
    """The next start removes one that was made, and not yet started."""
    with subprocess.Popen([BRIG, "bench", "--config", str(config), "--policy", kind, "--runs", "5000", "--in-flight", "1",
                           "--cells", "3", "--lang", "python", "-c", "print(1)"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as brig:
        try:
            wait_for(lambda: len(brigs(daemon)) >= 3)
        finally:
            brig.kill()
    wait_for(lambda: not brigs(daemon, status=["running"]))
    next_works(Provider(kind, config, schema))
    wait_for(lambda: not brigs(daemon))


@root
def test_sweep(config, schema, daemon, kind, of_others):
    """A container of a brig that has ended, which has ignored the end of its stream."""
    provider = Provider(kind, config, schema)
    brig, name = running(provider, daemon)
    labels = {key: value for key, value in brigs(daemon)[name].items()}
    assert any(key.startswith("brig") or ".brig" in key for key in labels), labels
    image = daemon.inspect(of_others)["Config"]["Image"]
    status, answer = daemon.ask("POST", "/v1.40/containers/create", {
        "Image": image, "Cmd": ["/usr/bin/sleep", "1000"], "Labels": labels,
        "HostConfig": {"NetworkMode": "none", "Binds": ["/usr:/usr:ro", "/lib:/lib:ro", "/lib64:/lib64:ro"],
                       "Ulimits": [{"Name": "nofile", "Soft": 256, "Hard": 256},
                                   {"Name": "nproc", "Soft": 64, "Hard": 64}]}})
    assert status == 201, answer
    left = answer["Id"]
    assert daemon.ask("POST", f"/v1.40/containers/{left}/start")[0] == 204
    # As long as that brig lives, both are left alone.
    next_works(provider)
    assert lives(daemon, left) and lives(daemon, name)
    brig.kill()
    brig.communicate()
    next_works(provider)
    wait_for(lambda: not brigs(daemon))
    assert lives(daemon, of_others)


@root
def test_the_daemon_is_killed(config, schema, own_daemon, kind):
    """During a run: the run ends in time, and a daemon that is started again has nothing left after a run."""
    daemon = own_daemon()
    provider = Provider(f"own-{kind}", config, schema)
    provider.kind = kind
    brig, _ = running(provider, daemon)
    try:
        daemon.kill()
        if kind == "docker":  # its containers have lost their streams; podman's are not the daemon's
            brig.communicate(timeout=LONG)
            assert brig.returncode > 1, brig.returncode
        refused_in_time(provider)
    finally:
        finish(brig)
    daemon.start_again()
    next_works(provider)
    wait_for(lambda: not brigs(daemon))


@root
def test_the_container_is_killed_by_others(config, schema, daemon, kind):
    for call in ("POST", "kill?signal=KILL"), ("DELETE", "?force=1"), ("POST", "stop?t=0"):
        brig, name = running(Provider(kind, config, schema), daemon)
        path = f"/v1.40/containers/{name}"
        daemon.ask(call[0], path + call[1] if call[1].startswith("?") else f"{path}/{call[1]}")
        brig.communicate(timeout=LONG)
        assert brig.returncode > 1, (call, brig.returncode)
    wait_for(lambda: not brigs(daemon))


@root
def test_no_space(config, schema, own_daemon, kind):
    daemon = own_daemon("48m")
    provider = Provider(f"own-{kind}", config, schema)
    provider.kind = kind
    number = 0
    while number < 200 and fill(daemon, number):
        number += 1
    assert number < 200
    done = provider.plain("--json", "--timeout", "5s", "--lang", "bash", "-c", "echo ran", timeout=LONG)
    answer = json.loads(done.stdout)
    # Some daemons need no space for a container: then it runs.
    if "error" in answer:
        reason = answer["error"]["message"].lower()
        assert "no space" in reason or (kind == "podman" and "refused the call" in reason), answer
        assert answer["error"]["remedy"], answer
    else:
        assert answer["stdout"] == "ran\n", answer


def fill(daemon, number):
    """An image of four megabytes that cannot be compressed."""
    try:
        daemon.load(tar_of(file=os.urandom(4 << 20)), f"filler-{number}")
    except (AssertionError, OSError):
        return False
    return True


# --- an ordinary user's daemon --------------------------------------------------------------------


@pytest.mark.user
def test_rootless_podman_has_no_limits(config, schema):
    """On a host with control groups of version 1 it holds neither memory nor processes: the run is refused, if not
    by Podman itself, which needs subordinate ids. The host of this test may have version 2, and a delegated group:
    then there are limits."""
    daemon = daemons.Daemon("podman").start()
    try:
        write_policy(config, "rootless", {**DAEMON, "provider": "podman",
                                          "podman": {"socket": daemon.socket}})
        assert not ROOT
        provider = Provider("rootless", config, schema)
        provider.kind = "podman"
        if daemon.ask("GET", "/v1.40/info")[1]["CgroupVersion"] == "1":
            error = provider.refused("-c", "1")
            assert "limits" in error["message"] or "refused" in error["message"], error
            assert error["remedy"], error
        assert not brigs(daemon)
    finally:
        daemon.stop()


def test_no_daemon_of_the_tests_lasts(kind):
    """No process, mount, group or file of one is there after its end."""
    if kind == "docker" and not ROOT:
        return  # it is root's alone
    daemon = daemons.Daemon(kind).start()
    name = daemon.place.name
    daemon.stop()
    assert not daemon.place.exists()
    assert name not in pathlib.Path("/proc/self/mountinfo").read_text()
    for entry in os.scandir("/proc"):
        try:
            words = pathlib.Path(entry.path, "cmdline").read_text() if entry.name.isdigit() else ""
        except OSError:
            continue
        assert name not in words, words
    assert not [path for path, _, _ in os.walk("/sys/fs/cgroup") if name in path]
