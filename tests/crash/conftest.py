# SPDX-License-Identifier: Apache-2.0
"""Files that have to be a minute old before a check: made at the start, checked at the end."""

import os
import subprocess
import time

import pytest

BRIG = os.path.abspath(os.environ.get("BRIG", "build/brig"))
PATIENCE_S = 30


@pytest.fixture(scope="session", autouse=True)
def abandoned(tmp_path_factory):
    """The temporary directory of a local run that was killed; no other test has used it."""
    place = tmp_path_factory.mktemp("abandoned")
    brig = subprocess.Popen([BRIG, "run", "--policy", "open", "--yes", "--timeout", "60s", "--",
                             "/bin/sleep", "1000"], env={**os.environ, "TMPDIR": str(place)},
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while not list(place.iterdir()):
        assert brig.poll() is None and time.monotonic() < deadline, "it has made no directory"
        time.sleep(0.005)
    brig.kill()
    brig.wait()
    return place
