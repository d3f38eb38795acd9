# SPDX-License-Identifier: Apache-2.0
"""A virtualenv is a runtime like any other: one file, and it can be cloned as well."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import pytest

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
PYTHON = pathlib.Path("/usr/bin/python3").resolve()


@pytest.fixture
def venv():
    # Not in /tmp, which every cell has for itself.
    place = pathlib.Path(tempfile.mkdtemp(prefix="brig-test-", dir="/opt"))
    place.chmod(0o755)
    library = place / "lib" / PYTHON.name / "site-packages"
    library.mkdir(parents=True)
    (library / "ownmodule.py").write_text("WHO = 'the virtualenv'\n")
    (place / "bin").mkdir()
    (place / "bin/python3").symlink_to(PYTHON)
    (place / "pyvenv.cfg").write_text(f"home = {PYTHON.parent}\n"
                                      "include-system-site-packages = false\n")
    yield place
    shutil.rmtree(place)


@pytest.mark.root
def test_virtualenv(venv, tmp_path):
    (tmp_path / "runtimes").mkdir()
    (tmp_path / "runtimes/venv.json").write_text(json.dumps({
        "extensions": ["vpy"], "source": "code.vpy", "program": [str(venv / "bin/python3")],
        "run": {"argv": ["{program}", "{source}", "{args}"],
                "env": {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}},
        "closure": ["@libs", "@locale", str(venv), str(PYTHON), f"/usr/lib/{PYTHON.name}"],
        "warm": {"template": True, "preload": ["json", "ownmodule", "no_such_module"]}}))
    code = "import sys, ownmodule; print(sys.prefix, sys.executable, ownmodule.WHO)"
    for start in ("cold", "warm"):
        done = subprocess.run([BRIG, "run", "--config", tmp_path, "--lang", "venv", "--json",
                               "--start", start, "-c", code], capture_output=True, timeout=60,
                              stdin=subprocess.DEVNULL, check=False)
        result = json.loads(done.stdout)
        assert result["start"] == start, result
        assert re.fullmatch(rf"{venv} {venv}/bin/python3 the virtualenv\n", result["stdout"]), result
