# SPDX-License-Identifier: Apache-2.0
"""The client for Node: its own tests, against the same services."""

import json
import os
import subprocess

import pytest
from conftest import HERE


@pytest.mark.parametrize("name", ["runs", "older", "hostile"])
def test_node(services, name, tmp_path):
    env = dict(os.environ, DOORS=json.dumps(services.doors), HOME=str(tmp_path),
               XDG_STATE_HOME=str(tmp_path), XDG_RUNTIME_DIR=str(tmp_path))
    words = ["node", "--test", "--test-reporter=tap", HERE / "node" / f"{name}.test.mjs"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "# fail 0" in done.stdout and "# pass 0" not in done.stdout
