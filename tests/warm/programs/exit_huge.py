import sys
import threading  # how python 3.12 ends, with an error left over, depends on it

sys.exit(10**30)
