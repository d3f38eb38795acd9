import atexit
import sys

atexit.register(lambda: print("the last word"))
print("to stderr", file=sys.stderr)
sys.exit(7)
