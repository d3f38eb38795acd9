# SPDX-License-Identifier: Apache-2.0
"""The program from outside: a way to run it, and the schema that every result must match."""

import json
import os
import subprocess

import jsonschema
import pytest

BRIG = os.environ.get("BRIG", "build/brig")


def run_brig(*args, stdin=b"", timeout=60, **options):
    """Runs brig; bytes in, bytes out."""
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return subprocess.run(
        [BRIG, *args], input=stdin, capture_output=True, timeout=timeout, check=False, **options
    )


@pytest.fixture
def brig():
    return run_brig


@pytest.fixture(scope="session")
def schema():
    text = run_brig("run", "--json-schema").stdout
    schema = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


@pytest.fixture(scope="session")
def result_of(schema):
    """Runs with --json and returns the result, which matches the schema, and the exit status."""
    validator = jsonschema.Draft202012Validator(schema)

    def run(*args, **options):
        done = run_brig("run", "--json", *args, **options)
        assert done.stdout.count(b"\n") == 1, done
        result = json.loads(done.stdout)
        wrong = [error.message for error in validator.iter_errors(result)]
        assert not wrong, (wrong, result)
        return result, done.returncode

    return run


@pytest.fixture(scope="session")
def error_of(schema):
    """Runs a command line that must fail; returns the error, in both forms, and the status."""
    failure = dict(schema, **{"$ref": "#/$defs/failure"})
    for key in ("properties", "required", "additionalProperties", "type"):
        failure.pop(key, None)
    validator = jsonschema.Draft202012Validator(failure)

    def run(command, *args, **options):
        as_json = run_brig(command, "--json", *args, **options)
        answer = json.loads(as_json.stdout)
        assert validator.is_valid(answer), answer
        assert as_json.stderr == b""
        as_text = run_brig(command, *args, **options)
        assert as_text.returncode == as_json.returncode
        assert as_text.stdout == b""
        lines = as_text.stderr.decode().splitlines()
        error = answer["error"]
        assert lines[0] == "brig: " + error["message"]
        assert lines[1:] == (["  " + error["remedy"]] if error["remedy"] else [])
        return error, as_json.returncode

    return run
