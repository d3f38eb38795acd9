import subprocess

try:
    subprocess.run(["/bin/sleep", "10"], timeout=0.1)
except subprocess.TimeoutExpired as error:
    print(error.cmd)
subprocess.run(["/bin/false"], check=True)
