# args: ["parent"]
import subprocess
import sys

if sys.argv[1:] == ["parent"]:
    done = subprocess.run([sys.executable, __file__, "child"], stdout=-1, stderr=-1, text=True)
    print(done.returncode, done.stdout, done.stderr.splitlines()[-1])
else:
    print("as a child", __name__)
    raise ValueError("of the child")
