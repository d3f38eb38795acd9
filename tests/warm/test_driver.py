# SPDX-License-Identifier: Apache-2.0
"""The python driver: a program sees, prints, leaves and returns the same as under plain python3."""

import json
import os
import pathlib
import subprocess

import pytest

from conftest import ENV, PRELOAD, PYTHON, Directory, Template, cold, directives, plain, waiting

PROGRAMS = {path.stem: path for path in pathlib.Path(__file__).with_name("programs").glob("*.py")}
HAS_NUMPY = not subprocess.run([PYTHON, "-c", "import numpy, pandas"], stderr=-3).returncode
CLONES = 6


def as_json(data):
    """A program's value; "absent" without one, or, behind its mark, if only its repr
    was returned."""
    if data[:1] == b"r":
        text = json.loads(data[1:])
        assert isinstance(text, str) and 0 < len(text) <= 4000
    return json.loads(data) if data and data[:1] != b"r" else "absent"


def compare(name, sandbox, ways, valued=True, **more):
    text = PROGRAMS[name].read_bytes()
    told = directives(text)
    env = told.get("env", {})
    how = {
        "args": told.get("args", []),
        "stdin": told.get("stdin", "").encode(),
        "env": {} if env is None else {**ENV, **env, **more},
    }
    sandbox.fill(text)
    wanted = plain(sandbox, **how)
    for way in ways:
        sandbox.fill(text)
        found = way(sandbox, **how)
        assert found.seen() == wanted.seen(), way
        if valued and "value" in told:
            assert as_json(found.value) == told["value"], way


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_same_as_plain(name, template, sandbox):
    compare(name, sandbox, [template.run, cold])


# Each of these starts two interpreters. `make test` has those that look at their process, and every
# fourth of the others; BRIG_ALL_PROVIDERS=1 has all.
OF_THE_PROCESS = ("argv async_gather environment_none environment_python fd_numbers frames fork globals_list "
                  "mp_spawn recursion_error syntax_error thread_main value_enum").split()
WAITED = sorted(PROGRAMS if os.environ.get("BRIG_ALL_PROVIDERS") else {*OF_THE_PROCESS, *sorted(PROGRAMS)[::4]})


@pytest.mark.parametrize("name", WAITED)
def test_same_when_it_has_waited(name, sandbox):
    compare(name, sandbox, [waiting], valued=False)


@pytest.mark.parametrize("env", [
    {"LD_BIND_NOW": "1"}, {"PYTHONHASHSEED": "5"}, {"PYTHONUNBUFFERED": "1"}, {"TZ": "UTC-3"},
    {"LC_ALL": "C"}, {"LANG": "C", "A": "", "B": "x=y"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
])
def test_another_environment_than_it_waited_with(env, sandbox):
    text = ("import os, subprocess, sys, time; print(sorted(os.environ.items()), time.tzname, sys.flags,"
            "sys.stdout.encoding, sys.stdout.write_through, hash('a') if %r else 0)\n"
            "print(subprocess.run(['/usr/bin/env'], stdout=-1).stdout)" % ("PYTHONHASHSEED" in env))
    seen = []
    for way in (plain, waiting):
        sandbox.fill(text)
        seen.append(way(sandbox, env={**ENV, **env}).seen())
    assert seen[0] == seen[1] and seen[0][0] == 0


def test_no_trace_of_the_script_that_waited(sandbox):
    text = "import sys\nprint(sorted(sys.modules))\nprint(open('/proc/self/cmdline').read(), vars())"
    seen = []
    for way in (plain, waiting):
        sandbox.fill(text)
        seen.append(way(sandbox).seen()[1].split(b"\n", 1))
    assert seen[0][1] == seen[1][1]
    more = set(eval(seen[1][0])) - set(eval(seen[0][0]))
    assert more >= {"json", "re"} and not any("brig" in name for name in more)


@pytest.fixture(scope="module")
def rehearsed():
    it = Template(PRELOAD, "--rehearsed")
    yield it
    assert it.close() == (0, b"", b"")


@pytest.mark.parametrize("name", OF_THE_PROCESS)
def test_same_when_rehearsed(name, rehearsed, sandbox):
    compare(name, sandbox, [rehearsed.run])


@pytest.fixture(scope="module")
def unbuffered():
    it = Template([], env={**ENV, "PYTHONUNBUFFERED": "1"})
    yield it
    assert it.close() == (0, b"", b"")


@pytest.mark.parametrize(
    "name", "abort broken_pipe exit_now name_error print_stderr_order read_lines stdout_properties "
    "value_enum".split()
)
def test_same_without_buffers(name, unbuffered, sandbox):
    compare(name, sandbox, [unbuffered.run, cold], PYTHONUNBUFFERED="1")


def run_many(template, tmp_path, text, count=CLONES, **how):
    """The values of clones that run at the same time."""
    places = [Directory(tmp_path / str(number)) for number in range(count)]
    for place in places:
        place.fill(text)
    done = [run.join() for run in [template.begin(place, **how) for place in places]]
    assert [(it.status, it.stderr) for it in done] == [(0, b"")] * count
    return [json.loads(it.value) for it in done]


def assert_all_differ(found):
    for key in found[0]:
        assert len({json.dumps(it[key]) for it in found}) == len(found), (key, found)


# All of these have been used in the template, so that they have a state to share.
USER = """
import random, secrets, ssl, tempfile, uuid
import multiprocessing.synchronize
OWN = random.Random()
OWN.gauss(0, 1), random.gauss(0, 1), random.random(), ssl.RAND_bytes(8), uuid.uuid4()
uuid.uuid1(), uuid.getnode(), tempfile.gettempdir(), next(tempfile._get_candidate_names())
NAMES = tempfile._RandomNameSequence()
next(NAMES)
"""
SECRETS = """
import multiprocessing, random, secrets, ssl, tempfile, uuid, os
import user
{
    "random": random.random(),
    "gauss": random.gauss(0, 1),
    "own": user.OWN.random(),
    "own gauss": user.OWN.gauss(0, 1),
    "names": next(user.NAMES),
    "tempfile": os.path.basename(tempfile.mktemp()),
    "ssl": ssl.RAND_bytes(8).hex(),
    "uuid1": str(uuid.uuid1()),
    "uuid4": str(uuid.uuid4()),
    "secrets": secrets.token_hex(8),
    "authkey": multiprocessing.current_process().authkey.hex(),
    "semaphore": multiprocessing.synchronize.SemLock._make_name(),
}
"""


@pytest.fixture
def with_user(tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/user.py").write_text(USER)
    return {**ENV, "PYTHONPATH": str(tmp_path / "lib")}


@pytest.mark.parametrize("options", [(), ("--rehearsed",)])
def test_clones_share_no_randomness(options, tmp_path, with_user):
    template = Template([*PRELOAD, "user"], *options, env=with_user)
    assert_all_differ(run_many(template, tmp_path, SECRETS, env=with_user))
    assert template.close() == (0, b"", b"")


@pytest.mark.root
def test_clones_of_one_process_id_share_no_randomness(tmp_path, with_user):
    """The modules' own protection uses the process id, which is 1 here in the template
    and clones."""
    prefix = ["/usr/bin/unshare", "--pid", "--fork"]
    template = Template([*PRELOAD, "user"], "--namespace", env=with_user, prefix=prefix)
    text = SECRETS.replace("{", "{'pid': os.getpid(),", 1)
    found = run_many(template, tmp_path, text, env=with_user)
    assert [it.pop("pid") for it in found] == [1] * CLONES
    assert_all_differ(found)
    template.close()


@pytest.mark.parametrize("options", [(), ("--rehearsed",)])
def test_clones_share_no_clock_sequence(options, tmp_path, sandbox, with_user):
    """libuuid has chosen one in the template, with which clones in one moment would make
    the same UUID."""
    text = """
import user, uuid
made = [uuid.uuid1() for _ in range(1000)]
[made[0].clock_seq, len(set(made)), made[0].variant, made[0].version, made[0].is_safe.name,
 {it.node for it in made} == {uuid.getnode()}, uuid._generate_time_safe is not None]
"""
    template = Template([*PRELOAD, "user"], *options, env=with_user)
    found = run_many(template, tmp_path, text, env=with_user)
    assert template.close() == (0, b"", b"")
    sandbox.fill(text)
    wanted = json.loads(cold(sandbox, env=with_user).value)
    assert wanted[1] == 1000
    assert [it[1:] for it in found] == [wanted[1:]] * CLONES
    # Two of 16384 may be equal, all six are not.
    assert len({it[0] for it in found}) > 1


def test_clones_share_no_state(template, tmp_path):
    text = """
import builtins, json, os, random, sys
found = [hasattr(builtins, "mark"), hasattr(json, "mark"), os.environ.get("MARK"),
         "mark" in globals(), "mark" in sys.modules, os.path.exists("mark"), os.listdir(".")]
builtins.mark = json.mark = mark = 1
os.environ["MARK"] = "1"
sys.modules["mark"] = json
open("mark", "w").close()
os.chdir("/")
os.umask(0)
found
"""
    fresh = [False, False, None, False, False, False, ["code.py"]]
    assert run_many(template, tmp_path, text) == [fresh] * CLONES
    assert run_many(template, tmp_path, text) == [fresh] * CLONES


def test_driver_leaves_no_trace(tmp_path, sandbox):
    text = "import sys\nprint(sorted(sys.modules))\nimport linecache\nlinecache.cache\n"
    sandbox.fill(text)
    wanted = set(eval(plain(sandbox).stdout))
    bare = Template([])
    found = bare.run(sandbox)
    assert bare.close() == (0, b"", b"")
    assert set(eval(found.stdout)) - wanted <= {"_locale", "gc", "linecache"}
    assert found.value == b"{}"


def test_driver_cannot_be_reached(template, sandbox):
    """Not through frames, tracebacks, modules or objects of the garbage collector."""
    sandbox.fill(
        """
import gc, sys, types
frames = [it for it in gc.get_objects() if isinstance(it, types.FrameType)]
held = [sorted(it.f_locals) for it in frames if it.f_code.co_filename == "<brig>"
        and it.f_code.co_name != "<module>"]
[held, any("brig" in name for name in sys.modules), hasattr(sys, "last_value"),
 sys.excepthook is sys.__excepthook__, sys._getframe().f_back is None]
"""
    )
    found = json.loads(template.run(sandbox).value)
    assert [it for it in found[0] if it] == []
    assert found[1:] == [False, False, True, True]


def test_no_value_wanted(template, sandbox):
    sandbox.fill("import os\nprint(os.listdir('/proc/self/fd'))\n5")
    found = template.run(sandbox, valued=False)
    assert eval(found.stdout) == ["0", "1", "2", "3"]
    assert found.value == b""


@pytest.mark.parametrize("way", ["warm", "cold"])
def test_value_goes_to_no_other_file(way, template, sandbox):
    sandbox.fill(
        """
import os
os.closerange(3, 300)
file = os.open("mine", os.O_RDWR | os.O_CREAT)
for fd in (3, 255):
    os.dup2(file, fd)
42
"""
    )
    found = (template.run if way == "warm" else cold)(sandbox)
    assert (found.status, found.value, found.files["mine"]) == (0, b"", b"")


def test_packages_of_the_user(template, sandbox):
    version = subprocess.run(
        [PYTHON, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"],
        stdout=subprocess.PIPE, text=True,
    ).stdout.strip()
    seen = []
    for way in (plain, template.run, cold):
        sandbox.fill("import mine, sys\nprint(mine.x, sys.path)")
        packages = sandbox.path / ".local/lib" / version / "site-packages"
        packages.mkdir(parents=True)
        (packages / "mine.py").write_text("x = 7\n")
        seen.append(way(sandbox, env={**ENV, "HOME": str(sandbox.path)}).seen())
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][1].startswith(b"7 ")


if HAS_NUMPY:

    @pytest.fixture(scope="module")
    def scientific():
        it = Template(["numpy", "pandas"], env={**ENV, "OPENBLAS_NUM_THREADS": "1"})
        yield it
        assert it.close() == (0, b"", b"")

    def test_numpy_randomness(scientific, tmp_path):
        text = """
import numpy
{"legacy": numpy.random.rand(), "normal": numpy.random.randn(),
 "new": numpy.random.default_rng().random(), "state": numpy.random.RandomState().rand()}
"""
        assert_all_differ(run_many(scientific, tmp_path, text))

    @pytest.mark.parametrize(
        "text",
        [
            "numpy.random.seed(1)\nprint(numpy.random.rand(3), numpy.arange(4) @ range(4))",
            "print(numpy.linalg.inv([[2, 0], [0, 4]]))\nnumpy.ones(2) + numpy.ones(3)",
            "print(pandas.DataFrame({'a': [1, 2]}).describe())\npandas.Series([1])['x']",
        ],
    )
    def test_numpy_programs(scientific, sandbox, text):
        seen = []
        for way in (plain, scientific.run):
            sandbox.fill("import numpy\nimport pandas\n" + text)
            seen.append(way(sandbox).seen())
        assert seen[0] == seen[1]

    @pytest.mark.parametrize(
        "expression, value",
        [
            ("numpy.float64(0.5)", 0.5),
            ("[numpy.int32(7), numpy.bool_(True), numpy.str_('s')]", [7, True, "s"]),
            ("pandas.Series([1, 2]).sum()", 3),
            ("numpy.float32('nan')", "absent"),
            ("numpy.arange(3)", "absent"),
            ("numpy.datetime64('2020-01-01')", "absent"),
        ],
    )
    def test_numpy_values(scientific, sandbox, expression, value):
        sandbox.fill("import numpy, pandas\n" + expression)
        found = scientific.run(sandbox)
        assert (found.status, found.stderr) == (0, b"")
        assert as_json(found.value) == value
