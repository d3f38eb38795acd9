import atexit
import sys


@atexit.register
def leave():
    print("leaving")
    sys.exit(9)


print("end")
