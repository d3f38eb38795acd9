# SPDX-License-Identifier: Apache-2.0
"""Y1: everything that came in: the environment, the arguments, modules loaded before
the program."""

import json
import os
import sys

print("env=" + json.dumps(dict(os.environ)))
print("argv=" + json.dumps(sys.argv[1:]))
print("injected=" + str("injected" in sys.modules or hasattr(sys, "injected")))
