# SPDX-License-Identifier: Apache-2.0
"""The program from outside, for the tests of languages and of the acceptance examples."""

import json
import os
import pathlib
import subprocess

import jsonschema
import pytest

BRIG = os.environ.get("BRIG", "build/brig")
TREE = pathlib.Path(os.environ.get("BRIG_TREE", pathlib.Path(__file__).parents[2]))
ROOT = os.geteuid() == 0


class Brig:
    """Runs brig with a cache of the test, where the user may choose one."""

    def __init__(self, directory):
        self.dir = directory
        self.env = dict(os.environ, XDG_CACHE_HOME=str(directory / "cache"))
        # Root's cache is a directory that no other user can write to, whatever the environment is.
        self.cache = pathlib.Path("/var/cache/brig" if ROOT else directory / "cache" / "brig")

    def entries(self):
        """The compiled programs in the cache."""
        return set(self.cache.glob("build/*"))

    def words(self, *options):
        return [BRIG, *(str(option) for option in options)]

    def __call__(self, *options, stdin=b"", timeout=120):
        stdin = stdin.encode() if isinstance(stdin, str) else stdin
        return subprocess.run(self.words(*options), input=stdin, capture_output=True, cwd=self.dir,
                              env=self.env, timeout=timeout, check=False)

    def spawn(self, *options, **more):
        return subprocess.Popen(self.words(*options), cwd=self.dir, env=self.env, **more)

    def result(self, *options, **more):
        """The result of `brig run --json`; it matches the schema."""
        done = self("run", "--json", *options, **more)
        result = json.loads(done.stdout)
        assert "error" not in result, result
        SCHEMA.validate(result)
        result["brig_status"] = done.returncode
        return result

    def error(self, *options, **more):
        """The error of a run that must not happen."""
        done = self("run", "--json", *options, **more)
        assert done.returncode != 0
        return json.loads(done.stdout)["error"]

    def python(self, code, *options, **more):
        return self.result("--lang", "python", "-c", code, *options, **more)


def load_schema():
    text = subprocess.run([BRIG, "run", "--json-schema"], capture_output=True, check=True).stdout
    return jsonschema.Draft202012Validator(json.loads(text))


SCHEMA = load_schema()


@pytest.fixture
def brig(tmp_path):
    it = Brig(tmp_path)
    before = it.entries()
    yield it
    # Root's cache does not belong to the test: it is left unchanged.
    for path in it.entries() - before:
        path.unlink(missing_ok=True)
