# SPDX-License-Identifier: Apache-2.0
"""Questions about policies, and runs that show whether the answers are true."""

import json
import os
import subprocess

import pytest

BRIG = os.environ.get("BRIG", "build/brig")


def run_brig(*args, stdin=b"", timeout=60):
    return subprocess.run([BRIG, *map(str, args)], input=stdin, capture_output=True,
                          timeout=timeout, check=False)


@pytest.fixture(scope="session")
def brig():
    return run_brig


@pytest.fixture(scope="session")
def ask():
    """Answers to questions, in their order; the exit status must match them."""

    def ask(*args):
        done = run_brig("policy", "check", "--json", *args)
        assert done.returncode in (0, 1), done
        answers = json.loads(done.stdout)
        assert (done.returncode == 0) == all(a["verdict"] == "allowed" for a in answers), done
        return answers

    return ask


@pytest.fixture(scope="session")
def verdicts(ask):
    def verdicts(*args):
        return [answer["verdict"] for answer in ask(*args)]

    return verdicts


@pytest.fixture(scope="session")
def result():
    """The outcome of a run; an error of brig itself is its code."""

    def result(*args, **options):
        done = run_brig("run", "--json", *args, **options)
        return json.loads(done.stdout)

    return result


@pytest.fixture(scope="session")
def config(tmp_path_factory):
    """A configuration directory with these policies."""

    def config(**policies):
        place = tmp_path_factory.mktemp("config")
        (place / "policies").mkdir()
        for name, text in policies.items():
            file = place / "ceiling.json" if name == "ceiling" else place / "policies" / f"{name}.json"
            file.write_text(text if isinstance(text, str) else json.dumps(text, indent=1))
        for path in (place, place / "policies", *place.rglob("*.json")):
            path.chmod(path.stat().st_mode & ~0o022)
        return place

    return config
