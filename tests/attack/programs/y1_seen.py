# SPDX-License-Identifier: Apache-2.0
"""Y1: what came in: the environment, the arguments, what was loaded before us."""

import json
import os
import sys

print("env=" + json.dumps(dict(os.environ)))
print("argv=" + json.dumps(sys.argv[1:]))
print("injected=" + str("injected" in sys.modules or hasattr(sys, "injected")))
