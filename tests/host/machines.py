# SPDX-License-Identifier: Apache-2.0
"""For tests of virtual machines: a kernel, and languages with few files."""

import glob
import json
import os
import subprocess

KERNELS = ("/boot/vmlinuz-*", "/var/cache/brig-test/kernel/boot/vmlinuz-*")


def libraries_of(programs):
    """The files that the loader opens for these programs."""
    done = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
    return sorted({word for word in done.stdout.split() if word.startswith("/")
                   and not word.endswith(":")})


def kernel():
    """One that setup.sh has unpacked, unless the host has its own."""
    found = [path for pattern in KERNELS for path in sorted(glob.glob(pattern))
             if os.access(path, os.R_OK)]
    assert found, "no kernel for virtual machines: run scripts/setup.sh test"
    return found[0]


def write_languages(config):
    """So that the image of a machine is made in a second."""
    (config / "runtimes").mkdir()
    python = os.path.realpath("/usr/bin/python3")
    tools = [f"/usr/bin/{name}" for name in ("cat", "cp", "ls", "mkdir", "rm", "sleep", "id")]
    modules = glob.glob(f"/usr/lib/{os.path.basename(python)}/lib-dynload/*.so")
    closure = ["@shell", f"/usr/lib/{os.path.basename(python)}", *tools,
               *libraries_of(["/bin/bash", python, *tools, *modules])]
    drivers = {
        "bash": {"session": {"driver": "session.sh", "argv": ["{program}", "{driver}"]}},
        "python": {"session": {"driver": "session.py", "argv": ["{program}", "{driver}"]},
                   "value": {"driver": "python.py",
                             "argv": ["{program}", "{driver}", "{source}", "{args}"]},
                   "warm": {"wait": "python.py"}},
    }
    for name, extension, program, version, after in (
            ("bash", "sh", "/usr/bin/bash", "--version", "version "),
            ("python", "py", "/usr/bin/python3", "--version", "Python ")):
        (config / "runtimes" / f"{name}.json").write_text(json.dumps({
            "extensions": [extension], "source": f"code.{extension}", "program": [program],
            "version": {"argv": [version], "after": after}, "closure": closure + ["/usr/bin/bash", "/usr/bin/python3"],
            "run": {"argv": ["{program}", "{source}", "{args}"],
                    "env": {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}},
            **drivers[name]}))
