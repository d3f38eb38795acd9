import os
import sys

os.close(0)
print(sys.stdin.read())
