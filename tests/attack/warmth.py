# SPDX-License-Identifier: Apache-2.0
"""Runs of one context with pools: several cells from one template, one after the other or at once."""

import json
import os
import pathlib
import secrets
import subprocess

import harness
import pytest
from aftermath import status_of

HERE = pathlib.Path(__file__).parent
TREE = pathlib.Path(os.environ.get("BRIG_TREE", HERE.parent.parent))
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build"))
MASK = 0x5A


@pytest.fixture(scope="session")
def warm_host(tmp_path_factory):
    target = tmp_path_factory.mktemp("warm") / "warm_host"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror",
                    "-I", TREE / "include", "-o", target, HERE / "warm_host.c", "-L", BUILD,
                    "-lbrig", f"-Wl,-rpath,{BUILD}"], check=True)
    return target


@pytest.fixture
def warm(warm_host, tmp_path):
    """warm(SNIPPET..., option=value...): the results, which all came from a pool."""

    def words(snippets, options):
        pairs = [word for pair in options.items() for word in pair]
        return [str(word) for word in [warm_host, *pairs, "--", *snippets]]

    def run(*snippets, env=None, **options):
        done = harness.execute(words(snippets, options), tmp_path, env=env)
        assert done.returncode == 0, done
        results = [json.loads(line) for line in done.stdout.splitlines()]
        assert [result["start"] for result in results] == ["warm"] * len(results)
        return results

    def begin(*snippets, **options):
        return subprocess.Popen(words(snippets, options), cwd=tmp_path, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    run.begin = begin
    return run


def said(results):
    """The output of each, parsed as JSON."""
    for result in results:
        assert result["status"] == "ok" and result["stdout"], result
    return [json.loads(result["stdout"]) for result in results]


def preloading(attack, *modules):
    """A configuration whose Python templates have imported these."""
    config = attack.dir / "config"
    (config / "runtimes").mkdir(parents=True, exist_ok=True)
    text = (TREE / "data/runtimes/python.json").read_text()
    start = text.index('"preload": [')
    end = text.index("]", start)
    names = ", ".join(f'"{name}"' for name in modules)
    changed = text[:start] + f'"preload": [{names}' + text[end:]
    (config / "runtimes/python.json").write_text(changed)
    return config


def families(host):
    """Processes below a host program: those with one number (keeper, template), those in cells."""
    outside, inside = {}, {}
    for pid in harness.descendants(host.pid):
        status = status_of(pid)
        if not status:
            continue  # it ended just now
        numbers = status.get("NSpid", "").split()
        (inside if len(numbers) > 1 else outside)[pid] = status
    return outside, inside


class Marker:
    """Bytes that are in no program's text: a snippet gets them masked."""

    def __init__(self):
        self.bytes = secrets.token_hex(32).encode()
        self.masked = bytes(byte ^ MASK for byte in self.bytes).hex()

    @property
    def text(self):
        return self.bytes.decode()

    @property
    def plain(self):
        """An expression that makes them."""
        return f"bytes.fromhex('{self.masked}').translate(bytes(i ^ {MASK} for i in range(256)))"


# found(MASKED): the mappings of this process that hold the marker. The marker itself is never made:
# memory is masked instead, and searched for the masked marker.
SCAN = f"""
def found(masked):
    needle, table = bytes.fromhex(masked), bytes(i ^ {MASK} for i in range(256))
    places, length = [], 0
    with open("/proc/self/maps") as file:
        lines = file.read().splitlines()
    with open("/proc/self/mem", "rb", 0) as memory:
        for line in lines:
            words = line.split(None, 5)
            start, end = (int(word, 16) for word in words[0].split("-"))
            name = words[5] if len(words) > 5 else ""
            if words[1][0] != "r" or name.startswith("[v"):
                continue
            tail = b""
            while start < end:
                memory.seek(start)
                data = memory.read(min(end - start, 1 << 20))
                start, length = start + len(data), length + len(data)
                if needle in (tail + data).translate(table):
                    places.append(name or "anonymous")
                tail = data[-len(needle):]
    return places, length
"""
