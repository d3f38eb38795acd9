# SPDX-License-Identifier: Apache-2.0
"""Values, the guard and sessions: the same with every provider that has them."""

import importlib.util
import json
import os
import pathlib
import shutil
import time

import pytest

from conftest import DAEMONS, POLICIES

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("api_conftest", HERE.parent / "api" / "conftest.py")
api = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api)


# --- values and the guard -------------------------------------------------------------------------

@pytest.mark.parametrize("code, value", [
    ("[1, {'a': None}]", [1, {"a": None}]),
    ("result = 'x' * 60000", "x" * 60000),
    ("None", None),
])
def test_value(provider, code, value):
    result = provider.python(code, "--value")
    assert result["status"] == "ok" and result["value"] == value, result


# The driver has moved the file away from its number.
FIND = """
import os
for number in range(3, 256):
    try:
        if 'brig-value' in os.readlink(f'/proc/self/fd/{number}'):
            fd = number
    except OSError:
        pass
"""


def test_no_value_but_json(provider):
    """The program owns the file: whatever else is in it is not a value."""
    code = FIND + "os.pwrite(fd, b'{]' * 30000, 0)\nos._exit(0)"
    result = provider.python(code, "--value")
    assert result["status"] == "ok" and result["value"] is None, result


def test_value_has_a_fixed_size(provider):
    code = FIND + ("try: os.pwrite(fd, b'x', 1 << 20)\nexcept OSError as e: print(e.errno)\n"
                   "try: os.ftruncate(fd, 1 << 20)\nexcept OSError as e: print(e.errno)")
    assert provider.python(code, "--value")["stdout"] == "1\n1\n"


def test_guard(provider):
    result = provider.python("import os\nprint(1)", "--guard", "strict")
    assert result["status"] == "rejected" and result["stdout"] == "", result
    assert result["verdict"]["refusal"]["rule"] == "import"
    result = provider.python("print(6 * 7)", "--guard", "strict")
    assert (result["status"], result["stdout"]) == ("ok", "42\n"), result


def test_guard_of_the_policy(provider, of):
    tight = of(f"guarded-{provider.name}", {**POLICIES[provider.name], "guard": "strict"})
    assert tight.python("import socket")["status"] == "rejected"


# --- sessions -------------------------------------------------------------------------------------

def readable(place):
    """For the service, which reads it as a user of its own."""
    for path in (place, *place.parents):
        if path.stat().st_uid == os.geteuid() and path != path.parent:
            path.chmod(path.stat().st_mode | 0o055)
    for path in place.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return place


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("sessions")
    (place / "policies").mkdir()
    for name, policy in POLICIES.items():
        (place / "policies" / f"{name}.json").write_text(json.dumps(policy))
    return readable(place)


@pytest.fixture(scope="module")
def vm_place(tmp_path_factory, vm_config):
    place = tmp_path_factory.mktemp("vm-sessions")
    shutil.copytree(vm_config, place, dirs_exist_ok=True)
    return readable(place)


def config_of(request, place, name):
    if name == "vm":
        return request.getfixturevalue("vm_place")
    if name in DAEMONS:  # its socket is known as soon as there is a daemon
        daemon = request.getfixturevalue(name)
        path = place / "policies" / f"{name}.json"
        path.write_text(json.dumps({**POLICIES[name], name: {"socket": daemon.socket}}))
    return place


@pytest.fixture(scope="module")
def client_of(request, place):
    """A client of the service that has the policy of this name."""
    made, services = [], {}

    def make(*options, **kept):
        made.append(api.serve.Server(*options, **kept))
        return made[-1]

    def client_of(name):
        config = config_of(request, place, name)
        if config not in services:
            services[config] = api.Service(make, "--config", str(config), tokens=[])
        return services[config].unix()

    yield client_of
    for server in made:
        started, status, log = server.readies(), server.stop(), server.log()
        server.close()
        assert started == 1 and status == 0, log


class Session:
    def __init__(self, client, policy, language, **fields):
        self.client = client
        opened = client.ask("POST", "/v1/sessions", {"policy": policy, "language": language, **fields})
        assert opened.status == 201, opened.body
        self.path = "/v1/sessions/" + opened.json()["id"]

    def run(self, code, **fields):
        answer = self.client.ask("POST", self.path + "/execute", {"code": code, **fields})
        assert answer.status == 200, answer.body
        return answer.json()

    def close(self):
        self.client.ask("DELETE", self.path)


WITH_SESSIONS = [name for name in POLICIES if name not in DAEMONS]
FILES_STAY = ["vm"]
WITH_FILES = [name for name in WITH_SESSIONS if name not in FILES_STAY]


@pytest.fixture(params=WITH_SESSIONS)
def session(request, client_of):
    made = Session(client_of(request.param), request.param, "python")
    yield made
    made.close()


@pytest.fixture(params=WITH_FILES)
def session_with_files(request, client_of):
    made = Session(client_of(request.param), request.param, "python")
    yield made
    made.close()


def test_state_and_value_stay(session):
    assert session.run("x = 20; print('set')")["stdout"] == "set\n"
    result = session.run("x + 22", want_value=True)
    assert result["status"] == "ok" and result["value"] == 42, result


def test_output_comes_before_the_answer(session):
    """Of many streams between the driver and brig none overtakes another."""
    for size in (1, 1000, 300000):
        result = session.run(f"import sys\nprint('o' * {size}); print('e' * {size}, file=sys.stderr)")
        assert result["stdout"] == "o" * size + "\n" and result["stderr"] == "e" * size + "\n"


def test_output_between_runs_is_of_none(session):
    session.run("import threading, time\n"
                "def noise():\n    while go: print('noise', flush=True)\n"
                "go = True; threading.Thread(target=noise).start(); time.sleep(0.2)")
    session.run("go = False; import time; time.sleep(0.5)")
    assert session.run("print('mine')")["stdout"] == "mine\n"


def test_files_of_a_run(session_with_files):
    session = session_with_files
    first = session.run("open('out/a', 'w').write('1')")
    assert [one["path"] for one in first["files"]] == ["out/a"]
    time.sleep(0.05)  # a file that changed in the tick in which a run begins may be returned again
    second = session.run("print(open('out/a').read())", files=[{"path": "b", "content": "2"}])
    assert second["stdout"] == "1\n" and second["files"] == []
    assert session.run("print(open('b').read())")["stdout"] == "2\n"


@pytest.mark.parametrize("name", FILES_STAY)
def test_files_that_stay_in_the_cell(client_of, name):
    """A request that cannot be done is refused, and the session goes on."""
    session = Session(client_of(name), name, "python", files=[{"path": "given", "content": "1"}])
    first = session.run("open('out/a', 'w').write(open('given').read())")
    assert first["files"] == [] and "stay in its cell" in first["files_note"], first
    for method, path, body in (("GET", "/files", None), ("GET", "/files/out/a", None),
                               ("DELETE", "/files/out/a", None), ("POST", "/fork", {}),
                               ("POST", "/execute", {"code": "1", "files": [{"path": "b", "content": "2"}]})):
        answer = session.client.ask(method, session.path + path, body)
        assert answer.status >= 400 and b"keeps the files" in answer.body, (path, answer.body)
    assert session.run("print(open('out/a').read())")["stdout"] == "1\n"
    session.close()


def test_interrupted_run_leaves_the_state(session):
    session.run("kept = 'here'")
    result = session.run("while True: pass", timeout_ms=500)
    assert result["status"] == "timeout", result
    assert session.run("print(kept)")["stdout"] == "here\n"


def test_large_run(session):
    """More than every buffer on the way, in both directions."""
    text = "y" * 3000000
    result = session.run(f"t = '{text}'\nprint(len(t))\nt[:60000]", want_value=True)
    assert result["stdout"] == "3000000\n" and result["value"] == text[:60000]


def test_driver_that_dies(session):
    result = session.run("import os; print('last', flush=True); os._exit(3)")
    assert result["stdout"] == "last\n" and result["exit_code"] == 3, result


CODE = {
    "javascript": "console.log(typeof n === 'undefined' ? 'new' : n); var n = 7",
    "bash": "echo ${n:-new}; n=7",
}


# The tests of machines have small languages, without this one.
@pytest.mark.parametrize("name, language", [(name, language) for name in WITH_SESSIONS
                                            for language in CODE if (name, language) != ("vm", "javascript")])
def test_languages(client_of, name, language):
    code = CODE[language]
    made = Session(client_of(name), name, language)
    assert made.run(code)["stdout"] == "new\n"
    assert made.run(code)["stdout"] == "7\n"
    made.close()
