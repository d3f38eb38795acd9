import os
import subprocess
import sys

done = subprocess.run([sys.executable, "-c", "import sys; print(sys.stdin.read().upper())"],
                      input="from a child", capture_output=True, text=True, check=True)
print(done.stdout.strip(), done.returncode)
print(subprocess.run("exit 5", shell=True, check=False).returncode)
pid = os.fork()
if pid == 0:
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
