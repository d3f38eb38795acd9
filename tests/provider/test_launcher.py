# SPDX-License-Identifier: Apache-2.0
"""Launchers that a data file describes: wrong files, missing and broken programs, missing walls."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

from conftest import BRIG, POLICIES, ROOT

SHIPPED = pathlib.Path(__file__).parents[2] / "data" / "launchers"
LAYERS = ["userns", "pidns", "mntns", "netns", "ipcns", "utsns", "cgroupns", "rootfs", "caps"]


def shipped(name="bubblewrap"):
    lines = (SHIPPED / f"{name}.json").read_text().splitlines()
    return json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))


def without(*words):
    """bubblewrap's own file, without some of the arguments."""
    changed = shipped()
    changed["arguments"] = [one for one in changed["arguments"] if one not in words]
    return changed


def with_more(*words):
    """The same with arguments before the agent."""
    changed = shipped()
    changed["arguments"][-2:-2] = words
    return changed


@pytest.fixture
def place():
    """Open to all: the launcher of root's cells is not root on the host."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        os.chmod(name, 0o755)
        yield pathlib.Path(name)


@pytest.fixture
def launcher(of, config):
    """A provider whose launcher has this file."""
    made = []

    def make(text, mode=0o600, **policy):
        folder = config / "launchers"
        folder.mkdir(exist_ok=True)
        path = folder / "own.json"
        path.write_text(text if isinstance(text, str) else json.dumps(text))
        path.chmod(mode)
        made.append(path)
        return of("own", {"extends": "default", "provider": "launcher",
                          "launcher": {"name": "own"}, **policy})

    yield make
    for path in made:
        path.unlink(missing_ok=True)


def program(place, script):
    path = place / "fake"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {**shipped(), "program": str(path), "package": "fake-package"}


# --- files ----------------------------------------------------------------------------------------


def test_an_own_file_works(launcher):
    assert launcher(shipped()).python("print(1)")["stdout"] == "1\n"


@pytest.mark.parametrize("change, words", [
    ({"arguments": ["--", "/bin/sh"]}, "{agent} is missing"),
    ({"arguments": ["--", "{agent}"]}, "{root} is missing"),
    ({"arguments": ["{root}/../..", "{agent}"]}, "nothing may follow {root}"),
    ({"arguments": ["{root}", "{agent}/../../bin/sh"]}, "nothing may follow {agent}"),
    ({"arguments": ["/.brig/state", "{root}", "{agent}"]}, "brig's own"),
    ({"arguments": ["{home}", "{root}", "{agent}"]}, "{home} is not known"),
    ({"arguments": "{agent}"}, "a list"),
    ({"arguments": ["{root}", "{agent}", "x" * 2000]}, "longer than 1024"),
    ({"arguments": ["{root}", "{agent}"] * 100}, "200 items, at most 128"),
    ({"program": "../bwrap"}, "not the name of a program"),
    ({"program": "/usr/../tmp/x"}, "not the name of a program"),
    ({"program": 7}, "a text"),
    ({"package": "a; rm b"}, "not the name of a package"),
    ({"layers": ["userns"]}, "not enough for walls"),
    ({"layers": [*LAYERS, "landlock"]}, "not a layer of launchers"),
    ({"layers": [*LAYERS, "walls"]}, "unknown layer"),
    ({"probe": {"status": 300}}, "out of range"),
    ({"setuid": True}, "unknown key"),
])
def test_a_wrong_file(launcher, change, words):
    error = launcher({**shipped(), **change}).refused("-c", "1")
    assert words in error["message"], error


@pytest.mark.parametrize("key", ["program", "layers", "arguments"])
def test_a_key_is_missing(launcher, key):
    changed = shipped()
    del changed[key]
    assert f"the key {key} is missing" in launcher(changed).refused("-c", "1")["message"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1, "a": 2}', "\0", "[" * 100000])
def test_not_json(launcher, text):
    assert launcher(text).refused("-c", "1")["message"]


def test_a_file_that_others_can_write(launcher):
    assert "others may write" in launcher(shipped(), mode=0o666).refused("-c", "1")["message"]


def test_a_directory_that_others_can_write(launcher, config):
    own = launcher(shipped())
    (config / "launchers").chmod(0o777)
    try:
        assert "others may write" in own.refused("-c", "1")["message"]
    finally:
        (config / "launchers").chmod(0o755)


def test_a_link(launcher, config, place):
    own = launcher(shipped())
    path = config / "launchers" / "own.json"
    path.rename(place / "own.json")
    path.symlink_to(place / "own.json")
    assert "link" in own.refused("-c", "1")["message"]


@pytest.mark.parametrize("name, words", [
    ({"name": "absent"}, "launcher not found"),
    ({"name": "../policies/default"}, "no name of a launcher"),
    ({"name": "/etc/passwd"}, "no name of a launcher"),
    ({"arguments": ["x"]}, "unknown key"),
    ({}, "no launcher is named"),
])
def test_the_policy_names_it(of, name, words):
    error = of("odd", {"extends": "default", "provider": "launcher", "launcher": name}).refused(
        "-c", "1")
    assert words in error["message"] and error["remedy"], error


def test_the_file_is_in_the_hash(launcher):
    one = launcher(shipped()).python("1")["policy"]
    other = launcher({**shipped(), "description": "another"}).python("1")["policy"]
    assert one != other


def test_layers_that_it_lacks(launcher):
    fewer = {**shipped(), "layers": [one for one in LAYERS if one != "ipcns"]}
    error = launcher(fewer).refused("-c", "1")
    assert "wants the layer ipcns" in error["message"]
    assert "launcher own lacks" in error["message"]


# --- programs -------------------------------------------------------------------------------------


def test_missing(launcher):
    error = launcher({**shipped(), "program": "no-such-launcher", "package": "its-package"}).refused(
        "-c", "1")
    assert "not on this host" in error["message"] and "apt-get install its-package" in error["remedy"]


@pytest.mark.parametrize("script, words", [
    ("exit 0", "ended without starting the agent"),
    ("exit 3", "gave no reason"),
    ("kill -9 $$", "killed"),
    ("echo 'bad option' >&2; exit 1", "bad option"),
    ("printf 'bad\\033[31m\\n' >&2; exit 1", "bad?[31m"),
    ("exec 1>&- 0<&-; sleep 0.2; exit 0", "ended without starting the agent"),
])
def test_fails(launcher, place, script, words):
    error = launcher(program(place, script)).refused("-c", "1")
    assert words in error["message"] and error["step"] == "launcher", error


def test_hangs(launcher, place):
    began = time.monotonic()
    error = launcher(program(place, "sleep 1000")).refused("--timeout", "2s", "-c", "1")
    assert "did not start the cell in time" in error["message"]
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("script", [
    "head -c 100000 /dev/urandom; sleep 0.5",  # garbage where the agent's frames should be
    # "ready", and then nothing; and then the end
    "printf '\\013\\000\\000\\000\\004\\000\\000\\000\\001\\000\\000\\000'; sleep 0.5",
])
def test_speaks_instead_of_the_agent(launcher, place, script):
    done = launcher(program(place, script)).plain("--json", "--timeout", "5s", "-c", "print(1)")
    answer = json.loads(done.stdout)
    assert done.returncode not in (0, 1)
    assert "error" in answer or answer["status"] == "error", answer


# --- walls that are not there ---------------------------------------------------------------------

NO_WALLS = "exec /.brig/root/brig-agent"


def ran(provider):
    """True: a program was started."""
    done = provider.plain("--json", "--lang", "bash", "-c", "echo through")
    return "through" in done.stdout.decode()


def test_no_walls_at_all(launcher, place):
    """The agent itself would run: the check stops it."""
    error = launcher(program(place, NO_WALLS)).refused("--lang", "bash", "-c", "echo through")
    assert "did not make the layer" in error["message"], error
    assert "not started" in error["message"] and error["step"] == "launcher"


@pytest.mark.parametrize("changed, layer", [
    (without("--as-pid-1"), "pidns"),  # a process of bwrap's, without a filter, beside the program
    (without("--unshare-net"), "netns"),
    (without("--unshare-ipc"), "ipcns"),
    (without("--unshare-cgroup"), "cgroupns"),
    (without("--unshare-uts", "--hostname", "{hostname}"), "utsns"),
    (without("--cap-drop", "ALL"), "caps"),
    (without("--proc", "/proc"), "proc"),
])
def test_a_layer_is_missing(launcher, changed, layer):
    assert ran(launcher(shipped()))
    error = launcher(changed).refused("-c", "1")
    assert f"did not make the layer {layer}" in error["message"], error


@pytest.mark.parametrize("words, why", [
    (["--ro-bind", "/etc", "/etc"], "/etc is mounted, but not in the plan"),
    (["--tmpfs", "/sandbox"], "/sandbox is not brig's"),       # without a limit
    (["--tmpfs", "/tmp"], "/tmp is not brig's"),
    (["--tmpfs", "/sys"], "/sys is mounted, but not in the plan"),
])
def test_a_hole_in_the_root(launcher, words, why):
    error = launcher(with_more(*words)).refused("-c", "1")
    assert "the layer rootfs" in error["message"] and why in error["message"], error


def test_another_root(launcher):
    """The host's own, with the agent in it: as a file can easily have it."""
    changed = shipped()
    at = changed["arguments"].index("{root}")
    changed["arguments"][at - 1:at + 2] = ["--dev-bind", "/", "/", "--dev-bind", "{root}", "/mnt"]
    changed["arguments"][-2:] = ["--", "/bin/sh", "-c", "exec /mnt/brig-agent", "{agent}"]
    error = launcher(changed).refused("-c", "1")
    assert "the layer rootfs" in error["message"] and "not {root}" in error["message"], error


def test_the_host_stays_read_only_for_the_launcher(launcher, place):
    """A launcher cannot write to the host either, nor is it root there."""
    mark = place / "mark"
    place.chmod(0o777)
    fake = program(place, f"touch {mark} 2>/dev/null; id -u >&2; exit 1")
    launcher(fake).refused("-c", "1")
    assert not mark.exists()


def test_the_launcher_is_not_root(launcher, place):
    fake = program(place, "cat /proc/self/uid_map >&2; exit 1")
    error = launcher(fake).refused("-c", "1")
    outside = int(error["message"].rsplit(":", 1)[1].split()[1])
    assert outside > 65536 if ROOT else outside == os.geteuid()


# --- doctor and explain ---------------------------------------------------------------------------


def doctor(path):
    done = subprocess.run([BRIG, "doctor", "--json"], capture_output=True, text=True, timeout=90,
                          check=False, env={**os.environ, "PATH": path})
    return {one["name"]: one for one in json.loads(done.stdout)["providers"]}["launcher"]


def test_doctor():
    found = doctor(os.environ["PATH"])
    assert found["state"] == "ok" and "bwrap" in found["detail"], found
    assert set(found["abilities"]) == {"walls", "own-root", "mounts", "call-rules",
                                       "call-watch", "network", "hold", "value", "sessions",
                                       "venv"}


def test_doctor_names_the_package(tmp_path):
    found = doctor(str(tmp_path))
    assert found["state"] == "missing" and "apt-get install bubblewrap" in found["repair"]


def test_doctor_tries_it(place):
    (place / "bwrap").write_text("#!/bin/sh\nexit 4\n")
    (place / "bwrap").chmod(0o755)
    found = doctor(f"{place}:{os.environ['PATH']}")
    assert found["state"] == "missing" and "does not work" in found["detail"]


def test_doctor_has_a_deadline(place):
    (place / "bwrap").write_text("#!/bin/sh\nexec sleep 1000\n")
    (place / "bwrap").chmod(0o755)
    began = time.monotonic()
    found = doctor(f"{place}:{os.environ['PATH']}")
    assert found["state"] == "missing" and "in time" in found["detail"]
    assert time.monotonic() - began < 60


def test_explained(config):
    done = subprocess.run([BRIG, "explain", "--config", config, "--policy", "launcher-bubblewrap",
                           "--json", "--lang", "python", "-c", "1"], capture_output=True, text=True,
                          timeout=60, check=True)
    answer = json.loads(done.stdout)["program"]
    assert answer["launcher"] == "bubblewrap" and answer["tried"]
    assert answer["command"][0] == shutil.which("bwrap") and answer["command"][-1] == "/brig-agent"
    assert {"launcher", "proc", "check", "seccomp"} <= {one["step"] for one in answer["steps"]}


def test_a_file_that_was_never_tried_says_so(config, of, place):
    """nsjail's file is by its manual: explain says that no test runs it."""
    of("jailed", {**POLICIES["launcher-bubblewrap"], "launcher": {"name": "nsjail"}})
    done = subprocess.run([BRIG, "explain", "--config", config, "--policy", "jailed", "--lang",
                           "bash", "-c", "1"], capture_output=True, text=True, timeout=60, check=True)
    assert "not run by brig's tests" in done.stdout
