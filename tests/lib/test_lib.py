# SPDX-License-Identifier: Apache-2.0
"""libbrig from C: small host programs, each running one case by itself; see hosts/host.h."""

import os
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
TREE = pathlib.Path(os.environ.get("BRIG_TREE", HERE.parent.parent))
BUILD = pathlib.Path(os.environ.get("BRIG_BUILD", TREE / "build"))
HOSTS = HERE / "hosts"
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wpointer-arith", "-Werror"]
LINK = ["-I", TREE / "include", "-L", BUILD, "-lbrig", f"-Wl,-rpath,{BUILD}"]

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9",
            "--errors-for-leak-kinds=definite,indirect,possible"]
# Run once more under valgrind: hosts/memory.c describes what it can detect. Of the others, those
# that are refused before there is a cell.
UNDER_VALGRIND = [
    ("memory", "runs"), ("memory", "ended_from_outside"), ("memory", "streams"),
    ("requests", "above_the_ceiling"), ("requests", "bad_files"), ("requests", "unknown_words"),
]


def all_cases():
    """(program, case) of every entry in the tables of the host programs."""
    for source in sorted(HOSTS.glob("*.c")):
        for name in re.findall(r"\bCASE\((\w+)\)", source.read_text()):
            yield source.stem, name


def compiler(*words):
    subprocess.run([str(word) for word in words], check=True, timeout=60)


@pytest.fixture(scope="session")
def hosts(tmp_path_factory):
    """Compiles a host program at its first use."""
    directory = tmp_path_factory.mktemp("hosts")

    def program(name):
        path = directory / name
        if not path.exists():
            compiler("gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-g", "-pthread", *WARNINGS,
                     "-o", path, HOSTS / f"{name}.c", HOSTS / "host.c", *LINK)
        return path

    return program


def run(words, tmp_path, timeout=60):
    cache = tmp_path / "cache"
    env = dict(os.environ, BRIG_TEST_CACHE=str(cache))
    done = subprocess.run([str(word) for word in words], env=env, cwd=tmp_path, timeout=timeout,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:] or done
    return done


@pytest.mark.parametrize("program, case", [pytest.param(*each, id="-".join(each))
                                           for each in all_cases()])
def test_host(hosts, tmp_path, program, case):
    run([hosts(program), case], tmp_path)


@pytest.mark.parametrize("program, case", [pytest.param(*each, id="-".join(each))
                                           for each in UNDER_VALGRIND])
def test_valgrind(hosts, tmp_path, program, case):
    # Children are copies of the host, and lose no memory of their own: silent, not followed.
    run([*VALGRIND, "--child-silent-after-fork=yes", "--trace-children=no", hosts(program), case],
        tmp_path, timeout=120)


@pytest.mark.parametrize("case", ["large_input", "backpressure", "feed_after_end", "live",
                                  "feed_while_compiling", "binary"])
def test_cell_built_twice(hosts, tmp_path, case):
    """A layer that turns out to be missing is given up, and the cell built anew: no
    byte is lost."""
    trace = tmp_path / "trace"
    run(["strace", "-f", "-qq", "-o", trace, "-e", "trace=keyctl", "-e",
         "inject=keyctl:error=EPERM", hosts("streams"), case], tmp_path)
    assert "INJECTED" in trace.read_text()


def test_valgrind_would_tell(tmp_path):
    """The same command finds a leak and a bad read, so that its silence means something."""
    for body in ("malloc(10);", "char *p = malloc(4); p[4] = 1; free(p);"):
        source = tmp_path / "bad.c"
        source.write_text("#include <stdlib.h>\nint main(void) { %s return 0; }\n" % body)
        compiler("gcc", "-O0", "-w", "-o", tmp_path / "bad", source)
        done = subprocess.run([*VALGRIND, tmp_path / "bad"], capture_output=True, timeout=60,
                              check=False)
        assert done.returncode == 9


# --- the header -----------------------------------------------------------------------------------


@pytest.mark.parametrize("standard", ["c99", "c11", "gnu17"])
def test_header_in_c(tmp_path, standard):
    source = tmp_path / "plain.c"
    source.write_text("#include <brig/brig.h>\n#include <brig/brig.h>\n"
                      "int main(void) { return brig_status_name(BRIG_OK)[0] != 'o'; }\n")
    compiler("gcc", f"-std={standard}", "-pedantic", "-Wstrict-prototypes", "-Wundef", *WARNINGS,
             "-o", tmp_path / "plain", source, *LINK)
    run([tmp_path / "plain"], tmp_path)


def test_header_in_cpp(tmp_path):
    source = tmp_path / "plain.cpp"
    source.write_text("""
        #include <brig/brig.h>
        #include <cstring>
        int main() {
            brig_context *brig = nullptr;
            brig_result *result = nullptr;
            brig_error error = {};
            brig_request request = {};
            request.size = sizeof(request);
            int r = brig_context_new(nullptr, &brig, &error);
            if (r == 0)
                r = brig_execute_code(brig, "bash", "echo c++", &request, &result, &error);
            bool good = r == 0 && !std::strcmp(result->stdout_data, "c++\\n");
            brig_result_free(result);
            brig_context_free(brig);
            return !good;
        }
    """)
    compiler("g++", "-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", "-o",
             tmp_path / "plain", source, *LINK)
    run([tmp_path / "plain"], tmp_path)


def test_names(tmp_path):
    """The library exports the symbols that the header declares, and no others."""
    header = (TREE / "include/brig/brig.h").read_text()
    declared = set(re.findall(r"BRIG_API [^;(]*?\*?(brig_\w+)\(", header))
    listed = subprocess.run(["nm", "-D", "--defined-only", BUILD / "libbrig.so"],
                            capture_output=True, text=True, check=True).stdout
    shown = {line.split()[-1].split("@")[0] for line in listed.splitlines() if " T " in line}
    assert shown == declared
    data = [line for line in listed.splitlines() if re.search(r" [BDR] ", line)]
    assert not data, "the library shows variables"


def test_no_changing_globals():
    """No variable that two threads could share: .data and .bss hold none of brig's own."""
    listed = subprocess.run(["nm", BUILD / "libbrig.a"], capture_output=True, text=True,
                            check=False).stdout
    # .data.rel.ro is read-only once loaded, and nm calls it d: tables of pointers.
    found = [line.split()[-1] for line in listed.splitlines() if re.search(r" [bBC] \w", line)]
    assert not [name for name in found if not name.startswith("__")], found
