# SPDX-License-Identifier: Apache-2.0
"""Many runs in one process, with cells that are made ahead; or one, by the program itself."""

import concurrent.futures
import json
import os
import pathlib
import queue
import subprocess
import sys

import jsonschema
import pytest

HERE = pathlib.Path(__file__).parent
TREE = pathlib.Path(os.environ.get("BRIG_TREE", HERE.parent.parent))
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build"))
BRIG = os.environ.get("BRIG", "build/brig")
sys.path.insert(0, str(HERE))

POLICIES = {
    "counted": {"guard": {"mode": "strict", "operations": 10000, "recursion": 200}},
    "few": {"guard": {"mode": "imports", "allowed_modules": ["math", "json", "os.path"]}},
    "science": {"guard": {"mode": "strict", "allowed_modules": ["math", "io", "numpy", "pandas"]},
                "limits": {"memory": "1G"}},
    "tables": {"guard": {"mode": "strict", "allowed_modules": [
        "math", "io", "numpy", "pandas", "types", "functools", "collections"]},
               "limits": {"memory": "1G"}},
    "left": {"guard": {"mode": "strict", "allowed_modules": ["re", "functools", "numpy", "pandas"]},
             "limits": {"memory": "1G"}},
    "guarded": {"guard": "strict"},
    "sums": {"guard": {"mode": "strict", "allowed_modules": ["math"]}},
    "scored": {"auto_run": {"ask_from": 20}},
    "loose": {"guard": {"mode": "imports", "allowed_modules": ["os", "sys", "ctypes", "mmap"]}},
    "careful": {"auto_run": {"ask_from": 20, "refuse_from": 60}},
}


def schema():
    text = subprocess.run([BRIG, "run", "--json-schema"], capture_output=True, check=True).stdout
    return jsonschema.Draft202012Validator(json.loads(text))


SCHEMA = schema()


class Many:
    """Processes of many.c; requests and answers are lines."""

    WORKERS = 3

    def __init__(self, program, config):
        self.idle = queue.Queue()
        self.processes = [subprocess.Popen([program, config], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE) for _ in range(self.WORKERS)]
        for process in self.processes:
            self.idle.put(process)

    def __call__(self, code, guard=None, **more):
        ask = {"code": code, **more}
        if guard:
            ask["guard"] = guard
        process = self.idle.get()
        try:
            process.stdin.write(json.dumps(ask).encode() + b"\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
        finally:
            self.idle.put(process)
        if "error" not in answer:
            SCHEMA.validate(answer)
        return answer

    def all(self, asks):
        """For (arguments, options): the answers, in that order."""
        with concurrent.futures.ThreadPoolExecutor(self.WORKERS) as pool:
            return list(pool.map(lambda ask: self(*ask[0], **ask[1]), asks))

    def close(self):
        for process in self.processes:
            process.stdin.close()
            assert process.wait(30) == 0


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    place = tmp_path_factory.mktemp("config")
    (place / "policies").mkdir()
    for name, text in POLICIES.items():
        text = json.dumps({"extends": "default", **text})
        (place / "policies" / f"{name}.json").write_text(text)
    return place


@pytest.fixture(scope="session")
def many(tmp_path_factory, config):
    program = tmp_path_factory.mktemp("many") / "many"
    libs = subprocess.run(["pkg-config", "--libs", "jansson"], capture_output=True, text=True)
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror",
                    "-I", TREE / "include", "-o", program, HERE / "many.c", BUILD / "libbrig.a",
                    *(libs.stdout.split() or ["-ljansson"]), "-lsodium"], check=True)
    it = Many(program, config)
    yield it
    it.close()


@pytest.fixture(scope="session")
def brig(config):
    """The result of one run by the program."""
    def run(*options, stdin=b""):
        done = subprocess.run([BRIG, "run", "--json", "--config", config, *map(str, options)],
                              input=stdin, capture_output=True, check=False)
        result = json.loads(done.stdout)
        result["brig_status"] = done.returncode
        return result
    return run
