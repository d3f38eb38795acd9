# SPDX-License-Identifier: Apache-2.0
"""The measuring programs: compiled into the build directory, copied to a place where all users can
run them."""

import os
import shlex
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(HERE)
WARNINGS = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
TINY = ["-Os", "-static", "-nostdlib", "-s", "-fno-stack-protector", "-fno-pie", "-no-pie",
        "-fno-asynchronous-unwind-tables",
        "-Wl,--build-id=none,-z,noseparate-code,-z,noexecstack"]
LOAD = "../src/cli/bench/"
# name: sources, flags, does it use libbrig
PROGRAMS = {
    "noop": (["noop.c"], TINY, False),
    "noop-libc": (["noop_libc.c"], ["-O2", "-static", "-s"], False),
    "driver": (["driver.c"], ["-O2", "-static"], False),
    "inprocess": (["inprocess.c"], ["-O2", "-static"], True),
    "filter_dump": (["filter_dump.c"], ["-O2"], True),
    "spawn_load": (["spawn_load.c"], ["-O2", "-static"], False),
    "http_load": (["http_load.c"], ["-O2", "-static"], False),
    "warm_driver": (["warm_driver.c", LOAD + "bench_load.c", LOAD + "bench_memory.c"],
                    ["-O2", "-static"], True),
}


def compile_all(build, names=tuple(PROGRAMS)):
    out = os.path.join(build, "bench")
    compiler = shlex.split(os.environ.get("CC", "gcc"))
    include = ["-I" + TREE + "/include", "-I" + TREE + "/src", "-I" + build + "/gen"]
    archive = [build + "/libbrig.a", "-ljansson", "-lsodium"]
    os.makedirs(out, exist_ok=True)
    for name in names:
        sources, flags, library = PROGRAMS[name]
        subprocess.run(compiler + WARNINGS + flags + (include if library else [])
                       + ["-o", os.path.join(out, name)]
                       + [os.path.join(HERE, source) for source in sources]
                       + (archive if library else []), check=True)


def place(scratch, build, brig, user, names=tuple(PROGRAMS)):
    """Copies to a place that an ordinary user can reach, whatever the build directory's mode."""
    found = {name: shutil.copy(os.path.join(build, "bench", name), scratch) for name in names}
    found["brig"] = shutil.copy(brig, scratch)
    found["filter"] = os.path.join(scratch, "filter.bpf")
    with open(found["filter"], "wb") as out:
        subprocess.run([found["filter_dump"], "default"], stdout=out, check=True)
    for name, owner in (("home", user), ("roothome", os.geteuid())):
        os.mkdir(os.path.join(scratch, name), 0o700)
        if os.geteuid() == 0:
            os.chown(os.path.join(scratch, name), owner, owner)
    return found
