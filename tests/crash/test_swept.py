# SPDX-License-Identifier: Apache-2.0
"""A local run's directory is removed by a later local run, once it cannot be a new one."""

import os
import subprocess
import time

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
KEPT_S = 61  # a local run's directory without an owner is kept for a minute
LOCAL = [BRIG, "run", "--policy", "open", "--yes", "--", "/bin/true"]


def local_run(place):
    subprocess.run(LOCAL, env={**os.environ, "TMPDIR": str(place)}, check=True, timeout=30,
                   stdin=subprocess.DEVNULL)


def test_local_directories_are_swept(abandoned):
    left = list(abandoned.iterdir())
    assert left and all(path.name.startswith("brig-run-") for path in left)
    newest = max(path.stat().st_ctime for path in left)
    time.sleep(max(0, newest + KEPT_S + 1 - time.time()))
    local_run(abandoned)
    assert not list(abandoned.iterdir())
