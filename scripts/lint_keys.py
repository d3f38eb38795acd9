#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the sources that have to be linted again. usage: lint_keys.py CACHE FLAG... -- FILE...

Prints "TOOL KEY FILE" for each file that a tool has not passed in its present state (there is no
CACHE/KEY). A key is the hash of everything that the result depends on: the file, every header that
it includes, the tool, its rules, its flags, and scripts/lint.sh. Headers of the system count by
size and time. A file whose headers are not all found has the key "none", which never exists.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import subprocess
import sys

RULES = (".clang-tidy", "scripts/lint.sh", "scripts/lint_keys.py")
TOOLS = ("clang-tidy", "cppcheck")
facts = {}


def fact(path):
    """A value that stands for a file's contents."""
    if path not in facts:
        if os.path.isabs(path):
            about = os.stat(path)
            facts[path] = f"{path} {about.st_size} {about.st_mtime_ns}"
        else:
            facts[path] = f"{path} {hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()}"
    return facts[path]


def headers(file, flags):
    """The file and its headers, as the compiler finds them; None: some were not found."""
    done = subprocess.run(["gcc", "-M", *flags, file], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None
    return done.stdout.replace("\\\n", " ").split()[1:]


def keys(file, flags, versions):
    """One for each tool."""
    needed = headers(file, flags)
    if needed is None:
        return ["none" for _ in versions]
    text = "\n".join([*flags, *(fact(path) for path in (*RULES, *needed))])
    return [hashlib.sha256((version + text).encode()).hexdigest() for version in versions]


def main():
    end = sys.argv.index("--")
    cache, *flags = sys.argv[1:end]
    files = sys.argv[end + 1:]
    versions = [subprocess.check_output([tool, "--version"], text=True) for tool in TOOLS]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, found in zip(files, pool.map(lambda file: keys(file, flags, versions), files)):
            for tool, key in zip(TOOLS, found):
                if not pathlib.Path(cache, key).exists():
                    print(tool, key, file)


main()
