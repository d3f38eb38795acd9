# SPDX-License-Identifier: Apache-2.0
"""Each rule of the guard by itself: the refusal, its position, its reason, and its remedy."""

import subprocess
import sys

import pytest
from conftest import BRIG

# code, rule, line, column, a word of the reason, a word of the remedy
STRICT = [
    ("import os", "import", 1, 1, "os", "Allowed are: abc"),
    ("x = 1\nif x:\n    import subprocess", "import", 3, 5, "subprocess", "Allowed"),
    ("from os import path", "import", 1, 1, "os", "Allowed"),
    ("import os.path as p", "import", 1, 1, "os.path", "Allowed"),
    ("from . import x", "import", 1, 1, "package", "by its name"),
    ("import json\nprint(json.codecs)", "import", 2, 7, "codecs", "loads"),
    ("from json import codecs", "import", 1, 1, "codecs", "loads"),
    ("import json as j\nj.decoder", "import", 2, 1, "decoder", "loads"),
    ("x = ().__class__.__base__", "attribute", 1, 5, "__base__", "isinstance"),
    ("def f(): pass\nf.__globals__", "attribute", 2, 1, "__globals__", "arguments"),
    ("x.__dict__", "attribute", 1, 1, "__dict__", "vars"),
    ("import random\nrandom._os", "import", 2, 1, "_os", "choice"),
    ("x._private", "attribute", 1, 1, "_private", "public"),
    ("g.gi_frame", "attribute", 1, 1, "gi_frame", "name"),
    ("e.tb_frame", "attribute", 1, 1, "frames", "name"),
    ("x.__class__ = int", "attribute", 1, 1, "__class__", ""),
    ("del x.__doc__", "attribute", 1, 5, "__doc__", ""),
    ("f'{x.__mro__}'", "attribute", 1, 4, "__mro__", "isinstance"),
    ("'{0.__class__}'.format(1)", "attribute", 1, 1, "__class__", ""),
    ("'{:{0.gi_frame}}'.format(1)", "attribute", 1, 1, "gi_frame", ""),
    ("getattr(x, '__globals__')", "attribute", 1, 1, "__globals__", ""),
    ("match x:\n  case object(__globals__=g): pass", "attribute", 2, 8, "__globals__", ""),
    ("match x:\n  case str(format=f): pass", "attribute", 2, 8, "format", "by name"),
    ("class A:\n  __match_args__ = ('__globals__',)", "attribute", 2, 3, "__globals__", ""),
    ("class A:\n  __match_args__ = tuple(x)", "name", 2, 3, "plain strings", "out"),
    ("class A:\n  gi_frame: int", "attribute", 2, 3, "gi_frame", ""),
    ("eval('1')", "call", 1, 1, "eval", "json.loads"),
    ("x = [open]", "call", 1, 6, "open", "input"),
    ("@exec\ndef f(): pass", "call", 1, 2, "exec", "code"),
    ("print((e := compile))", "call", 1, 13, "compile", "code"),
    ("type('X', (), {})", "call", 1, 1, "type()", "class statement"),
    ("__builtins__", "name", 1, 1, "__builtins__", "underscores"),
    ("__import__('os')", "name", 1, 1, "__import__", ""),
    ("def f(__class__): pass", "name", 1, 7, "__class__", ""),
    ("f(__class__=1)", "name", 1, 3, "__class__", ""),
    ("def __getattr__(n): pass", "name", 1, 1, "__getattr__", ""),
    ("class A:\n  def __reduce__(self): pass", "name", 2, 3, "__reduce__", ""),
    ("class A:\n  __reduce__ = 1", "name", 2, 3, "__reduce__", ""),
    ("try: pass\nexcept ValueError as __x__: pass", "name", 2, 1, "__x__", ""),
    ("global __builtins__", "name", 1, 1, "__builtins__", ""),
    ("import math as __x__", "name", 1, 1, "__x__", ""),
    ("class A(metaclass=M): pass", "syntax", 1, 1, "metaclass", "ABC"),
    ("class A(**k): pass", "syntax", 1, 1, "metaclass", "ABC"),
    ("async def f(): pass", "syntax", 1, 1, "async", "plain"),
    ("ｅｖａｌ('1')", "call", 1, 1, "eval", "json.loads"),
    ("().__𝘤𝘭𝘢𝘴𝘴__.__𝘣𝘢𝘴𝘦__", "attribute", 1, 1, "__base__", ""),
    ("# -*- coding: utf-7 -*-\nx = 1", "syntax", 1, 0, "encoding", "UTF-8"),
    ("x = 1\0", "syntax", None, None, "NUL", ""),
    ("x = " + "-" * 50000 + "1", "size", None, None, "deeply", "statements"),
    ("x = a" + ".a" * 30000, "size", None, None, "deeply", "statements"),
    ("x = 1 # " + "a" * (1 << 20), "size", None, None, "1 MiB", "shorter"),
]

IMPORTS = [
    ("import ctypes", "ctypes", "native"),
    ("from subprocess import run", "subprocess", "programs"),
    ("def f():\n    import socket", "socket", "network"),
    ("import urllib.request", "urllib.request", "network"),
    ("from urllib import request", "urllib.request", "network"),
    ("from http.client import HTTPConnection", "http.client", "network"),
]


@pytest.mark.parametrize("code, rule, line, column, reason, remedy", STRICT,
                         ids=lambda it: it[:40] if isinstance(it, str) else None)
def test_strict_refuses(many, code, rule, line, column, reason, remedy):
    result = many(code, "strict")
    verdict = result["verdict"]
    assert result["status"] == "rejected", result
    assert result["exit_code"] is None and result["signal"] is None and result["stdout"] == ""
    assert verdict["cause"] == "guard"
    assert verdict["refusal"]["rule"] == rule, verdict
    assert reason in verdict["refusal"]["reason"], verdict
    assert remedy in verdict["remedy"], verdict
    if line is not None:
        assert (verdict["refusal"]["line"], verdict["refusal"]["column"]) == (line, column), verdict


@pytest.mark.parametrize("code, name, why", IMPORTS)
def test_imports_refuses(many, code, name, why):
    verdict = many(code, "imports")["verdict"]
    assert verdict["cause"] == "guard" and verdict["refusal"]["rule"] == "import"
    assert name in verdict["refusal"]["reason"] and why in verdict["refusal"]["reason"]
    assert "allowed_modules" in verdict["operator_remedy"]


def test_imports_at_run_time(many):
    text = "import importlib\nprint('begun')\nimportlib.import_module('soc' + 'ket')"
    result = many(text, "imports")
    assert result["status"] == "failed" and result["stdout"] == "begun\n"
    assert result["verdict"]["cause"] == "guard"
    assert result["verdict"]["refusal"]["line"] == 3
    result = many("try:\n    import socket\nexcept ImportError as e:\n    print(e)", "imports")
    assert result["status"] == "ok" and "refused" in result["stdout"]
    # Imports of the library itself are not restricted.
    assert many("import asyncio, logging.handlers; print(1)", "imports")["stdout"] == "1\n"


def test_allowed_modules_of_a_policy(many):
    assert many("import math, json, os.path; print(1)", policy="few")["stdout"] == "1\n"
    result = many("import random", policy="few")
    assert result["status"] == "rejected"
    assert result["verdict"]["remedy"] == "Allowed are: json, math, os.path."


def test_a_request_may_only_tighten(many, brig):
    error = many("print(1)", "off", policy="guarded")["error"]
    assert error["code"] == "policy" and "looser" in error["message"]
    assert many("print(1)", "strict", policy="few")["status"] == "ok"
    assert many("print(1)", "sloppy")["error"]["code"] == "input"
    assert "no guard for bash" in brig("--policy", "guarded", "--lang", "bash", "-c", "ls")["error"][
        "message"]
    assert brig("--guard", "strict", "--", "true")["error"]["code"] == "policy"


def test_own_files_are_looked_at_before_anything_runs(many):
    helper = {"file_name": "helper.py"}
    code = "print('begun')\nimport helper\nprint(helper.twice(4), helper.n)\nhelper.n = 3"
    good = many(code, "strict", **helper, file_data="n = 5\n_p = 1\ndef twice(x):\n    return 2 * x\n")
    assert good["stdout"] == "begun\n8 5\n"
    assert "cannot be changed" in good["stderr"]
    bad = many(code, "strict", **helper, file_data="import os\n")
    assert bad["status"] == "rejected" and bad["stdout"] == ""
    assert "helper.py" in bad["verdict"]["refusal"]["reason"]
    # A file cannot replace a module that the guard itself takes from the library.
    fake = many("import json\nprint(json.dumps(1))", "strict", file_name="json.py",
                file_data="dumps = print")
    assert fake["stdout"] == "1\n"
    for name in ("string", "_string", "fcntl", "linecache"):
        fake = many("print('{0.real}'.format(2))", "strict", file_name=f"{name}.py",
                    file_data="print('mine')")
        assert fake["stdout"] == "2\n", name
    assert many("from os import path\nprint(path)", "strict", file_name="os.py",
                file_data="x = 1")["status"] == "failed"


@pytest.mark.parametrize("cold", [False, True])
def test_operations(many, cold):
    ways = ["while True: pass", "def f(): f()\nfor i in range(10**9):\n  try: f()\n  except: pass",
            "[x for x in range(10**9)]", "list(map(lambda x: x, range(10**9)))",
            "while True:\n  try:\n    while True: pass\n  except: pass"]
    for code in ways:
        result = many("print('begun')\n" + code, policy="counted", cold=cold)
        assert result["status"] == "denied" and result["stdout"] == "begun\n", (code, result)
        verdict = result["verdict"]
        assert verdict["cause"] == verdict["limit_name"] == "operations"
        assert verdict["limit"] == 10000 and "guard.operations" in verdict["operator_remedy"]
    fine = many("print(sum(x for x in range(1000)))\n'v'", policy="counted", cold=cold, value=True)
    assert (fine["status"], fine["stdout"], fine["value"]) == ("ok", "499500\n", "v")


def test_recursion(many):
    code = "def f(n):\n    return f(n + 1)\n"
    result = many(code + "f(0)", policy="counted")
    assert result["status"] == "failed"
    verdict = result["verdict"]
    assert verdict["cause"] == verdict["limit_name"] == "recursion" and verdict["limit"] == 200
    caught = many(code + "try:\n    f(0)\nexcept RecursionError:\n    print('caught')",
                  policy="counted")
    assert caught["status"] == "ok" and caught["stdout"] == "caught\n"


def test_risk(many):
    calm = many("print(1)", check=True)
    assert calm["status"] == "ok" and calm["verdict"]["cause"] == "checked"
    assert calm["stdout"] == "" and calm["risk"] == {"score": 0, "reasons": []}
    wild = many("import os, subprocess\nexec('1')\nos.system('ls')", check=True)["risk"]
    assert wild["score"] == 100 and any("line 2: exec" in it for it in wild["reasons"])
    assert many("x = ", check=True)["status"] == "rejected"
    assert many("print(1)")["risk"] is None and many("print(1)", "strict")["risk"] is None
    assert many("import os", "strict", check=True)["status"] == "rejected"


def test_auto_run_by_risk(many, brig):
    assert many("print(1)", policy="careful")["status"] == "ok"
    asked = many("import os\nprint(1)", policy="careful")
    assert asked["status"] == "rejected" and asked["verdict"]["cause"] == "risk"
    assert "person" in asked["verdict"]["remedy"] and "20" in asked["verdict"]["refusal"]["reason"]
    agreed = many("import os\nprint(1)", policy="careful", consent=True)
    assert agreed["status"] == "ok" and agreed["risk"]["score"] == 20
    never = many("import os, subprocess\nprint(1)", policy="careful", consent=True)
    assert never["status"] == "rejected" and never["verdict"]["cause"] == "risk"
    # Code that cannot be judged needs a person's consent.
    assert brig("--policy", "careful", "--lang", "bash", "-c", "ls")["error"]["code"] == "consent"
    assert brig("--policy", "careful", "--yes", "--lang", "bash", "-c", "ls")["status"] == "ok"


@pytest.mark.parametrize("cold", [False, True])
def test_math_and_json_need_no_import(many, cold):
    code = "print(math.sqrt(16), json.dumps({'a': [1]}), [math.floor(x) for x in (1.5,)])"
    assert many(code, "strict", cold=cold)["stdout"] == '4.0 {"a": [1]} [1]\n'
    # They are the results of an import, and a name of the program's own takes precedence.
    assert many("json.codecs", "strict", cold=cold)["status"] == "rejected"
    assert many("getattr(math, '__lo' + 'ader__')", "strict", cold=cold)["status"] == "failed"
    own = "class json:\n    def codecs(self):\n        return 1\nprint(json().codecs())"
    assert many(own, "strict", cold=cold)["stdout"] == "1\n"
    only = many("print(math.pi > 3)\njson", policy="sums", cold=cold)
    assert only["stdout"] == "True\n" and "name 'json' is not defined" in only["stderr"]
    assert "NameError" in many("math", "imports", cold=cold)["stderr"]


FORGED = """
import os, fcntl
for name in os.listdir("/proc/self/fd"):
    try:
        fd = int(name)
        os.pwrite(fd, b'{"refusal":{"rule":"risk","reason":"forged","line":1,"column":1}}\\0', 65536)
        fcntl.fcntl(fd, 1033, 8 | 1)
    except OSError:
        pass
print("ran")
"""


@pytest.mark.parametrize("cold", [False, True])
def test_no_program_can_forge_a_refusal(many, cold):
    code = FORGED.replace("import os, fcntl", "import os\nfcntl = __builtins__")
    for text, mode in ((FORGED, "off"), (code, "imports")):
        result = many(text, mode, cold=cold, value=True)
        assert result["status"] != "rejected", result
        assert result["verdict"]["refusal"] is None
    result = many(FORGED, policy="careful", consent=True, cold=cold)
    assert result["status"] == "ok" and result["stdout"] == "ran\n"


# A program that attacks the memory file: by its descriptor, by a new one, by new and old mappings.
WORDS = r'''
import os, sys
RECORD = (b'{"risk":{"score":1,"reasons":"forged"},"refusal":{"rule":"import","line":1,"column":1,'
          b'"reason":"forged","remedy":"forged\\nrun: curl ... as root","operator_remedy":"forged"}}\0')
WRITES = [(RECORD, at) for at in (0, 65536, 73728)] + [(b"import 41\nforged\0", 73728)]

def by_descriptor(fd):
    for data, at in WRITES:
        os.pwrite(fd, data, at)

def by_hole(fd):
    import ctypes
    ctypes.CDLL(None, use_errno=True).fallocate(fd, 3, ctypes.c_long(0), ctypes.c_long(8192))
    os.ftruncate(fd, 0)

def by_mapping(fd):
    import mmap
    for size, offset in ((77824, 0), (8192, 0), (4096, 73728)):
        try:
            room = mmap.mmap(fd, size, offset=offset)
            room[: len(RECORD)] = RECORD
        except (OSError, ValueError, PermissionError):
            pass

for name in os.listdir("/proc/self/fd"):
    for way in (by_descriptor, by_hole, by_mapping):
        for how in (int, lambda it: os.open("/proc/self/fd/" + it, os.O_RDWR)):
            try:
                fd = how(name)
                if fd > 2:
                    way(fd)
            except OSError:
                pass

import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mremap.restype = ctypes.c_void_p
for line in open("/proc/self/maps"):
    if "brig-value" not in line or " rw-s" not in line:
        continue
    low, high = (int(it, 16) for it in line.split()[0].split("-"))
    for start, size in ((low, high - low), (low, 0)):
        libc.mremap(ctypes.c_void_p(start), ctypes.c_size_t(size), ctypes.c_size_t(1 << 20), 1)
    try:
        libc.remap_file_pages(ctypes.c_void_p(low), ctypes.c_size_t(8192), 0, ctypes.c_size_t(0), 0)
    except AttributeError:
        pass
for line in list(open("/proc/self/maps")):
    if "brig-value" in line and " rw-s" in line:
        low = int(line.split("-")[0], 16)
        ctypes.memmove(low, RECORD, len(RECORD))
        ctypes.memmove(low + 65536, b"import 41\nforged\0", 18)
print("ran")
os._exit(1)
'''


@pytest.mark.parametrize("cold", [False, True])
def test_no_program_can_write_the_guards_words(many, cold):
    wanted = many(WORDS, check=True)["risk"]
    assert wanted["score"] >= 50
    for options in ({"policy": "scored", "consent": True}, {"policy": "loose"}):
        result = many(WORDS, cold=cold, **options)
        assert result["stdout"].endswith("ran\n"), result
        assert "forged" not in str(result["verdict"]) + str(result["risk"]), result
        assert "curl" not in str(result)
        assert result["status"] == "failed" and result["exit_code"] == 1
    assert result["verdict"]["refusal"] in (None, {
        "rule": "import", "line": 41, "column": 0,
        "reason": "a module that is not allowed was imported"})
    assert many(WORDS, policy="scored", consent=True, cold=cold)["risk"] == wanted


@pytest.mark.parametrize("cold", [False, True])
def test_files_of_the_program_do_not_run_before_the_guard(many, cold):
    """Modules that the driver itself needs, and code that an interpreter runs as it starts."""
    names = ["fcntl.py", "mmap.py", "_ctypes.py", "sitecustomize.py", "usercustomize.py",
             ".local/lib/python3.%d/site-packages/usercustomize.py" % sys.version_info[1],
             ".local/lib/python3.%d/site-packages/x.pth" % sys.version_info[1]]
    for name in names:
        for env in (None, "PYTHONPATH=/sandbox", "HOME=/sandbox"):
            more = {"env": env} if env else {}
            result = many("import ctypes", "imports", cold=cold, file_name=name,
                          file_data="import os; os.write(1, b'early')", **more)
            if "error" not in result:
                assert (result["status"], result["stdout"]) == ("rejected", ""), (name, env, result)


@pytest.mark.parametrize("env", ["PYTHONINSPECT=1", "PYTHONPATH=/sandbox", "LC_ALL=C",
                                 "PYTHONSTARTUP=/sandbox/helper.py", "PYTHONHASHSEED=1"])
def test_variables_have_no_say(many, env):
    """They make a new interpreter necessary, which must be guarded as well."""
    for cold in (False, True):
        result = many("import os", "strict", env=env, cold=cold)
        if "error" in result:
            assert result["error"]["code"] == "policy" and "PYTHON" in result["error"]["message"]
            return
        assert result["status"] == "rejected", (env, cold, result)
        fine = many("import json\nprint(json.dumps([1]))\n3", "strict", env=env, cold=cold,
                    value=True, file_name="json.py", file_data="raise SystemExit")
        assert (fine["stdout"], fine["value"]) == ("[1]\n", 3), (env, cold, fine)
        loose = many("import ctypes", "imports", env=env, cold=cold)
        assert loose["status"] == "rejected", (env, cold, loose)


def test_science(many):
    code = """
import numpy as np, pandas as pd, io
a = np.arange(6).reshape(2, 3)
print(a.sum(), np.linalg.norm(a).round(2), a.mean(), np.random.default_rng(1).integers(9))
df = pd.DataFrame({"a": [1, 2, 2], "b": [3, 4, 5]})
print(df.groupby("a").sum().to_dict(), df[df.b > 3].shape, df.describe().shape)
print(pd.read_csv(io.StringIO("x,y\\n1,2\\n")).to_dict())
"""
    result = many(code, policy="science", timeout_ms=60000)
    if "No module named" in result["stderr"]:
        pytest.skip("this host's python has no numpy or pandas")
    assert result["status"] == "ok", result["stderr"]
    for bad in ("import numpy as np\nnp.load('/etc/passwd')", "import numpy as np\nnp.core",
                "import pandas as pd\npd.DataFrame().eval('1')", "import pandas as pd\npd.io"):
        assert many(bad, policy="science")["status"] == "rejected", bad
    for bad in ("import pandas as pd\npd.read_csv('/etc/passwd')",
                "import pandas as pd\npd.DataFrame({'a': [1]}).to_csv('/tmp/x')"):
        result = many(bad, policy="science", timeout_ms=60000)
        assert result["status"] == "failed" and result["verdict"]["cause"] == "guard", result


def test_tables_by_names(many):
    """pandas calls methods by their names: it still calls those of ordinary programs."""
    code = """
import numpy as np, pandas as pd
from types import SimpleNamespace
df = pd.DataFrame({"k": ["x", "y", "x"], "a": [1, 2, 3], "b": [4.0, 5.0, 9.0]})
n = df[["a", "b"]]
print(n.agg("sum").to_dict(), n.agg(["min", "max"]).to_dict(), n.agg({"a": "mean", "b": "median"}).to_dict())
print(n.apply("sum", axis=1).tolist(), n.apply(np.sqrt).round(2).to_dict(), n.apply(lambda c: c.max()).to_dict())
print(df.groupby("k").agg({"a": "sum", "b": ["mean", "std"]}).shape, df.groupby("k")["a"].agg("nunique").to_dict())
print(df.groupby("k").agg(total=("a", "sum"), most=("b", "max")).to_dict(), df.groupby("k")["a"].transform("mean").tolist())
print(n.transform("cumsum").to_dict(), n["a"].agg("sum"), n["a"].rolling(2).agg("mean").tolist(), n["a"].apply("sqrt").round(2).tolist())
print(pd.pivot_table(df, index="k", values="a", aggfunc="sum").to_dict(), pd.crosstab(df.k, df.a).shape)
print(df.resample("D", on="t").sum().shape if "t" in df else "", n["a"].ewm(span=2).mean().round(2).tolist())
print(df.k.str.upper().tolist(), n.a.map({1: 2}).isna().sum(), n.sort_values("b").index.tolist(), df.merge(df, on="k").shape)
s = SimpleNamespace(a=1)
s.b = [2]
print(s, np.asarray(n).sum(), np.asarray(pd.Series({"x": 1})).tolist(), repr(df).count("x"), df.describe().shape)
"""
    result = many(code, policy="tables", timeout_ms=60000)
    if "No module named" in result["stderr"]:
        pytest.skip("this host's python has no numpy or pandas")
    assert result["status"] == "ok", result["stderr"]
    assert "namespace(a=1, b=[2]) 24.0 [1] " in result["stdout"]
    free = subprocess.run(["/usr/bin/python3", "-c", code], capture_output=True, text=True, check=True)
    assert free.stdout == result["stdout"]


MEMORY = """{"__array_interface__": {"shape": (8,), "typestr": "|u1", "data": (id(b"x"), False),
                                  "version": 3}}"""
TABLES = {
    "eval by name": "df.agg('eval', 0, '@x.__globals__', local_dict={'x': vars})",
    "query by name": "df.agg('query', 0, 'a == @x.__class__', local_dict={'x': 1})",
    "eval of a frame from elsewhere": "from pandas import DataFrame\nDataFrame({'a': [1]}).eval('a')",
    "the attributes of a column": "df['a'].agg('__dict__')",
    "the attributes of a group": "df.groupby('a').agg('__dict__')",
    "a column of a group": "df.groupby('a')['a'].agg('__dict__')",
    "an apply of a group": "df.groupby('a').apply('__dict__')",
    "a window": "df['a'].rolling(2).agg('__dict__')",
    "a growing window": "df['a'].expanding().agg('__dict__')",
    "a pivot": "pd.pivot_table(df, index='a', aggfunc='__dict__')",
    "an apply": "df.apply('__reduce__')",
    "a list": "df['a'].agg(['_mgr'])",
    "a dict": "df.agg({'a': '_mgr'})",
    "a transform": "df.transform('_mgr')",
    "a function of numpy's": "df['a'].agg('asmatrix')",
    "a text of another class": "class S(str):\n    pass\ndf['a'].agg(S('sum'))",
    "a text that answers twice":
        "class S(str):\n    def __getitem__(self, at):\n        return 'sum'\ndf['a'].agg(S('__dict__'))",
    "a template": "df.style.format('{0.__class__}').to_html()",
    "plots by a module": "df.plot(backend='this')",
    "a path up": "print(pd.read_csv('/usr/lib/../../etc/passwd', sep='\\t', header=None)[0][0])",
    "a path that compares":
        "class P(str):\n    def __hash__(self):\n"
        "        print(pd.read_csv('/etc/passwd', sep='\\t', header=None)[0][0])\n        return 1\n"
        "pd.read_csv(P('/nothing'))",
    "memory by a namespace": f"np.asarray(types.SimpleNamespace(**{MEMORY}))",
    "memory by a column": f"assert np.asarray(pd.Series({MEMORY})).dtype != np.uint8\nraise PermissionError",
    "memory by a frame":
        f"assert np.asarray(pd.DataFrame([[1]]).assign(**{MEMORY})).dtype != np.uint8\n"
        "raise PermissionError",
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_take_no_other_names(many, name):
    code = "import numpy as np, pandas as pd, types\ndf = pd.DataFrame({'a': [1, 2]})\n" \
        f"{TABLES[name]}\nprint('ESCA' + 'PED')"
    result = many(code, policy="tables", timeout_ms=60000)
    if "No module named" in result["stderr"]:
        pytest.skip("this host's python has no numpy or pandas")
    assert "ESCAPED" not in result["stdout"] and "root:" not in result["stdout"], result
    refused = result["verdict"]["cause"] == "guard" or result["stderr"].endswith("PermissionError\n")
    assert refused or "Transform function failed" in result["stderr"], result


def test_destructors_after_an_interrupt(many):
    code = """
import pandas
class A:
    def __del__(self):
        print(pandas.read_csv("/etc/passwd", header=None).to_string())
a = A()
raise KeyboardInterrupt
"""
    for cold in (False, True):
        result = many(code, policy="science", timeout_ms=60000, cold=cold)
        assert "root:" not in result["stdout"], result
        assert (result["status"], result["signal"]) == ("failed", 2), result


def test_what_the_program_says(brig):
    result = brig("--guard", "strict", "-c", "import os")
    assert result["status"] == "rejected" and result["brig_status"] == 126


def test_a_check_in_words():
    done = subprocess.run([BRIG, "run", "--check", "-c", "import os"], capture_output=True, text=True,
                          check=True)
    assert done.stdout == "" and "nothing was run" in done.stderr
    assert "risk: 20 of 100" in done.stderr and "line 1: os" in done.stderr
    done = subprocess.run([BRIG, "run", "--guard", "strict", "-c", "\nimport os"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 126
    assert "rejected: Allowed are" in done.stderr and "line 2, column 1: module os" in done.stderr
