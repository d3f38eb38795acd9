# SPDX-License-Identifier: Apache-2.0
"""brig policy: list, show, check."""

import json
import os

import pytest


@pytest.fixture
def config(tmp_path):
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "mine.json").write_text('{ "extends": "default", "description": "my own" }')
    (tmp_path / "policies" / "broken.json").write_text('{ "nonsense": 1 }')
    return str(tmp_path)


def test_list(brig):
    names = [line.split()[0] for line in brig("policy", "list").stdout.decode().splitlines()]
    assert {"default", "strict", "open"} <= set(names)
    assert brig("policy").stdout == brig("policy", "list").stdout


def test_list_has_the_operators(brig, config):
    done = brig("policy", "list", "--json", "--config", config)
    policies = {p["name"]: p for p in json.loads(done.stdout)["policies"]}
    assert policies["mine"]["valid"] and policies["mine"]["description"] == "my own"
    assert not policies["broken"]["valid"]
    assert "nonsense" in policies["broken"]["description"]
    assert policies["default"]["valid"]


@pytest.mark.parametrize("name", ["default", "strict", "open"])
def test_show(brig, name):
    text = brig("policy", "show", name)
    assert text.returncode == 0
    assert f"name              {name}\n".encode() in text.stdout
    policy = json.loads(brig("policy", "show", name, "--json").stdout)
    assert policy["name"] == name
    assert policy["limits"]["memory_bytes"] <= policy["ceiling"]["memory_bytes"]
    assert (policy["auto_run"] == "ask") == (name == "open")


def test_show_is_what_runs_get(brig, result_of):
    policy = json.loads(brig("policy", "show", "default", "--json").stdout)
    result, _ = result_of("-c", "print(1)")
    assert result["limits"] == policy["limits"]
    assert result["policy"] == f"default@sha256:{policy['sha256']}"


def test_check(brig, tmp_path):
    good = tmp_path / "good.json"
    good.write_text('{ "extends": "default", "limits": { "wall": "5s" } }')
    done = brig("policy", "check", str(good))
    assert (done.returncode, done.stdout) == (0, f"{good}: ok\n".encode())
    assert json.loads(brig("policy", "check", "--json", str(good)).stdout)["valid"]


@pytest.mark.parametrize(
    "text, where",
    [
        ('{\n "limits": { "memory": "many" } }', "2:"),
        ('{ "limitz": {} }', "1:3"),
        ("[]", "1:1"),
        ("{", "1:"),
        ("", None),
        ('{ "limits": {}, "limits": {} }', None),
        ('{ "limits": { "memory": "1G" }, "ceiling": { "memory": "1M" } }', None),
    ],
)
def test_check_finds(brig, tmp_path, text, where):
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    done = brig("policy", "check", str(bad))
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"brig: ")
    assert where is None or f":{where}".encode() in done.stderr, done.stderr
    as_json = brig("policy", "check", "--json", str(bad))
    assert as_json.returncode == 1
    assert json.loads(as_json.stdout)["error"]["message"]


def test_check_stdin(brig):
    assert brig("policy", "check", "-", stdin='{ "extends": "default" }').returncode == 0
    assert brig("policy", "check", "-", stdin="{").returncode == 1


def test_check_of_nothing(brig, tmp_path):
    done = brig("policy", "check", str(tmp_path / "none.json"))
    assert done.returncode == 1
    assert b"none.json" in done.stderr


def test_check_of_too_much(brig, tmp_path):
    big = tmp_path / "big.json"
    big.write_text('{ "extends": "default" }' + " " * (1 << 20))
    done = brig("policy", "check", str(big))
    assert done.returncode == 1 and b"big.json has more than 1048576 bytes" in done.stderr
    done = brig("policy", "check", "-", stdin=big.read_text())
    assert done.returncode == 1 and b"stdin has more than 1048576 bytes" in done.stderr


def test_options_in_front_of_the_action(brig, config):
    """Their values are not taken for the action, of whichever action they are."""
    question = ("--call", "ptrace")
    behind = brig("policy", "check", "--policy", "strict", *question)
    assert behind.returncode == 1 and b"ptrace" in behind.stdout
    for words in (("--policy", "strict", "check", *question),
                  ("--policy", "strict", *question, "check"),
                  (*question, "--json", "check", "--policy=strict"),
                  ("--policy=strict", "check", *question)):
        done = brig("policy", *words)
        assert done.returncode == 1 and b"ptrace" in done.stdout, (words, done)
    assert b"my own" in brig("policy", "--config", config, "show", "mine").stdout
    done = brig("policy", "--lang", "python", "-c", "print(1)", "--no-verify", "learn")
    assert done.returncode == 0 and b'"syscalls"' in done.stdout
    assert b"unknown action 'chek'" in brig("policy", "--policy", "strict", "chek").stderr
    assert brig("policy", "--policy").returncode == 2


@pytest.mark.user
def test_a_config_of_the_users_own(brig, tmp_path):
    """$XDG_CONFIG_HOME/brig, else ~/.config/brig, takes precedence over /etc/brig."""
    home = tmp_path / "home"
    policies = home / ".config" / "brig" / "policies"
    policies.mkdir(parents=True)
    for folder in (home / ".config", home / ".config" / "brig", policies):
        folder.chmod(0o755)
    (policies / "mine.json").write_text('{"extends": "default", "limits": {"wall": "7s"}}')
    (policies / "mine.json").chmod(0o644)
    env = dict(os.environ, HOME=str(home))
    env.pop("XDG_CONFIG_HOME", None)
    done = brig("run", "--json", "--policy", "mine", "-c", "1", env=env)
    assert json.loads(done.stdout)["limits"]["wall_ms"] == 7000
    assert b"mine" in brig("policy", "list", env=env).stdout
    env = dict(os.environ, HOME="/nonexistent", XDG_CONFIG_HOME=str(home / ".config"))
    assert b"mine" in brig("policy", "list", env=env).stdout


@pytest.mark.root
def test_root_has_no_config_of_its_own(brig, tmp_path):
    """Programs of root serve the machine: an environment does not choose their policies."""
    (tmp_path / "brig" / "policies").mkdir(parents=True)
    (tmp_path / "brig" / "policies" / "mine.json").write_text('{"extends": "default"}')
    env = dict(os.environ, XDG_CONFIG_HOME=str(tmp_path))
    assert b"mine" not in brig("policy", "list", env=env).stdout
