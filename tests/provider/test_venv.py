# SPDX-License-Identifier: Apache-2.0
"""Virtualenvs: one meaning with every provider; which of them are refused, and to whom."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import zipfile

import pytest
from conftest import BRIG, POLICIES, write_policy

TREE = pathlib.Path(__file__).parents[2]
PYTHON = pathlib.Path("/usr/bin/python3").resolve()
MINOR = PYTHON.name.removeprefix("python")
# Refused by a policy with system calls: `local` has none.
LOCAL = {"extends": "open"}
CODE = """
import json, os, sys
import ownpackage, by_path
try:
    open(ownpackage.__file__, "a")
    written = True
except OSError:
    written = False
print(json.dumps([sys.prefix, sys.executable, sys.base_prefix != sys.prefix, ownpackage.WHO, by_path.WHO,
                  os.environ["VIRTUAL_ENV"], os.environ["PATH"].split(":")[0], "PYTHONHOME" in os.environ,
                  written]))
"""


def make(place):
    """Made by Python's own module, with a package, a .pth file and a console script by hand."""
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", place], check=True, umask=0o022)
    library = place / "lib" / PYTHON.name / "site-packages"
    (library / "ownpackage").mkdir()
    (library / "ownpackage/__init__.py").write_text("WHO = 'the package'\n")
    (place / "beside").mkdir()
    (place / "beside/by_path.py").write_text("WHO = 'the .pth file'\n")
    (library / "beside.pth").write_text(f"{place}/beside\n")
    script = place / "bin/own-script"
    script.write_text(f"#!{place}/bin/python3\nimport sys, ownpackage\n"
                      "print('script of', ownpackage.WHO, sys.argv[1:])\n")
    for path in [library / "ownpackage", place / "beside", script]:
        path.chmod(0o755)
    return place


@pytest.fixture(scope="module")
def place():
    # Not in /tmp, which every cell has for itself.
    place = pathlib.Path(tempfile.mkdtemp(prefix="brig-test-", dir="/var/tmp"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def venv(place):
    return make(place / "venv")


@pytest.fixture
def own(venv, place):
    """One to spoil."""
    made = shutil.copytree(venv, place / "own", symlinks=True)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def local(of):
    made = of("trusted", LOCAL)
    made.kind = "local"
    return made


def wanted(venv, written=False):
    return [str(venv), f"{venv}/bin/python3", True, "the package", "the .pth file", str(venv),
            f"{venv}/bin", False, written]


def printed(result):
    assert result["status"] == "ok", result
    return json.loads(result["stdout"])


def test_one_meaning(provider, venv):
    result = provider.python(CODE, "--venv", venv)
    assert printed(result) == wanted(venv)
    assert MINOR + "." in result["runtime"], result


def test_local(local, venv):
    """Trusted: it asks first, and has the caller's rights."""
    assert local.refused("--venv", venv, "-c", "1")["code"] == "consent"
    assert printed(local.python(CODE, "--venv", venv, "--yes")) == wanted(venv, written=True)


def test_command(provider, venv):
    result = provider.result("--venv", venv, "--", "own-script", "a")
    assert result["stdout"] == "script of the package ['a']\n", result
    result = provider.result("--venv", venv, "--", "python3", "-c", CODE)
    assert printed(result) == wanted(venv)
    # Another program sees the variables, and starts its programs.
    result = provider.result("--venv", venv, "--", "/bin/sh", "-c", "own-script $VIRTUAL_ENV")
    assert result["stdout"] == f"script of the package ['{venv}']\n", result


def test_local_command(local, venv):
    result = local.result("--venv", venv, "--yes", "--", "own-script", "a")
    assert result["stdout"] == "script of the package ['a']\n", result


def test_nothing_else_is_visible(provider, venv, place):
    """Read-only, and no more than its own directory."""
    (place / "secret").write_text("secret")
    result = provider.python(f"""
import os
print(os.listdir({str(place)!r}))
for path in (os.path.join({str(venv)!r}, "new"), os.path.join({str(place)!r}, "new")):
    try:
        open(path, "w")
        print("written")
    except OSError:
        pass
""", "--venv", venv)
    assert result["stdout"] == "['venv']\n", result
    assert not (venv / "new").exists() and not (place / "new").exists()


def test_relative_and_linked(provider, venv, place):
    link = place / "link"
    if not link.is_symlink():
        link.symlink_to("venv")
    result = provider.python(CODE, "--venv", "./link/", cwd=place)
    assert printed(result)[:2] == [str(link), f"{link}/bin/python3"]


def test_own_base(provider, place):
    """The base is in a directory of its own, as those of pyenv and uv are, behind a link."""
    base = place / "pythons/real"
    if not base.exists():
        (base / "bin").mkdir(parents=True)
        shutil.copy(PYTHON, base / "bin")
        (base / "lib").mkdir()
        (base / "lib" / PYTHON.name).symlink_to(f"/usr/lib/{PYTHON.name}")
        (place / "pythons/link").symlink_to("real")
        subprocess.run([place / "pythons/link/bin" / PYTHON.name, "-m", "venv", "--without-pip",
                        place / "of-base"], check=True, umask=0o022)
    venv = place / "of-base"
    assert f"home = {place}/pythons/link/bin\n" in (venv / "pyvenv.cfg").read_text()
    result = provider.python("import sys, decimal, ssl\nprint(sys.prefix, sys.base_prefix)", "--venv", venv)
    assert result["stdout"] == f"{venv} {place}/pythons/link\n", result
    result = provider.result("--venv", venv, "--", "python3", "-c", "import sys; print(sys.prefix)")
    assert result["stdout"] == f"{venv}\n", result


def hostile(venv, secret, named, linked):
    """As it may come with a project: its base is in it, with a link to the caller's files."""
    base = venv / "base"
    (base / "bin").mkdir(parents=True)
    (base / "lib" / PYTHON.name).mkdir(parents=True)
    shutil.copy(PYTHON, base / "bin" / named)
    if linked == "lib":
        shutil.rmtree(base / "lib")
    (base / linked).symlink_to(secret)
    for name in ("python3", "python"):
        (venv / "bin" / name).unlink()
        (venv / "bin" / name).symlink_to(base / "bin" / named)
    text = (venv / "pyvenv.cfg").read_text()
    (venv / "pyvenv.cfg").write_text(text.replace(f"home = {PYTHON.parent}", f"home = {base}/bin"))


@pytest.mark.parametrize("named, linked", [(PYTHON.name, "lib"), ("data", "lib/data")])
def test_base_with_links_to_others(provider, own, place, named, linked):
    """It shows no more of the host than a standard library: the program is not Python here."""
    secret = place / "private"
    secret.mkdir()
    (secret / "key").write_text("the key")
    hostile(own, secret, named, linked)
    result = provider.result("--venv", own, "--", "/bin/cat", secret / "key")
    shutil.rmtree(secret)
    assert "the key" not in result["stdout"] and "No such file" in result["stderr"], result


def test_library_that_others_can_write(of, place):
    """The standard library is code as the packages are."""
    base, venv = place / "open-base", place / "of-open-base"
    (base / "bin").mkdir(parents=True)
    shutil.copy(PYTHON, base / "bin")
    shutil.copytree(f"/usr/lib/{PYTHON.name}", base / "lib" / PYTHON.name, symlinks=True,
                    ignore=shutil.ignore_patterns("test", "config-*", "__pycache__"))
    subprocess.run([base / "bin" / PYTHON.name, "-m", "venv", "--without-pip", venv], check=True,
                   umask=0o022)
    for path in (base / "lib" / PYTHON.name, base / "lib"):
        assert of("native", POLICIES["native"]).python("1", "--venv", venv)["status"] == "ok"
        path.chmod(0o777)
        for policy in (POLICIES["native"], LOCAL):
            error = of("refusing", policy).refused("--yes", "--venv", venv, "-c", "1")
            assert f"{path} can be written by other users" in error["message"], error
        path.chmod(0o755)


def test_base_that_is_never_shown(of, venv, place, tmp_path):
    venv = shutil.copytree(venv, place / "lost", symlinks=True)
    (tmp_path / "bin").mkdir()
    shutil.copy(PYTHON, tmp_path / "bin")
    for name in ("python3", "python"):
        (venv / "bin" / name).unlink()
        (venv / "bin" / name).symlink_to(tmp_path / "bin" / PYTHON.name)
    error = of("native", POLICIES["native"]).refused("--venv", venv, "-c", "1")
    assert f"{tmp_path}/bin/{PYTHON.name} is never shown to a cell, like all of /" in error["message"], error
    assert "--python" in error["remedy"], error


@pytest.mark.parametrize("start", ["cold", "warm"])
def test_warm(of, venv, start):
    """A pool's interpreters have the packages; a run without a virtualenv does not."""
    native = of("native", POLICIES["native"])
    result = native.python("import sys, ownpackage\n[sys.prefix, ownpackage.WHO]", "--venv", venv,
                           "--start", start, "--value")
    assert (result["start"], result["value"]) == (start, [str(venv), "the package"]), result
    result = native.python("import ownpackage", "--start", start)
    assert "ModuleNotFoundError" in result["stderr"], result


def test_guard(of, venv):
    native = of("native", POLICIES["native"])
    result = native.python("import ownpackage\nprint(ownpackage.WHO)", "--venv", venv, "--guard",
                           "imports")
    assert result["stdout"] == "the package\n", result


# --- the policy decides ---------------------------------------------------------------------------


@pytest.fixture
def listed(of, venv, place):
    """A policy of an operator who allows two by name, and no path of the caller's."""
    policy = {**POLICIES["native"], "caller_mounts": "none", "venv": "usual",
              "venvs": {"usual": str(venv), "gone": str(place / "gone")}}
    return of("listed", policy)


def test_default_of_the_policy(listed, venv):
    assert printed(listed.python(CODE)) == wanted(venv)
    assert printed(listed.python(CODE, "--venv", "usual")) == wanted(venv)
    # It is for Python alone.
    assert listed.bash("echo $VIRTUAL_ENV")["stdout"] == "\n"


@pytest.mark.parametrize("name, code, told", [
    ("other", "policy", "does not allow the caller's virtualenv other"),
    ("{venv}", "policy", "does not allow the caller's virtualenv"),
    ("gone", "input", "gone"),
])
def test_not_listed(listed, venv, name, code, told):
    error = listed.refused("--venv", name.format(venv=venv), "-c", "1")
    assert error["code"] == code and told in error["message"] and error["remedy"], error


@pytest.mark.parametrize("keys, told", [
    ({"venv": "x"}, 'is not in "venvs"'),
    ({"venv": "a b"}, "not a valid name"),
    ({"venvs": {"x": "relative"}}, "must be absolute"),
    ({"venvs": {"x": "/opt/../etc"}}, "/opt/../etc"),
    ({"venvs": {"x": 1}}, "venvs.x"),
    ({"venvs": {"../x": "/opt/x"}}, "not a valid name"),
    ({"venvs": ["/opt/x"]}, "venvs"),
])
def test_bad_policy(of, keys, told):
    error = of("bad-venv", {**POLICIES["native"], **keys}).refused("-c", "1")
    assert error["code"] == "policy" and told in error["message"], error


def test_policies_extend(of, config, venv):
    """Names are merged one by one; an empty default is none."""
    text = (TREE / "data/policies/default.json").read_text()
    keys = json.dumps({"venvs": {"a": "/opt/a", "b": str(venv)}, "venv": "a"})[1:-1]
    write_policy(config, "parent", {})
    (config / "policies/parent.json").write_text(text.replace("{", "{" + keys + ",", 1))
    child = of("child", {"extends": "parent", "venvs": {"a": str(venv)}})
    assert printed(child.python(CODE)) == wanted(venv)
    done = subprocess.run([BRIG, "policy", "show", "child", "--json", "--config", child.config],
                          capture_output=True, check=True)
    shown = json.loads(done.stdout)
    assert (shown["venv"], shown["venvs"]) == ("a", {"a": str(venv), "b": str(venv)})
    none = of("child", {"extends": "parent", "venv": ""})
    assert none.python("import os; print(os.environ.get('VIRTUAL_ENV'))")["stdout"] == "None\n"


# --- what is refused ------------------------------------------------------------------------------


def spoil_cfg(venv):
    (venv / "pyvenv.cfg").unlink()


def link_cfg(venv):
    spoil_cfg(venv)
    (venv / "pyvenv.cfg").symlink_to("/etc/passwd")


def other_version(venv):
    text = (venv / "pyvenv.cfg").read_text()
    (venv / "pyvenv.cfg").write_text(text.replace(f"version = {MINOR}", "version = 3.4"))


def no_version(venv):
    (venv / "pyvenv.cfg").write_text(f"home = {PYTHON.parent}\n")


def no_home(venv):
    (venv / "pyvenv.cfg").write_text(f"version = {MINOR}.1\n")


def lost_home(venv):
    text = (venv / "pyvenv.cfg").read_text()
    (venv / "pyvenv.cfg").write_text(text.replace(str(PYTHON.parent), "/opt/no-such-python/bin"))


def broken_link(venv):
    for name in ("python3", "python"):
        (venv / "bin" / name).unlink()
        (venv / "bin" / name).symlink_to("/opt/no-such-python/bin/python3")


def to_a_directory(venv):
    for name in ("python3", "python"):
        (venv / "bin" / name).unlink()
        (venv / "bin" / name).symlink_to("/etc")


def world_writable(venv):
    venv.chmod(0o777)


def writable_packages(venv):
    (venv / "lib" / PYTHON.name / "site-packages").chmod(0o777)


def linked_packages(venv):
    packages = venv / "lib" / PYTHON.name / "site-packages"
    packages.rename(venv / "elsewhere")
    packages.symlink_to(venv / "elsewhere")


@pytest.mark.parametrize("spoil, told", [
    (spoil_cfg, "no pyvenv.cfg"),
    (link_cfg, "pyvenv.cfg"),
    (other_version, "made for Python 3.4"),
    (no_version, "no version"),
    (no_home, '"home"'),
    (lost_home, "/opt/no-such-python/bin"),
    (broken_link, "is missing"),
    (to_a_directory, "is missing"),
    (world_writable, "can be written by other users"),
    (writable_packages, "can be written by other users"),
    (linked_packages, "is a link"),
])
def test_refused(of, own, spoil, told):
    """With walls and without."""
    spoil(own)
    for policy in (POLICIES["native"], LOCAL):
        error = of("refusing", policy).refused("--yes", "--venv", own, "-c", "print('ran')")
        assert error["code"] == "input" and error["remedy"], error
        assert told in error["message"] and str(own) in error["message"], error


def test_above_it(of, venv, place):
    """A directory that others can write to lets them replace the virtualenv."""
    loose = place / "loose"
    loose.mkdir()
    shutil.copytree(venv, loose / "venv", symlinks=True)
    loose.chmod(0o777)
    error = of("native", POLICIES["native"]).refused("--venv", loose / "venv", "-c", "1")
    assert f"{loose} can be written by other users" in error["message"], error
    loose.chmod(0o1777)  # as /var/tmp itself
    assert of("native", POLICIES["native"]).python("1", "--venv", loose / "venv")["status"] == "ok"
    shutil.rmtree(loose)


def test_links_on_the_way(of, venv, place):
    """The link is followed again when the program starts: nobody else may turn it."""
    loose = place / "links"
    loose.mkdir()
    (loose / "link").symlink_to(venv)
    loose.chmod(0o777)
    for policy in (POLICIES["native"], LOCAL):
        error = of("refusing", policy).refused("--yes", "--venv", loose / "link", "-c", "1")
        assert f"{loose} can be written by other users" in error["message"], error


def test_links_of_the_interpreter(of, own, place):
    loose = place / "programs"
    loose.mkdir()
    (loose / "python3").symlink_to(PYTHON)
    for name in ("python3", "python"):
        (own / "bin" / name).unlink()
        (own / "bin" / name).symlink_to(loose / "python3")
    loose.chmod(0o777)
    error = of("native", POLICIES["native"]).refused("--venv", own, "-c", "1")
    assert f"{loose} can be written by other users" in error["message"], error


@pytest.mark.root
def test_link_of_another_user(of, venv, place):
    loose = place / "sticky"
    loose.mkdir()
    (loose / "link").symlink_to(venv)
    os.lchown(loose / "link", 12345, 12345)
    loose.chmod(0o1777)
    error = of("native", POLICIES["native"]).refused("--venv", loose / "link", "-c", "1")
    assert "is a link of another user" in error["message"], error


@pytest.mark.root
@pytest.mark.parametrize("kind", ["native", "local"])
def test_of_another_user(of, own, kind):
    """Its code would run with root's rights; and its owner could show root's files to a cell."""
    os.chown(own, 12345, 12345)
    one = of("refusing", POLICIES["native"] if kind == "native" else LOCAL)
    error = one.refused("--yes", "--venv", own, "-c", "1")
    assert "belongs to another user" in error["message"], error


@pytest.mark.root
def test_unreadable_in_a_cell(of, own):
    packages = own / "lib" / PYTHON.name / "site-packages"
    native = of("native", POLICIES["native"])
    for path in (packages, own, own.parent):
        path.chmod(0o700)
        error = native.refused("--venv", own, "-c", "1")
        assert f"cannot read {path}" in error["message"] and "chmod" in error["remedy"], error
        path.chmod(0o755)


@pytest.mark.parametrize("words, told", [
    (["--venv", "{venv}", "--lang", "bash", "-c", "true"], "they are for Python"),
    (["--venv", "no-such-name", "-c", "1"], "no-such-name"),
    (["--venv", ".venv", "-c", "1"], "./.venv"),
    (["--venv", "/opt/no:such", "-c", "1"], "one of"),
    (["--venv", "/opt/no-such", "-c", "1"], "/opt/no-such"),
    (["--venv", "/etc", "-c", "1"], "no pyvenv.cfg"),
    (["--venv", "/", "-c", "1"], "no pyvenv.cfg"),
])
def test_bad_requests(of, venv, words, told):
    error = of("native", POLICIES["native"]).refused(*(word.format(venv=venv) for word in words))
    assert told in error["message"] + error["remedy"] and error["remedy"], error


def test_never_shown(of, venv, tmp_path):
    """/tmp of a cell is its own, so a virtualenv there cannot keep its path."""
    venv = shutil.copytree(venv, tmp_path / "venv", symlinks=True)
    error = of("native", POLICIES["native"]).refused("--venv", venv, "-c", "1")
    assert "never shown to a cell" in error["message"] or "other user" in error["message"], error


def test_in_brigs_own_directory(venv, place):
    config = place / "config"
    (config / "policies").mkdir(parents=True)
    venv = shutil.copytree(venv, config / "venv", symlinks=True)
    done = subprocess.run([BRIG, "run", "--config", config, "--venv", venv, "--json", "-c", "1"],
                          capture_output=True, check=False)
    error = json.loads(done.stdout)["error"]
    assert "brig's configuration is in it, or above it" in error["message"], error


def test_learned(venv):
    """A policy that was learned with it names it, and the program runs under it."""
    done = subprocess.run([BRIG, "policy", "learn", "--venv", venv, "-c", "import ownpackage"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert f'"venv": "{venv}"' in done.stdout and "cannot run" not in done.stderr, done


def test_home_of_python(of, venv):
    policy = {**POLICIES["native"], "env": {"allow": ["PYTHONHOME"]}}
    error = of("homes", policy).refused("--venv", venv, "--env", "PYTHONHOME=/usr", "-c", "1")
    assert "exclude each other" in error["message"], error


# --- brig venv ------------------------------------------------------------------------------------


def command(*words, home, **more):
    # Without uv: the same on every host.
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}
    return subprocess.run([BRIG, *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=120, env=env, **more)


def test_by_name(place, config):
    home = place / "home"
    home.mkdir()
    made = command("venv", "create", "tools", "--json", home=home)
    assert made.returncode == 0, made
    path = home / "data/brig/venvs/tools"
    assert json.loads(made.stdout)["path"] == str(path)
    listed = command("venv", home=home)
    assert listed.stdout.split()[:2] == ["tools", json.loads(made.stdout)["version"]], listed
    run = command("run", "--config", config, "--policy", "native", "--venv", "tools", "-c",
                  "import sys; print(sys.prefix)", home=home)
    assert run.stdout == f"{path}\n", run
    again = command("venv", "create", "tools", home=home)
    assert again.returncode != 0 and "exists" in again.stderr
    assert command("venv", "remove", "tools", home=home).returncode == 0
    assert not path.exists() and command("venv", "list", "--json", home=home).stdout == "[]\n"
    assert command("venv", "remove", "tools", home=home).returncode != 0
    assert command("venv", "remove", "../x", home=home).returncode != 0
    assert command("venv", "create", "a b", home=home).returncode != 0
    for python, told in (("/no/such", "/no/such is not installed"), ("/bin/false", "ended with status 1")):
        failed = command("venv", "create", "bad", "--python", python, home=home)
        assert failed.returncode != 0 and told in failed.stderr and not (path.parent / "bad").exists()


def test_packages(place):
    """From a directory: pip needs no network for that."""
    pytest.importorskip("ensurepip", reason="apt install python3-venv")
    source, home = place / "source", place / "home-of-pip"
    home.mkdir()
    (source / "wheel").mkdir(parents=True)
    wheel = source / "wheel/tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("tiny.py", "WHO = 'tiny'\n")
        file.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr("tiny-1.0.dist-info/WHEEL",
                      "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("tiny-1.0.dist-info/RECORD", "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\n"
                      "tiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n")
    made = command("venv", "create", source / "venv", "--", wheel, home=home)
    assert made.returncode == 0 and "outside of any cell" in made.stderr, made
    run = command("run", "--venv", source / "venv", "-c", "import tiny; print(tiny.WHO)", home=home)
    assert run.stdout == "tiny\n", run
