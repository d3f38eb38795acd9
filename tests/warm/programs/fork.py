import os
import sys

sys.stdout.flush()
pid = os.fork()
if pid:
    print("child ended with", os.waitpid(pid, 0)[1] >> 8)
else:
    print("child")
    sys.exit(6)
{"parent": True}
# value: {"parent": true}
