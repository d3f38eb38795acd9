# env: {"COLOUR": "blue", "EMPTY": "", "EQUALS": "x=y=z"}
import os
import posix
import subprocess

keep = lambda pairs: sorted(p for p in pairs if p[0] not in ("_", "PWD", "SHLVL"))
print(keep(os.environ.items()))
print(list(os.environ))
print(sorted(posix.environ))
os.environ["NEW"] = "1"
print(subprocess.run(["/bin/sh", "-c", "echo $COLOUR $NEW ${GONE-unset}"], stdout=-1).stdout)
print(subprocess.run(["/usr/bin/env"], stdout=-1).stdout.split(b"\n"))
