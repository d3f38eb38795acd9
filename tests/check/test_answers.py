# SPDX-License-Identifier: Apache-2.0
"""The parts of an answer: the line that decides, the reason, the condition, the repair."""

import json
import os
import pathlib
import re

import pytest

TREE = pathlib.Path(os.environ.get("BRIG_TREE", "."))


def line_of(path, text):
    lines = (TREE / path).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if re.search(text, line))


@pytest.mark.parametrize("question, path, text", [
    (("--call", "ptrace"), "data/syscalls/dangerous.rules", r"^ptrace\b"),
    (("--call", "socket(AF_INET, SOCK_STREAM)"), "data/syscalls/socket.rules", r"^socket .*\| TCP"),
    (("--call", "read"), "data/syscalls/basic.rules", r"^read\b"),
    (("--limit", "memory=8G"), "data/policies/default.json", '"memory": "4G"'),
    (("--env", "X"), "data/policies/default.json", '"env":'),
    (("--net", "example.org"), "data/policies/default.json", '"caller": "local"'),
    (("--exec", "/tmp/x"), "data/policies/default.json", '"exec_writable"'),
    (("--write", "/tmp/x"), "data/policies/default.json", '"disk": "64M"'),
    (("--language", "python"), "data/policies/default.json", '"runtimes"'),
    (("--module", "os"), "data/policies/default.json", '"guard"'),
])
def test_built_in_lines(ask, question, path, text):
    answer = ask(*question)[0]
    assert answer["origin"]["line"] == line_of(path, text), answer
    number = str(answer["origin"]["line"])
    if path.endswith(".rules"):
        name = pathlib.Path(path).name
        assert answer["place"] == f"@{name[:-6]}, {name} line {number}"
    else:
        assert answer["place"] == f"built-in policy default, line {number}"


OWN = """{
	// what is extended says the rest
	"extends": "default",
	"ceiling": { "memory": "1G" },
	"network": {
		"allow": ["good.example",
			"local:10.0.0.0/8:80"],
		"caller": "none"
	},
	"syscalls": ["@basic", "@file", "@process", "@thread",
		"-personality"],
	"guard": { "mode": "strict",
		"allowed_modules": ["json", "numpy"] }
}
"""


@pytest.mark.parametrize("question, verdict, line", [
    (("--limit", "memory=2G"), "refused", 4),
    (("--net", "good.example"), "allowed", 6),
    (("--net", "10.1.2.3:80"), "allowed", 7),
    (("--net", "10.1.2.3:81"), "refused", 6),
    (("--net", "other.example"), "refused", 6),
    (("--call", "personality(0)"), "refused", 11),
    (("--call", "ptrace"), "refused", 10),
    (("--module", "json"), "allowed", 13),
    (("--module", "math"), "refused", 13),
    (("--module", "nonesuch"), "refused", 12),
])
def test_lines_of_a_file(ask, tmp_path, question, verdict, line):
    file = tmp_path / "mine.json"
    file.write_text(OWN)
    (tmp_path / "none").mkdir()
    answer = ask(file, "--config", tmp_path / "none", *question)[0]
    assert (answer["verdict"], answer["origin"]["line"]) == (verdict, line), answer
    assert answer["origin"]["name"] == str(file)
    assert answer["place"] == f"{file}:{line}:{answer['origin']['column']}"
    assert answer["policy"] == "mine"
    if verdict == "refused":
        assert answer["repair"], answer


def test_inherited_lines(ask, tmp_path):
    """A setting that a policy omits is the line of the policy that it extends."""
    file = tmp_path / "mine.json"
    file.write_text(OWN)
    for question in (("--limit", "wall=1h"), ("--env", "X"), ("--write", "/tmp/x")):
        answer = ask(file, *question)[0]
        assert answer["origin"]["kind"] == "policy" and answer["origin"]["name"] == "default"


def test_operators_ceiling(ask, config):
    place = config(ceiling='{\n "ceiling": { "memory": "100M" },\n "guard": "imports",\n "network": "none" }',
                   own={"extends": "default", "network": {"allow": ["good.example"]}})
    args = ["--config", place, "--policy", "own"]
    memory, wall, net, module = ask(*args, "--limit", "memory=200M", "--limit", "wall=1h",
                                    "--net", "good.example", "--module", "math")
    for answer, line in ((memory, 2), (net, 4), (module, 3)):
        assert answer["origin"]["name"] == f"{place}/ceiling.json", answer
        assert answer["origin"]["line"] == line
    assert memory["verdict"] == net["verdict"] == "refused" and "operator" in memory["repair"]
    assert wall["origin"]["name"] == "default"


def test_guard_tables(ask, config):
    place = config(some={"extends": "default", "guard": "imports"},
                   closed={"extends": "default", "guard": "strict"})
    answer = ask("--config", place, "--policy", "some", "--module", "urllib.request")[0]
    assert answer["origin"]["line"] == line_of("data/guard/modules.json", '"urllib.request"')
    answer = ask("--config", place, "--policy", "closed", "--module", "math")[0]
    assert answer["origin"]["line"] == line_of("data/guard/modules.json", '^\t\t"math": {')


def test_open_arguments(verdicts):
    assert verdicts("--call", "socket", "--call", "socket(AF_ALG, _, _)", "--call",
                    "socket(AF_INET, SOCK_STREAM, _)", "--call", "getpid(_)") == [
        "depends", "refused", "depends", "allowed"]


def test_private_addresses(ask):
    """The repair works."""
    for host in ("10.0.0.1:80", "127.0.0.1:80", "192.168.1.1:22", "[::1]:80", "169.254.169.254:80"):
        refused, allowed = ask("--net", host, "--net", f"local:{host}")
        assert refused["verdict"] == "refused" and f"--net local:{host}" in refused["repair"]
        assert allowed["verdict"] == "allowed" and "local:" in allowed["condition"]
    for host in ("224.0.0.1:80", "0.0.0.0:80", "8.8.8.8:53"):
        assert ask("--net", f"local:{host}")[0]["verdict"] == "refused"


def test_text(brig):
    done = brig("policy", "check", "--policy", "strict", "--call", "ptrace", "--language", "c")
    text = done.stdout.decode()
    assert done.returncode == 1
    assert "refused  call ptrace\n         @dangerous, dangerous.rules line " in text
    assert "to allow it: in a policy of your own that extends strict" in text
    assert "c is not in the list" in text


@pytest.mark.parametrize("args, words", [
    (["--call", "pttrace"], "ptrace"),
    (["--call", "socket(AF_NONESUCH)"], "AF_NONESUCH"),
    (["--call", "socket(1, 2"], ")"),
    (["--call", "socket(1,2,3,4,5,6,7)"], "at most 6"),
    (["--net", "*.example.org"], "more than one host"),
    (["--net", "10.0.0.0/8"], "more than one host"),
    (["--net", "a b"], "not a valid host"),
    (["--net", "example.org:80,444"], "more than one port"),
    (["--net", "example.org:1-9"], "more than one port"),
    (["--read", "relative"], "not an absolute path"),
    (["--limit", "memmory=1G"], "memory"),
    (["--limit", "memory"], "memory=VALUE"),
    (["--limit", "memory=lots"], "lots"),
    (["--limit", "memory=1"], "at least"),
    (["--env", "A=1"], "without a value"),
    (["--module", "os..path"], "not a valid module name"),
    (["--policy", "default"], "missing question"),
    ([str(TREE / "data/policies/default.json"), "--policy", "default", "--env", "A"], "cannot be combined"),
])
def test_bad_questions(brig, args, words):
    done = brig("policy", "check", *args)
    assert done.returncode == 2, done
    assert words in done.stderr.decode()
    as_json = brig("policy", "check", "--json", *args)
    assert as_json.returncode == 2 and json.loads(as_json.stdout)["error"]


def test_other_errors(brig, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{ "extends": "default",\n "limtis": {} }')
    done = brig("policy", "check", bad, "--env", "A")
    assert done.returncode == 1 and f"{bad}:2:" in done.stderr.decode()
    assert brig("policy", "check", "--policy", "nonesuch", "--env", "A").returncode == 126
    assert brig("policy", "check", "--language", "klingon").returncode == 127


def test_validation_stays(brig, tmp_path):
    good = tmp_path / "good.json"
    good.write_text('{ "extends": "default" }')
    done = brig("policy", "check", good)
    assert (done.returncode, done.stdout.decode()) == (0, f"{good}: ok\n")
    # With a directory of policies, those can be extended, and its rules for mounts apply.
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "base.json").write_text('{ "extends": "strict" }')
    child = tmp_path / "child.json"
    child.write_text('{ "extends": "good" }')
    assert brig("policy", "check", child).returncode == 1
    (tmp_path / "policies" / "good.json").write_text((TREE / "data/policies/default.json").read_text())
    for path in (tmp_path, tmp_path / "policies", *tmp_path.rglob("*.json")):
        path.chmod(path.stat().st_mode & ~0o022)
    assert brig("policy", "check", child, "--config", tmp_path).returncode == 0


def test_stdin(brig):
    done = brig("policy", "check", "-", "--json", "--env", "LD_PRELOAD",
                stdin=b'{ "extends": "default",\n"env": { "allow": ["LD_PRELOAD"] } }')
    assert done.returncode == 0, done
    assert json.loads(done.stdout)[0]["place"].startswith("stdin:2:")


def test_nothing_runs(brig, tmp_path):
    """Not even the version of a runtime is queried more than by a run."""
    marker = tmp_path / "marker"
    done = brig("policy", "check", "--exec", f"/bin/sh -c 'touch {marker}'", "--write", str(marker))
    assert done.returncode == 1
    assert not marker.exists()


def test_paths_that_try(ask):
    """No bypass by dots, links or lengths."""
    paths = ["/sandbox/../../etc/x", "/tmp/./../usr/bin/x", "/proc/self/root/usr/bin/x",
             "/proc/self/cwd/../etc/x", "/dev/fd/../../../etc/x", "/bin/../etc/x",
             "/" + "a" * 255, "/" + "a/" * 2000, "/" + "a" * 300, "/sandbox/" + "../" * 1000 + "x"]
    for path in paths:
        assert ask("--write", path)[0]["verdict"] == "refused", path
    assert ask("--write", "/proc/self/cwd/x")[0]["verdict"] == "allowed"


def test_many_questions(ask):
    answers = ask(*["--env", "A"] * 200, *["--read", "/etc/passwd"] * 200)
    assert len(answers) == 400
