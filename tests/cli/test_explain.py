# SPDX-License-Identifier: Apache-2.0
"""brig explain: the plan of a run, for people and programs."""

import json
import re

import pytest


def steps_of(brig, *args):
    done = brig("explain", "--json", *args)
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def test_text(brig):
    done = brig("explain", "-c", "print(1)")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    steps = [line for line in lines if re.match(r" *\d+  (warden|init|payload) ", line)]
    assert [int(line.split()[0]) for line in steps] == list(range(1, len(steps) + 1))
    assert steps[-1].split()[1:3] == ["init", "start"]
    assert any("/sandbox/code.py" in line for line in steps)


def test_json(brig):
    plan = steps_of(brig, "-c", "print(1)")
    assert plan["policy"] == "default"
    assert plan["provider"] == "native"
    assert plan["compile"] is None
    names = [step["step"] for step in plan["program"]["steps"]]
    for name in ("clone", "mount.root", "mount.pivot", "caps", "no_new_privs", "seccomp", "exec"):
        assert name in names
    # No sealing step comes after exec in the payload's own steps.
    payload = [s["step"] for s in plan["program"]["steps"] if s["actor"] == "payload"]
    assert payload[-1] == "exec"
    assert payload.index("no_new_privs") < payload.index("seccomp")


@pytest.mark.parametrize("args", [["-c", "print(1)"], ["--", "/bin/true"], ["--lang", "c", "-c", "int main(void){}"]])
def test_same_every_time(brig, args):
    first = brig("explain", *args).stdout
    assert first == brig("explain", *args).stdout
    assert first


def test_nothing_runs(brig, tmp_path):
    (tmp_path / "d").mkdir(mode=0o777)
    brig("explain", "--ro", str(tmp_path.resolve() / "d"), "-c", "open('/mnt/d/x','w')")
    assert not (tmp_path / "d" / "x").exists()


def test_options_show(brig, tmp_path):
    (tmp_path / "data").write_text("12345")
    plan = steps_of(
        brig, "--in", f"in/data={tmp_path / 'data'}", "--open-files", "33", "-c", "x", "--", "arg"
    )
    steps = plan["program"]["steps"]
    assert any(s["step"] == "input" and s["what"] == "/sandbox/in/data (5 bytes)" for s in steps)
    assert any(s["step"] == "rlimit" and s["what"] == "nofile=33" for s in steps)
    exec_step = next(s for s in steps if s["step"] == "exec")
    assert exec_step["what"].endswith("/sandbox/code.py arg")


def test_compiled_language_has_two_cells(brig):
    plan = steps_of(brig, "--lang", "c", "-c", "int main(void) { return 0; }")
    assert len(plan["compile"]["steps"]) > 20
    assert len(plan["program"]["steps"]) > 20


def test_time(brig):
    plan = steps_of(brig, "--time", "-c", "print(1)")
    took = [step["took_ns"] for step in plan["program"]["steps"]]
    assert sum(took) > 10000
    done = brig("explain", "--time", "-c", "print(1)")
    assert b" us   1  warden" in done.stdout
    # The program's own output is not part of the plan.
    assert b"\n1\n" not in done.stdout


def test_time_of_a_compiled_program(brig):
    plan = steps_of(brig, "--time", "--lang", "c", "-c", "int main(void) { return 0; }")
    assert any(s["step"] == "input" for s in plan["program"]["steps"])


def test_local_policy(brig):
    plan = steps_of(brig, "--policy", "open", "--yes", "-c", "print(1)")
    assert plan["provider"] == "local"
    assert plan == steps_of(brig, "--policy", "open", "--yes", "-c", "print(1)")


def rule_of(plan, name, value=None):
    return next(r for r in plan["rules"] if r["rule"] == name and value in (None, r["value"]))


def test_rules(brig):
    plan = steps_of(brig, "--memory", "1G", "-c", "x")
    steps = {step["number"]: step for step in plan["program"]["steps"]}
    memory, disk = rule_of(plan, "limits.memory"), rule_of(plan, "limits.disk")
    assert memory["value"] == "1G" and memory["asked"] and memory["origin"]["key"] == "ceiling.memory"
    assert not disk["asked"] and disk["place"].startswith("built-in policy default, line ")
    assert [steps[n]["step"] for n in disk["steps"]] == ["mount.root"]
    assert [steps[n]["what"] for n in rule_of(plan, "limits.open_files")["steps"]] == ["nofile=256"]
    assert [steps[n]["step"] for n in rule_of(plan, "syscalls", "@file")["steps"]] == ["seccomp"]
    assert rule_of(plan, "network.allow")["value"] == "none"
    assert rule_of(plan, "runtimes")["value"] == "python"
    text = brig("explain", "--memory", "1G", "-c", "x").stdout.decode()
    assert re.search(r"(?m)^limits\.memory +1G +requested, within built-in policy default, line \d+", text)


def test_rules_name_the_file(brig, tmp_path):
    data = tmp_path.resolve() / "data"
    data.mkdir()
    (tmp_path / "policies").mkdir()
    mine = tmp_path / "policies" / "mine.json"
    mine.write_text(json.dumps({
        "extends": "default", "limits": {"memory": "128M"},
        "mounts": [{"name": "data", "path": str(data), "mode": "ro"}],
        "network": {"allow": ["a.example", "b.example:443"], "caller": "local"},
        "guard": {"mode": "imports", "allowed_modules": ["json"]}}, indent=1))
    for path in (tmp_path, tmp_path / "policies", mine):
        path.chmod(path.stat().st_mode & ~0o022)
    args = ["--config", str(tmp_path), "--policy", "mine", "--ro", "data", "-c", "x"]
    plan = steps_of(brig, *args)
    lines = mine.read_text().splitlines()
    for name, value, text in (("limits.memory", "128M", '"memory"'), ("mounts", None, "{"),
                              ("network.allow", "b.example:443", '"b.example:443"'),
                              ("guard.mode", "imports", '"mode": "imports"'),
                              ("guard.allowed_modules", "json", '"json"')):
        rule = rule_of(plan, name, value)
        assert rule["origin"]["name"] == str(mine), rule
        assert text in lines[rule["origin"]["line"] - 1], rule
    # Inherited from the extended policy.
    assert rule_of(plan, "limits.wall")["origin"] == dict(
        rule_of(steps_of(brig, "-c", "x"), "limits.wall")["origin"])
    # Requested: the gate's steps belong to it.
    plan = steps_of(brig, *args[:4], "--net", "c.example", "--guard", "strict", "-c", "x")
    rule = rule_of(plan, "network.caller")
    assert rule["value"] == "c.example:80,443" and rule["asked"] and rule["steps"]
    assert rule_of(plan, "guard.mode")["asked"]
