# SPDX-License-Identifier: Apache-2.0
"""The one place where modules are admitted; and that no object of an admitted module
leads further."""

import json
import os
import pathlib
import re
import subprocess

import pytest

TREE = pathlib.Path(os.environ.get("BRIG_TREE", pathlib.Path(__file__).parents[2]))
GUARD = TREE / "data" / "guard"
TABLE = json.loads((GUARD / "modules.json").read_text())
PYTHON = "/usr/bin/python3"

# Runs in the interpreter of the cells: the guard's own text, and a walk over its objects.
REACH = r'''
import types, collections
order = '{"mode":"strict","operations":0,"recursion":0,"ask":0,"refuse":0,"score":0,"check":0,"value":0}'
guard = Guard(order, "/nowhere")
guard.look(b"x = 1", "x")
guard_detach()
guard.make_builtins()
import sys
frame = sys._getframe()
spaces = {id(vars(m)): n for n, m in list(sys.modules.items()) if isinstance(m, types.ModuleType)}
spaces[id(globals())] = "the driver"
roots = {name: it for name, it in guard.builtins.items() if name[:1] not in "._"}
for name in guard.rules.table:
    if guard.rules.is_module(name):
        roots[name] = guard.importer.facade(name)
BAD = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)
seen, keep, found = set(), [], []
left = collections.deque((it, name) for name, it in roots.items())
while left:
    it, way = left.popleft()
    if id(it) in seen or len(way) > 300:
        continue
    seen.add(id(it))
    keep.append(it)
    if isinstance(it, BAD) or id(it) in spaces or type(it).__name__ in ("TextIOWrapper", "FileIO"):
        found.append("%s: %r" % (way, it))
        continue
    if isinstance(it, (str, bytes, int, float, complex, type(None))):
        continue
    # What is behind them no program may ask for; if one finds a way, the guard is not there.
    own = [it, getattr(it, "__func__", None)]
    own += list(vars(it).values()) if isinstance(it, type) else []
    for function in own:
        if isinstance(function, types.FunctionType) and function.__globals__ is globals():
            found.append("%s: %r leads to the driver" % (way, function))
    if isinstance(it, dict):
        left.extend((v, "%s[%r]" % (way, k)) for k, v in list(it.items())[:2000])
    elif isinstance(it, (list, tuple, set, frozenset)):
        left.extend((v, "%s[]" % way) for v in list(it)[:2000])
    for name in dir(it):
        if name[:1] == "_" or guard.rules.attribute(name, guard.declared):
            continue
        try:
            left.append((getattr(it, name), "%s.%s" % (way, name)))
        except Exception:
            pass
    left.append((roots["type"](it), "type(%s)" % way))
print(len(seen), *found, sep="\n")
'''


@pytest.mark.parametrize("name", TABLE["modules"])
def test_the_three_questions_are_answered(name):
    entry = TABLE["modules"][name]
    assert set(entry) - {"without"} == {"default", "files", "network", "memory", "names"}
    for question in ("files", "network", "memory"):
        assert len(entry[question]) >= 2, question
    assert entry["names"] == ["*"] or entry["names"] == sorted(set(entry["names"]))
    assert not any(it.startswith("_") for it in entry["names"])
    if entry["default"]:
        assert entry["network"] == "no" and entry["names"] != ["*"]
    if "." in name:
        assert name.rpartition(".")[0] in TABLE["modules"]


def test_the_table_can_be_part_of_a_text():
    """It is put between quotes in front of the driver: see src/lib/guard/guard.c."""
    text = (GUARD / "modules.json").read_text()
    assert "'''" not in text and "\\" not in text
    assert set(re.findall(r'(?<!")\b(true|false|null|NaN)\b', text)) <= {"true", "false"}


@pytest.mark.parametrize("name", ["os", "sys", "subprocess", "builtins", "importlib", "inspect",
                                  "ctypes", "socket", "pickle", "gc", "types.FunctionType"])
def test_what_must_never_be_there(name):
    assert name not in TABLE["modules"]
    module, _, attribute = name.rpartition(".")
    assert not module or attribute not in TABLE["modules"][module]["names"]


def driver():
    """The guard's text as src/lib/guard/guard.c puts it together."""
    source = (TREE / "src" / "lib" / "guard" / "guard.c").read_text()
    names = re.findall(r'"guard/(\w+\.py)"', source)
    assert sorted(names) == sorted(it.name for it in GUARD.glob("*.py"))
    table = (GUARD / "modules.json").read_text()
    return f"GUARD_TABLE = '''{table}'''\n" + "".join((GUARD / it).read_text() for it in names)


def test_names_are_there_and_are_no_modules(tmp_path):
    script = tmp_path / "names.py"
    code = driver() + """
import importlib, types
for name, entry in guard_modules()["modules"].items():
    try:
        module = importlib.import_module(name)
    except ImportError:
        continue
    have = [it for it in entry["names"] if hasattr(module, it)]
    assert entry["names"] == ["*"] or len(have) > 0.7 * len(entry["names"]), name
    for it in have:
        assert not isinstance(getattr(module, it), types.ModuleType), (name, it)
"""
    script.write_text(code)
    subprocess.run([PYTHON, "-I", script], check=True)


def test_nothing_leads_out(tmp_path):
    script = tmp_path / "reach.py"
    script.write_text(driver() + REACH)
    done = subprocess.run([PYTHON, "-I", script], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert int(lines[0]) > 2000
    assert lines[1:] == []


# From all objects of a program, by every reference from object to object: not through modules, for
# which the hook is responsible.
STATE = r'''
import gc, types
guard = Guard(ORDER, "/nowhere")
guard.look(b"x = 1", "x")
guard_detach()
guard.make_builtins()
guard_prepare_abc(GuardImporter.ahead.__code__, guard.texts)
hook, guard.rest = guard_hook()
for name in guard.rules.table:
    if guard.rules.is_module(name):
        guard.importer.facade(name)
never = {id(it): name for name, it in dict(guard=guard, hook=hook, rest=guard.rest, own=guard.own,
                                            driver=globals(), hidden=hook.__closure__).items()}
left, seen, own = [guard.builtins, vars(sys.modules["abc"].ABCMeta)], set(), {id(vars(sys))}
while left:
    it = left.pop()
    if id(it) in seen or isinstance(it, (types.ModuleType, types.FrameType)):
        continue
    seen.add(id(it))
    assert id(it) not in never, never[id(it)]
    # The modules of python's own, as functions have them for globals.
    if type(it) is not dict or "__spec__" not in it:
        left.extend(gc.get_referents(it))
print(len(seen))
'''


def test_nothing_leads_to_the_guard_itself(tmp_path):
    script = tmp_path / "state.py"
    order = REACH.split("\n")[2].partition(" = ")[2]
    script.write_text(f"{driver()}\nORDER = {order}\n{STATE}")
    done = subprocess.run([PYTHON, "-I", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1000


def test_files_are_small():
    for file in GUARD.glob("*.py"):
        assert len(file.read_text().splitlines()) < 400, file


FILLED = """
import {0}
m = {0}
try:
    m.__init__("x", {{"__name__": "os"}})
except AttributeError:
    pass
try:
    from {0} import path
    print("ESCA" "PED", path)
except ImportError:
    print("held")
"""


@pytest.mark.parametrize("name", ["json", "math", "random"])
def test_facades_cannot_be_filled_anew(many, name):
    """With a name of its own choice `from` would find a real module by it."""
    result = many(FILLED.format(name), "strict")
    assert "ESCAPED" not in result["stdout"], result


def test_facades_are_not_derived_from(many):
    result = many("import json\nclass F(type(json)):\n    pass\nprint('ESCA' 'PED')\n", "strict")
    assert "ESCAPED" not in result["stdout"], result
