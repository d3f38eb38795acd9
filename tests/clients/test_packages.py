# SPDX-License-Identifier: Apache-2.0
"""The packages can be built without a network, and work as built."""

import ast
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

from conftest import PACKAGE, TREE

JAVASCRIPT = TREE / "clients" / "javascript"
BUILD = ("import sys; sys.path.insert(0, sys.argv[1])\n"
         "import backend; print(backend.{0}(sys.argv[2]))")


def build(kind, place):
    done = subprocess.run([sys.executable, "-c", BUILD.format(kind), PACKAGE, place],
                          capture_output=True, text=True, check=True)
    return place / done.stdout.strip()


def test_wheel(tmp_path):
    wheel = build("build_wheel", tmp_path)
    assert wheel.name == "brig-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        sources = {f"brig/{path.name}" for path in (PACKAGE / "brig").glob("*.py")}
        assert sources | {"brig/py.typed"} == {name for name in names if name.startswith("brig/")}
        record = archive.read("brig-0.1.0.dist-info/RECORD").decode().splitlines()
        for row in record[:-1]:
            name, digest, size = row.split(",")
            data = archive.read(name)
            own = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={own}", len(data))
        assert {row.split(",")[0] for row in record} == names
        assert "Requires-Dist" not in archive.read("brig-0.1.0.dist-info/METADATA").decode()
    # A wheel is a zip that Python can import from.
    code = "import brig; print(brig.__file__, brig.execute_code('print(6 * 7)').stdout)"
    done = subprocess.run([sys.executable, "-I", "-c",
                           f"import sys; sys.path.insert(0, {str(wheel)!r}); {code}"],
                          capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"{wheel}/brig/__init__.py", "42"]
    again = tmp_path / "again"
    again.mkdir()
    assert build("build_wheel", again).read_bytes() == wheel.read_bytes()


def test_sdist_builds_the_same_wheel(tmp_path):
    shutil.unpack_archive(build("build_sdist", tmp_path), tmp_path)
    place = tmp_path / "out"
    place.mkdir()
    words = [sys.executable, "-c", BUILD.format("build_wheel"), tmp_path / "brig-0.1.0", place]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    own = build("build_wheel", tmp_path)
    assert (place / done.stdout.strip()).read_bytes() == own.read_bytes()


def test_python_needs_nothing_and_is_old_enough():
    for path in sorted((PACKAGE / "brig").glob("*.py")):
        tree = ast.parse(path.read_text(), feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                assert node.returns is not None, f"{path.name}: {node.name} has no type"
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in names:
                known = name.split(".")[0] in sys.stdlib_module_names
                # Only for type checkers.
                assert known or name == "typing_extensions", f"{path.name}: {name}"


def test_versions_are_the_same():
    said = re.search(r'BRIG_VERSION "([^"]+)"', (TREE / "include/brig/brig.h").read_text()).group(1)
    assert f'version = "{said}"' in (PACKAGE / "pyproject.toml").read_text()
    assert f'__version__ = "{said}"' in (PACKAGE / "brig/__init__.py").read_text()
    assert json.loads((JAVASCRIPT / "package.json").read_text())["version"] == said


def test_npm_pack(tmp_path):
    env = dict(os.environ, npm_config_cache=str(tmp_path / "cache"), HOME=str(tmp_path),
               npm_config_offline="true", npm_config_update_notifier="false")
    done = subprocess.run(["npm", "pack", "--json", "--pack-destination", tmp_path, JAVASCRIPT],
                          env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    packed = json.loads(done.stdout)[0]
    names = {item["path"] for item in packed["files"]}
    sources = {f"lib/{path.name}" for path in (JAVASCRIPT / "lib").iterdir()}
    assert names == sources | {"index.js", "index.mjs", "index.d.ts", "index.d.mts", "package.json",
                               "README.md", "LICENSE"}
    shutil.unpack_archive(tmp_path / packed["filename"], tmp_path / "x", "gztar")
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (tmp_path / "x" / "package").rename(modules / "brig")
    for name, text in {"a.mjs": "import { executeCode } from 'brig';\n",
                       "b.cjs": "const { executeCode } = require('brig');\n"}.items():
        text += "executeCode('print(6 * 7)').then((result) => console.log(result.text));"
        (tmp_path / name).write_text(text)
        env = dict(os.environ, HOME=str(tmp_path))
        done = subprocess.run(["node", name], cwd=tmp_path, env=env, capture_output=True, text=True,
                              check=True)
        assert done.stdout == "42\n"
