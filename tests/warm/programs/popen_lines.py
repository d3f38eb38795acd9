import subprocess
import sys

program = """
import sys
for line in sys.stdin:
    print(line.strip().upper(), flush=True)
sys.exit(3)
"""
with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1, text=True) as process:
    for word in ("one", "two"):
        process.stdin.write(word + "\n")
        process.stdin.flush()
        print(process.stdout.readline().strip())
    process.stdin.close()
print(process.returncode)
