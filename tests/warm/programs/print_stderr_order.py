import sys

for i in range(3):
    print("out", i)
    print("err", i, file=sys.stderr)
sys.stdout.write("no newline at the end")
