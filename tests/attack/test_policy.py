# SPDX-License-Identifier: Apache-2.0
"""Y1 to Y6: no way around the policy by names, files, environment, compilers or languages."""

import json
import os
import pathlib
import shutil

import harness
import pytest
from aftermath import gone

INJECTIONS = {"LD_PRELOAD": "/tmp/evil.so", "LD_LIBRARY_PATH": "/tmp", "LD_AUDIT": "/tmp/evil.so",
              "PYTHONPATH": "/tmp", "PYTHONSTARTUP": "/tmp/evil.py", "PYTHONHOME": "/tmp",
              "NODE_OPTIONS": "--require /tmp/evil.js", "GCONV_PATH": "/tmp",
              "BASH_ENV": "/tmp/evil.sh", "ENV": "/tmp/evil.sh", "IFS": "x", "PERL5OPT": "-d",
              "RUBYOPT": "-revil", "JAVA_TOOL_OPTIONS": "-javaagent:evil", "LOCPATH": "/tmp",
              "MALLOC_TRACE": "/tmp/trace", "TMPDIR": "/nowhere", "HOME": "/nowhere",
              "BRIG_POLICY": "open", "BRIG_CONFIG": "/tmp", "GLIBC_TUNABLES": "glibc.x=1",
              "SECRET_TOKEN": "TOP SECRET", "AWS_SECRET_ACCESS_KEY": "TOP SECRET"}


def test_y1_environment(attack):
    """No variable of the caller's environment changes brig, and none gets in by default."""
    run = gone(attack.cell("y1_seen", env={**os.environ, **INJECTIONS}))
    seen = json.loads(run["env"])
    assert run.result["status"] == "ok" and run["injected"] == "False"
    assert run.result["policy"].startswith("default@")
    assert run.result["provider"] == "native"
    for name, value in INJECTIONS.items():
        assert seen.get(name) != value, name
    plain = json.loads(attack.cell("y1_seen", env={"PATH": "/bin"})["env"])
    assert seen == plain
    # Control: a plain program gets all of it.
    env = {**os.environ, **INJECTIONS}
    for name in ("LD_PRELOAD", "LD_AUDIT", "PYTHONHOME", "GCONV_PATH", "HOME", "TMPDIR"):
        env.pop(name)
    assert json.loads(attack.bare("y1_seen", env=env)["env"])["SECRET_TOKEN"] == "TOP SECRET"


def test_y1_asked_for(attack):
    """Requested variables go only to the program; those that change how programs load
    are refused."""
    env = {**os.environ, **INJECTIONS}
    run = gone(attack.cell("y1_seen", options=["--env", "SECRET_TOKEN"], env=env))
    assert json.loads(run["env"])["SECRET_TOKEN"] == "TOP SECRET"
    assert run.result["layers"] == attack.cell("y1_seen").result["layers"]
    refused = attack.cell("y1_seen", options=["--env", "LD_PRELOAD=/sandbox/x.so"], check=False)
    if "error" in refused.result:
        assert refused.result["error"]["code"] == "policy"
    else:
        assert refused.result["layers"] == run.result["layers"]


def test_y1_dashes(attack, tmp_path):
    """Names and arguments that look like options stay names and arguments."""
    run = gone(attack.cell("y1_seen", "--policy", "open", "-c", "--json", "--", "--rw=/"))
    assert json.loads(run["argv"]) == ["--policy", "open", "-c", "--json", "--", "--rw=/"]
    assert run.result["policy"].startswith("default@")
    for name in ("-c.py", "--policy=open.py", "-.py"):
        file = tmp_path / name
        file.write_text("import sys; print('arguments=%d' % len(sys.argv))")
        run = gone(attack.brig(f"./{name}"))
        assert (run.result["status"], run["arguments"]) == ("ok", "1"), name
        done = harness.execute([harness.BRIG, "run", "--json", name], tmp_path)
        assert done.returncode == 2 or json.loads(done.stdout).get("policy", "").startswith("def")


def wide():
    """A policy that would open everything, as text."""
    return json.dumps({"extends": "open", "auto_run": "yes", "provider": "local"})


def test_y2_planted_policies(attack, tmp_path):
    """Policies where a payload or a repository could put them are ignored."""
    home = tmp_path / "home"
    for place in (tmp_path, tmp_path / "policies", tmp_path / ".brig", tmp_path / ".brig/policies",
                  tmp_path / ".config/brig/policies", home / ".brig/policies", home / "policies"):
        place.mkdir(parents=True, exist_ok=True)
        for name in ("default.json", "default", "brig.json", "policy.json", "planted.json"):
            (place / name).write_text(wide())
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
           "XDG_CONFIG_DIRS": str(home / ".config")}
    run = gone(attack.brig("--", "/bin/true", env=env))
    plain = attack.brig("--", "/bin/true")
    assert run.result["policy"] == plain.result["policy"]
    assert run.result["provider"] == "native"
    refused = attack.brig("--policy", "planted", "--", "/bin/true", env=env, check=False)
    assert refused.result["error"]["code"] in ("policy", "input") and refused.status != 0
    # Control: in the directory that the caller names for the operator's files, they are read.
    options = attack.policy("planted", limits={"processes": 7})
    assert attack.brig(*options, "--", "/bin/true").result["limits"]["processes"] == 7


def test_y2_configuration_is_not_written(attack, tmp_path):
    """~/.config/brig is writable for the user: no cell gets it, nor a place to make it in."""
    home = tmp_path / "home"
    policies = home / ".config/brig/policies"
    policies.mkdir(parents=True)
    (home / "work").mkdir()
    env = {**os.environ, "HOME": str(home)}
    env.pop("XDG_CONFIG_HOME", None)
    for place in (home, home / ".config", home / ".config/brig", policies):
        refused = attack.brig("--rw", f"x={place}", "--", "/bin/true", env=env, check=False)
        assert "brig's configuration" in refused.result["error"]["message"], place
        assert attack.brig("--ro", f"x={place}", "--", "/bin/true", env=env).status == 0
    shutil.rmtree(home / ".config")
    refused = attack.brig("--rw", f"x={home}", "--", "/bin/true", env=env, check=False)
    assert "brig's configuration" in refused.result["error"]["message"]
    assert attack.brig("--rw", f"x={home / 'work'}", "--", "/bin/true", env=env).status == 0


def test_y2_configuration_behind_a_link(attack, tmp_path):
    """The target of a link is written to as well, whether brig's directory is there
    already or not."""
    real, home, files = tmp_path / "real", tmp_path / "home", tmp_path / "files"
    for place in (real, files, tmp_path / "work"):
        place.mkdir()
    home.symlink_to(real)
    (real / ".config").symlink_to(files)
    env = {**os.environ, "HOME": str(home)}
    env.pop("XDG_CONFIG_HOME", None)
    refused = attack.brig("--rw", f"x={files}", "--", "/bin/true", env=env, check=False)
    assert "brig's configuration" in refused.result["error"]["message"]
    assert attack.brig("--rw", f"x={tmp_path / 'work'}", "--", "/bin/true", env=env).status == 0
    (real / ".config").unlink()
    refused = attack.brig("--rw", f"x={real}", "--", "/bin/true", env=env, check=False)
    assert "brig's configuration" in refused.result["error"]["message"]


def test_y2_configuration_that_is_not_there_yet(attack, tmp_path):
    """The directory of another environment, a dangling link, and each link on the way: a policy
    could be put into each of them. So could programs into the cache, which the next run would use.
    """
    home, other, away = tmp_path / "home", tmp_path / "other", tmp_path / "away"
    for place in (home / ".config", other, away / "deep"):
        place.mkdir(parents=True)
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(other),
           "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def refused(place, what):
        run = attack.brig("--rw", f"x={place}", "--", "/bin/true", env=env, check=False)
        return f"brig's {what} is in it" in run.result.get("error", {}).get("message", "")

    assert refused(home / ".config", "configuration") and refused(other, "configuration")
    (other / "brig").symlink_to(away / "link")
    assert refused(away, "configuration") and not refused(away / "deep", "configuration")
    (away / "link").symlink_to(away / "deep" / "brig")
    assert refused(away, "configuration") and refused(away / "deep", "configuration")
    (away / "deep" / "brig").mkdir()
    assert refused(away, "configuration") and refused(away / "deep", "configuration")
    for place in (home / ".cache/brig", tmp_path / "cache/brig"):
        place.mkdir(parents=True, exist_ok=True)
        assert refused(place, "cache") and refused(place.parent, "cache")
    # Control: directories without files of brig are allowed.
    (home / "work").mkdir()
    assert attack.brig("--rw", f"x={home / 'work'}", "--", "/bin/true", env=env).status == 0


@pytest.mark.user
def test_y2_configuration_that_others_write(attack, tmp_path):
    """Files of the user's configuration that others could have written are refused, not read."""
    policies = tmp_path / "home/.config/brig/policies"
    policies.mkdir(parents=True)
    (policies / "default.json").write_text('{"extends": "default", "limits": {"wall": "7s"}}')
    env = {**os.environ, "HOME": str(tmp_path / "home")}
    env.pop("XDG_CONFIG_HOME", None)
    for place in (policies / "default.json", policies):
        mode = place.stat().st_mode
        place.chmod(0o777)
        refused = attack.brig("--", "/bin/true", env=env, check=False)
        assert refused.result["error"]["code"] == "policy", refused.result
        place.chmod(mode & 0o755)
    assert attack.brig("--", "/bin/true", env=env).result["limits"]["wall_ms"] == 7000


def test_y2_next_run(attack, tmp_path):
    """A run that writes a policy into a mounted directory does not change the next run."""
    work = tmp_path / "area"
    work.mkdir()
    work.chmod(0o777)
    code = f"""
import os
os.makedirs('/mnt/area/policies', exist_ok=True)
for name in ('default.json', 'policies/default.json', '.brig.json'):
    open('/mnt/area/' + name, 'w').write({wide()!r})
"""
    assert gone(attack.brig("--rw", work, "--lang", "python", "-c", code)).result["status"] == "ok"
    done = harness.execute([harness.BRIG, "run", "--json", "--rw", work, "--", "/bin/true"], work)
    result = json.loads(done.stdout)
    assert result["provider"] == "native" and result["policy"].startswith("default@")


WRONG = {
    "unknown": '{"extends": "default", "newtork": "none"}',
    "unknown_limit": '{"extends": "default", "limits": {"memroy": "1M"}}',
    "future": '{"extends": "default", "version": 99}',
    "duplicate": '{"extends": "default", "network": "none", "network": "none"}',
    "duplicate_limit": '{"extends": "default", "limits": {"wall": "1s", "wall": "9s"}}',
    "case": '{"extends": "default", "Network": "none"}',
    "number": '{"extends": "default", "limits": {"processes": -1}}',
    "fraction": '{"extends": "default", "limits": {"processes": 1.5}}',
    "huge": '{"extends": "default", "limits": {"memory": 1e999}}',
    "overflow": '{"extends": "default", "limits": {"memory": "99999999999999999999G"}}',
    "unit": '{"extends": "default", "limits": {"memory": "64 parsecs"}}',
    "none_limit": '{"extends": "default", "limits": {"wall": "none"}}',
    "empty_limit": '{"extends": "default", "limits": {"wall": ""}}',
    "star": '{"extends": "default", "limits": {"wall": "*"}}',
    "zero": '{"extends": "default", "limits": {"wall": 0}}',
    "null": '{"extends": "default", "limits": null}',
    "layer": '{"extends": "default", "may_miss": ["*"]}',
    "layer_all": '{"extends": "default", "may_miss": ["seccomp "]}',
    "group": '{"extends": "default", "syscalls": ["@everything"]}',
    "call": '{"extends": "default", "syscalls": ["*"]}',
    "provider": '{"extends": "default", "provider": "none"}',
    "auto": '{"extends": "default", "auto_run": "maybe"}',
    "relative_mount": '{"extends": "default", "mounts": [{"path": "../x", "name": "x"}]}',
    "parent_mount": '{"extends": "default", "mounts": [{"path": "/tmp/../etc", "name": "x"}]}',
    "mount_name": '{"extends": "default", "mounts": [{"path": "/tmp", "name": "../x"}]}',
    "self": '{"extends": "wrong"}',
    "path": '{"extends": "../../etc/passwd"}',
    "trailing": '{"extends": "default"} {"provider": "local"}',
    "array": '["default"]',
    "empty": "",
    "nul": '{"extends": "default\\u0000open"}',
    "deep": "[" * 100000,
}


@pytest.mark.parametrize("name", WRONG)
def test_y3_y4_wrong_policies(attack, name):
    """Unknown, duplicate, misspelt, loose: refused with a position in the file, never ignored."""
    attack.policy("wrong")
    file = attack.dir / "config/policies/wrong.json"
    file.write_text(WRONG[name])
    run = attack.brig("--config", attack.dir / "config", "--policy", "wrong", "--", "/bin/true",
                      check=False)
    assert run.status in (125, 126), run
    error = run.result["error"]
    assert error["code"] == "policy" and "wrong" in error["message"], error


def test_y4_linked_policy(attack, tmp_path):
    """A policy name is a name, not a path to another directory."""
    attack.policy("plain")
    config = attack.dir / "config"
    for name in ("../config/policies/plain", str(config / "policies/plain"), "plain.json", "",
                 ".", "..", "plain\n", "a" * 300):
        run = attack.brig("--config", config, "--policy", name, "--", "/bin/true", check=False)
        assert "error" in run.result and run.status != 0, (name, run)
    assert attack.brig("--config", config, "--policy", "plain", "--", "/bin/true").status == 0


def test_y4_request_only_tightens(attack):
    """A request above the ceiling is refused, not silently reduced."""
    for words in (["--memory", "64G"], ["--timeout", "1h"], ["--processes", 30000],
                  ["--disk", "60G"]):
        run = attack.brig(*words, "--", "/bin/true", check=False)
        assert run.result["error"]["code"] == "policy", run
    for words in (["--memory", "-1"], ["--timeout", "0"], ["--memory", "nan"], ["--cpu", "-1"],
                  ["--timeout", "1e99s"]):
        run = attack.brig(*words, "--", "/bin/true", check=False)
        assert run.result["error"]["code"] == "input" and run.status == 2, run
    assert attack.brig("--memory", "64M", "--", "/bin/true").status == 0


C_WAYS = {
    "shadow": '#include "/etc/shadow"\nint main(void) { return 0; }\n',
    "incbin": '__asm__(".globl x\\nx: .incbin \\"/etc/passwd\\"\\n.byte 0");\n'
              'extern char x[];\n#include <stdio.h>\nint main(void) { puts(x); return 0; }\n',
    "root": '#include "/proc/1/root/etc/passwd"\nint main(void) { return 0; }\n',
    "environ": '__asm__(".globl x\\nx: .incbin \\"/proc/self/environ\\"\\n.byte 0");\n'
               'extern char x[];\n#include <stdio.h>\nint main(void) { puts(x); return 0; }\n',
}


@pytest.mark.parametrize("way", C_WAYS)
def test_y5_compiler(attack, way):
    """The compile step has the same walls: it can read only the cell's files, not the host's."""
    env = {**os.environ, "SECRET_TOKEN": "TOP SECRET"}
    run = attack.brig("--no-cache", "--lang", "c", "-c", C_WAYS[way], env=env)
    text = json.dumps(run.result)
    for line in pathlib.Path("/etc/passwd").read_text().splitlines():
        if not line.startswith(("root:", "nobody:")):
            assert line not in text
    assert "TOP SECRET" not in text
    assert run.result["status"] in ("compile_failed", "ok")
    if way == "incbin" and run.result["status"] == "ok":
        assert "sandbox:x:1000" in run.stdout


def test_y5_compiler_limits(attack):
    """A compiler that does not end, or uses too much, meets its own limits."""
    wall_ms = 2000 * harness.SLOW
    limits = {"wall": f"{wall_ms}ms", "memory": "64M"}
    options = attack.policy("brief", compile={"limits": limits})
    bomb = "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n" \
           'const char *s = B(B(B("x")));\nint main(void) { return 0; }\n'
    hung = '#include "/dev/zero"\nint main(void) { return 0; }\n'
    for code in (bomb, hung):
        run = gone(attack.brig(*options, "--no-cache", "--lang", "c", "-c", code))
        assert run.result["status"] == "compile_failed"
        assert run.result["limits"]["memory_bytes"] == 64 << 20
        assert run.result["usage"]["wall_ms"] < 2 * wall_ms
        assert run.result["verdict"]["limit"] in (None, 64 << 20, wall_ms)
    good = gone(attack.brig(*options, "--no-cache", "--lang", "c", "-c",
                            "int main(void) { return 4; }"))
    assert (good.result["status"], good.result["exit_code"]) == ("failed", 4)


def test_y6_without_language_filter(attack, tmp_path):
    """The escapes from Python-level filters, as plain code: the cell is the boundary."""
    secret = tmp_path / "secret"
    secret.write_text("TOP SECRET")
    secret.chmod(0o644)
    run = gone(attack.cell("y6_pyjail", secret))
    assert len(run.said) == 12
    assert "read" not in run.said.values(), run.said
    control = attack.bare("y6_pyjail", secret)
    assert set(control.said.values()) == {"read"}, control.said


def test_y4_uncounted_memory(attack):
    """Memory that is not counted is not available, even where the policy names the call."""
    options = attack.policy("named", syscalls=["@basic", "@file", "@process", "@thread", "@socket",
                                               "@ipc", "@dangerous", "memfd_create"])
    code = ["--lang", "python", "-c", "import os; os.memfd_create('x')"]
    run = attack.brig(*options, *code, env={**os.environ, "BRIG_NO_CGROUP": "1"})
    assert run.result["status"] == "failed" and "PermissionError" in run.stderr
    assert run.denial["call"] == "memfd_create"
    # A change of the policy does not help, and the result does not suggest one.
    assert "control group" in run.denial["reason"]
    assert "brig doctor" in run.result["verdict"]["operator_remedy"]
    if harness.ROOT:
        assert attack.brig(*options, *code).result["status"] == "ok"
