#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the directory of the interpreter's headers: the system's, not that of a Python in a home
# directory.
set -eu
python=/usr/bin/python3
[ -x "$python" ] || python=python3
"$python" -c 'import sysconfig; print(sysconfig.get_path("include"))'
